-- What was taken over from another tool, and what it is here. A row stays when that is deleted, so that it does not come back.
CREATE TABLE imported (
    tool       TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('feature', 'task')),
    -- Its id there, and when it was made there: other projects may have used the same id. Empty where only the journal there
    -- knows it.
    foreign_id TEXT NOT NULL,
    made_at    TEXT NOT NULL,
    id         TEXT NOT NULL,
    PRIMARY KEY (tool, kind, foreign_id, made_at)
) STRICT, WITHOUT ROWID;
-- What happened elsewhere is no news here.
ALTER TABLE journal ADD COLUMN imported INTEGER NOT NULL DEFAULT 0 CHECK (imported IN (0, 1));
-- In the order in which things happened what was taken over comes first, whenever that was done; what happened here goes by
-- its number, since a clock may be set back.
CREATE INDEX journal_in_order ON journal (1 - imported);
