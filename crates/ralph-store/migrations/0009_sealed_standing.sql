-- Every lesson says whether it is still what was written, also in how far it has come and how sure it is. Its words have a hash
-- of their own, which a program that was started before this step goes on writing.

-- A hash of how it stands; none between a change and the end of the transaction that makes it, and none of what was there
-- before this step until something is written again. It is written where ALTER TABLE would write it, which checks every row and
-- refuses all of them for one that a disk has damaged.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
    SET sql = substr(sql, 1, length(sql) - length(') STRICT')) || ', standing_hash TEXT) STRICT'
    WHERE type = 'table' AND name = 'learnings';
PRAGMA writable_schema = RESET;
CREATE INDEX learnings_standing_unsealed ON learnings (seq) WHERE standing_hash IS NULL;
-- How the lessons that a transaction changes stood before it, each with its hash then. Nothing is left here at the end of the
-- transaction.
CREATE TABLE learnings_stood_before (
    seq           INTEGER PRIMARY KEY REFERENCES learnings (seq) ON DELETE CASCADE,
    standing_hash TEXT NOT NULL,
    id, status, reason, superseded_by, pruned_from, restored_at, confidence, first_success_rate, first_use_count, counted_since,
    task, journal, foreign_id
);
-- Counters are written with every iteration, mostly without that anything of this changes.
CREATE TRIGGER learnings_stood
AFTER UPDATE OF id, status, reason, superseded_by, pruned_from, restored_at, confidence, first_success_rate, first_use_count,
                counted_since, task, journal, foreign_id
ON learnings
WHEN (old.id, old.status, old.reason, old.superseded_by, old.pruned_from, old.restored_at, old.confidence,
      old.first_success_rate, old.first_use_count, old.counted_since, old.task, old.journal, old.foreign_id)
     IS NOT
     (new.id, new.status, new.reason, new.superseded_by, new.pruned_from, new.restored_at, new.confidence,
      new.first_success_rate, new.first_use_count, new.counted_since, new.task, new.journal, new.foreign_id)
BEGIN
    INSERT OR IGNORE INTO learnings_stood_before
        SELECT old.seq, old.standing_hash, old.id, old.status, old.reason, old.superseded_by, old.pruned_from, old.restored_at,
               old.confidence, old.first_success_rate, old.first_use_count, old.counted_since, old.task, old.journal,
               old.foreign_id
        WHERE old.standing_hash IS NOT NULL;
    UPDATE learnings SET standing_hash = NULL WHERE seq = new.seq;
END;

-- A lesson whose words a disk has damaged can be taken away like any other. What is counted of them may be wrong then, and is
-- counted anew by whoever checks it.
DROP TRIGGER learnings_deleted;
CREATE TRIGGER learnings_deleted AFTER DELETE ON learnings BEGIN
    INSERT INTO learnings_fts (learnings_fts, rowid, terms) VALUES ('delete', old.seq, old.terms);
    UPDATE learning_terms SET entries = entries - 1
        WHERE term IN (SELECT value FROM json_each(iif(json_valid('["' || replace(old.terms, ' ', '","') || '"]'),
                                                       '["' || replace(old.terms, ' ', '","') || '"]', '[]')));
    UPDATE learning_totals SET
        entries = entries - 1,
        terms = terms - coalesce(length(old.terms) - length(replace(old.terms, ' ', '')) + (old.terms <> ''), 0);
END;
