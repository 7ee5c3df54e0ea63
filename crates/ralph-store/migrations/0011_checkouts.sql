-- Checkouts of tasks. A row stays until the checkout is removed, even if the task is deleted.
CREATE TABLE checkouts (
    task        TEXT PRIMARY KEY,
    -- The branch of the work, the reference on which it lands, and the base commit of the branch.
    branch      TEXT NOT NULL,
    base        TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    -- The commit that is about to become the tip of the base, and its evidence, as JSON. Written before the reference
    -- moves, so recovery has to check whether the base contains the commit.
    landing     TEXT,
    evidence    TEXT
) STRICT;

-- The commands that must pass for a task, as JSON.
ALTER TABLE tasks ADD COLUMN checks TEXT NOT NULL DEFAULT '[]';
