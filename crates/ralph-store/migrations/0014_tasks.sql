-- The retry limit of the task; NULL for the configured one.
ALTER TABLE tasks ADD COLUMN max_retries INTEGER;

-- Deleted tasks, complete, so that a deletion can be undone. The tasks of one deletion have the same top, and are
-- ordered from there downwards.
CREATE TABLE deleted_tasks (
    seq          INTEGER PRIMARY KEY,
    task         TEXT NOT NULL UNIQUE,
    -- The task that the user deleted; itself if it is that one.
    top          TEXT NOT NULL,
    at           TEXT NOT NULL,
    -- Its row, as a JSON object by column.
    row          TEXT NOT NULL,
    -- Its dependencies and dependents, and its evidence changes, as JSON lists of rows.
    dependencies TEXT NOT NULL,
    evidence     TEXT NOT NULL
) STRICT;
CREATE INDEX deleted_tasks_by_top ON deleted_tasks (top, seq);
