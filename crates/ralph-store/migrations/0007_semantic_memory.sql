-- What whole runs teach. Lessons are drawn from the journal and taken over from other stores; they are judged by what
-- happens after they stood in a prompt; and every row says whether it is still what was written.

-- How often what it says succeeded before anybody counted here, and how often it had been used elsewhere: the success rate
-- is the first of the two, as if of five uses, and what was counted since.
ALTER TABLE learnings ADD COLUMN first_success_rate REAL NOT NULL DEFAULT 1.0;
ALTER TABLE learnings ADD COLUMN first_use_count INTEGER NOT NULL DEFAULT 0;
-- The numbers behind a lesson that was drawn from the journal, as JSON.
ALTER TABLE learnings ADD COLUMN facts TEXT;
-- What another store has of it: its id there, and all that it says, as JSON.
ALTER TABLE learnings ADD COLUMN foreign_id TEXT;
ALTER TABLE learnings ADD COLUMN original TEXT;
-- In how many iterations on end it stood in the prompt without that what it warns of came back.
ALTER TABLE learnings ADD COLUMN quiet_showings INTEGER NOT NULL DEFAULT 0;
-- Uses are counted after this row of the journal: a person who says how often it succeeds begins anew.
ALTER TABLE learnings ADD COLUMN counted_since INTEGER NOT NULL DEFAULT 0;
-- A hash of what it says; none between a change and the end of the transaction that makes it.
ALTER TABLE learnings ADD COLUMN hash TEXT;
UPDATE learnings SET first_success_rate = success_rate;
UPDATE learnings SET success_rate = (5 * first_success_rate + successes) / (5.0 + use_count) WHERE kind <> 'antipattern';
CREATE INDEX learnings_unsealed ON learnings (seq) WHERE hash IS NULL;
CREATE UNIQUE INDEX learnings_foreign ON learnings (foreign_id) WHERE foreign_id IS NOT NULL;
-- What may stand in the prompt as knowledge of earlier runs, in the order in which it is asked for. What succeeds too seldom for
-- that is passed over by the last columns, without reading its row.
CREATE INDEX learnings_known
    ON learnings (kind, task_type, confidence, seq, success_rate, use_count, first_use_count)
    WHERE status = 'promoted' AND superseded_by IS NULL AND source IN ('extracted', 'imported');
-- By which the best supported are found among many, without reading any but these. The last two are the same in all of it, but
-- without them every row would be read to see that.
CREATE INDEX learnings_ranked
    ON learnings (kind, task_type, confidence, success_rate, use_count, status, superseded_by)
    WHERE status IN ('promoted', 'validated') AND superseded_by IS NULL;
-- What the lessons that a transaction changes were before it, each with its hash then: one that was not what was written must
-- not be sealed as if it were. Nothing is left here at the end of the transaction.
CREATE TABLE learnings_before (
    seq  INTEGER PRIMARY KEY REFERENCES learnings (seq) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    id, kind, category, task_type, content, tags, facts, original, source, source_loops, examples, created_at
);
CREATE TRIGGER learnings_changed
AFTER UPDATE OF id, kind, category, task_type, content, tags, facts, original, source, source_loops, examples, created_at
ON learnings BEGIN
    INSERT OR IGNORE INTO learnings_before
        SELECT old.seq, old.hash, old.id, old.kind, old.category, old.task_type, old.content, old.tags, old.facts, old.original,
               old.source, old.source_loops, old.examples, old.created_at
        WHERE old.hash IS NOT NULL;
    UPDATE learnings SET hash = NULL WHERE seq = new.seq;
END;

-- The failures that a lesson warns of, by their signatures.
CREATE TABLE learning_signatures (
    signature TEXT NOT NULL,
    learning  INTEGER NOT NULL REFERENCES learnings (seq) ON DELETE CASCADE,
    PRIMARY KEY (signature, learning)
) STRICT, WITHOUT ROWID;
CREATE INDEX learning_signatures_by_learning ON learning_signatures (learning);
INSERT OR IGNORE INTO learning_signatures
    SELECT signature, learning FROM learning_sources
    JOIN failure_reports ON failure_reports.journal = learning_sources.journal
    JOIN learnings ON learnings.seq = learning_sources.learning
    WHERE signature IS NOT NULL AND learnings.kind = 'antipattern';

-- What lessons said before a person changed them.
CREATE TABLE learning_versions (
    seq       INTEGER PRIMARY KEY,
    learning  INTEGER NOT NULL REFERENCES learnings (seq) ON DELETE CASCADE,
    kind      TEXT NOT NULL,
    category  TEXT NOT NULL,
    task_type TEXT,
    content   TEXT NOT NULL,
    tags      TEXT NOT NULL,
    -- Until when it said so.
    until     TEXT NOT NULL
) STRICT;
CREATE INDEX learning_versions_by_learning ON learning_versions (learning);

-- Lessons that seem to contradict each other, of which a person said that both hold.
CREATE TABLE settled_conflicts (
    one   TEXT NOT NULL,
    other TEXT NOT NULL CHECK (one < other),
    at    TEXT NOT NULL,
    PRIMARY KEY (one, other)
) STRICT, WITHOUT ROWID;

-- Which runs lessons were drawn from, and what became of them.
CREATE TABLE extractions (
    run       TEXT PRIMARY KEY,
    at        TEXT NOT NULL,
    extracted INTEGER NOT NULL,
    validated INTEGER NOT NULL,
    rejected  INTEGER NOT NULL,
    promoted  INTEGER NOT NULL,
    skipped   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a run asks the person at its terminal; none while it asks nothing.
ALTER TABLE runs ADD COLUMN asks TEXT;
