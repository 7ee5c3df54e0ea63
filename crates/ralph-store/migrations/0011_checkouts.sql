-- The checkouts in which tasks are worked on. A row stays until the checkout is removed, also when the task is deleted.
CREATE TABLE checkouts (
    task        TEXT PRIMARY KEY,
    -- The branch of the work, the reference that it lands on, and the commit of that which the work is based on.
    branch      TEXT NOT NULL,
    base        TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    -- The commit that is about to become the tip of the base, and what confirms it, as JSON. Written before the reference
    -- moves: whoever finds it asks whether the commit is in the base.
    landing     TEXT,
    evidence    TEXT
) STRICT;

-- The commands that must pass for a task, as JSON.
ALTER TABLE tasks ADD COLUMN checks TEXT NOT NULL DEFAULT '[]';
