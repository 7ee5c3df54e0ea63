-- The commits of tasks.
CREATE TABLE commits (
    seq       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL,
    task      TEXT NOT NULL,
    -- The reference on which it landed; NULL if it was made in the project itself.
    base      TEXT,
    run       TEXT,
    iteration INTEGER,
    -- The rollback that undid it.
    rollback  TEXT
) STRICT;
CREATE INDEX commits_by_task ON commits (task, seq);
INSERT INTO commits (id, task, base, run, iteration)
    SELECT done_commit, tasks.id, done_worktree, run_id, iteration FROM tasks
    LEFT JOIN journal ON journal.id = (SELECT max(last.id) FROM journal AS last WHERE last.task_id = tasks.id)
    WHERE done_commit IS NOT NULL AND done_worktree LIKE 'refs/%' ORDER BY tasks.seq;

-- Done tasks that no person has reviewed since a run finished them.
ALTER TABLE tasks ADD COLUMN to_review INTEGER NOT NULL DEFAULT 0 CHECK (to_review IN (0, 1));

-- A rollback may be about a task, and may undo its commits.
CREATE TABLE new_rollbacks (
    seq      INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    at       TEXT NOT NULL,
    worktree TEXT NOT NULL,
    -- The id of a task or a run, or RUN/ITERATION.
    target   TEXT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('landing', 'open', 'done', 'relanding', 'undoing', 'undone')),
    plan     TEXT NOT NULL
) STRICT;
INSERT INTO new_rollbacks SELECT seq, id, at, worktree, run || coalesce('/' || iteration, ''), state, plan FROM rollbacks;
DROP TABLE rollbacks;
ALTER TABLE new_rollbacks RENAME TO rollbacks;
