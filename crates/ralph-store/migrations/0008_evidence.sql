-- What lessons rest on: who told one is told apart from what it was drawn from, and work under a red gate proves nothing.

-- ALTER TABLE checks every row of a strict table, whatever the new column is, and refuses all of it for one row that a disk has
-- damaged. So the columns are written where ALTER TABLE would write them; no row changes by that. What follows tells everybody
-- who has the database open that the schema is another.
PRAGMA writable_schema = ON;
-- Whether a lesson was drawn from the row, and nobody told it there.
UPDATE sqlite_schema
    SET sql = replace(sql, 'PRIMARY KEY (learning, journal)', 'drawn INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (learning, journal)')
    WHERE type = 'table' AND name = 'learning_sources';
-- Whether a gate was red at the end as it had been before, so that nobody knows whether the work is good.
UPDATE sqlite_schema
    SET sql = replace(sql, 'UNIQUE (run_id, iteration)', 'still_red INTEGER NOT NULL DEFAULT 0, UNIQUE (run_id, iteration)')
    WHERE type = 'table' AND name = 'journal';
PRAGMA writable_schema = RESET;
-- Until now only lessons that nobody had told were drawn. A row that holds what its table does not allow cannot be written.
UPDATE learning_sources SET drawn = 1
    WHERE learning IN (SELECT seq FROM learnings WHERE source = 'extracted')
        AND typeof(learning) = 'integer' AND typeof(journal) = 'integer';
-- Lessons of agents that nobody has judged: every iteration asks for them, and must not read all that people handed in.
CREATE INDEX learnings_unjudged ON learnings (seq) WHERE status = 'pending' AND source = 'sigil';
-- Estimates are the same by the work that they are about, of which there are few; without this all lessons would be read.
CREATE INDEX learnings_estimates ON learnings (task_type) WHERE kind = 'estimate';
