-- How often the task may be tried again; NULL leaves that to the configuration.
ALTER TABLE tasks ADD COLUMN max_retries INTEGER;

-- Deleted tasks, whole, so that a deletion can be undone. Those of one deletion have the same top, and stand in the order from
-- there downwards.
CREATE TABLE deleted_tasks (
    seq          INTEGER PRIMARY KEY,
    task         TEXT NOT NULL UNIQUE,
    -- The task with which it was deleted; itself where that is the one that a person named.
    top          TEXT NOT NULL,
    at           TEXT NOT NULL,
    -- Its row, as a JSON object of the columns.
    row          TEXT NOT NULL,
    -- What it waited for and what waited for it, and what was changed on which evidence rests, as JSON lists of rows.
    dependencies TEXT NOT NULL,
    evidence     TEXT NOT NULL
) STRICT;
CREATE INDEX deleted_tasks_by_top ON deleted_tasks (top, seq);
