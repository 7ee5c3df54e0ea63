-- What iterations teach. Every failed attempt has a report, and the same failure is recognised when it comes back; lessons
-- are found by their tags and their words; the journal says what kind of task a row was about.

ALTER TABLE journal ADD COLUMN task_type TEXT NOT NULL DEFAULT 'general';
-- The files, kinds of errors and tools that the task and its changes named, as JSON: by them tasks are alike.
ALTER TABLE journal ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
UPDATE journal SET task_type = task_type_of(task_title);
-- Where the title does not tell, the description does, of tasks that are still there. Each is read once: it may be long.
WITH described AS MATERIALIZED (SELECT id, task_type_of(description) AS task_type FROM tasks)
UPDATE journal SET task_type = described.task_type
    FROM described WHERE described.id = journal.task_id AND journal.task_type = 'general';
-- Asked for the first attempt at every task, true of few rows.
CREATE INDEX journal_hard ON journal (task_type, id) WHERE difficulty IN ('hard', 'blocked');
-- Asked in every iteration: how it went with a task since it was last done. One that is never over has thousands of rows.
CREATE INDEX journal_counted ON journal (task_id, imported, id DESC, outcome) WHERE outcome <> 'interrupted';
CREATE INDEX journal_done ON journal (task_id, imported, id) WHERE outcome = 'done';

-- Whose words a report is in.
ALTER TABLE failure_reports ADD COLUMN origin TEXT NOT NULL DEFAULT 'agent' CHECK (origin IN ('agent', 'ralph'));
-- The gate that refused the work, and how it ended.
ALTER TABLE failure_reports ADD COLUMN gate TEXT;
ALTER TABLE failure_reports ADD COLUMN gate_end TEXT;
-- What makes it the same failure as another one; none where that was not known yet when it was written.
ALTER TABLE failure_reports ADD COLUMN signature TEXT;
-- When its long texts were dropped.
ALTER TABLE failure_reports ADD COLUMN shortened_at TEXT;
UPDATE failure_reports SET origin = 'ralph' WHERE what_tried = '';
CREATE INDEX failure_reports_by_signature ON failure_reports (signature) WHERE signature IS NOT NULL;

-- What is the same in every telling of a lesson: its words without case and punctuation.
ALTER TABLE learnings ADD COLUMN lesson TEXT NOT NULL DEFAULT '';
-- Its text and its tags as the search index cuts them; and each tag with a word that a text which holds it has, as JSON.
ALTER TABLE learnings ADD COLUMN terms TEXT NOT NULL DEFAULT '';
ALTER TABLE learnings ADD COLUMN tag_terms TEXT NOT NULL DEFAULT '[]';
-- How many of the iterations that it stood in the prompt of, and that count, were done; and when the last of them ended.
ALTER TABLE learnings ADD COLUMN successes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE learnings ADD COLUMN last_used_at TEXT;
-- What others said of the same that were merged into it, as JSON.
ALTER TABLE learnings ADD COLUMN examples TEXT NOT NULL DEFAULT '[]';
-- What it was before it was pruned.
ALTER TABLE learnings ADD COLUMN pruned_from TEXT;
-- When a person brought it back last; from then on it is not merged with others by itself.
ALTER TABLE learnings ADD COLUMN restored_at TEXT;
CREATE INDEX learnings_by_lesson ON learnings (lesson, kind);
CREATE INDEX learnings_by_task ON learnings (task, status) WHERE task IS NOT NULL;
CREATE INDEX learnings_superseded ON learnings (superseded_by) WHERE superseded_by IS NOT NULL;
-- The iterations that told a lesson: the first, and each that told it again.
CREATE TABLE learning_sources (
    learning INTEGER NOT NULL REFERENCES learnings (seq) ON DELETE CASCADE,
    journal  INTEGER NOT NULL REFERENCES journal (id),
    PRIMARY KEY (learning, journal)
) STRICT, WITHOUT ROWID;
CREATE INDEX learning_sources_by_journal ON learning_sources (journal);
INSERT INTO learning_sources SELECT seq, journal FROM learnings WHERE journal IS NOT NULL;
-- Until now nobody had noted what kind of work it was.
UPDATE learnings SET task_type = (SELECT task_type FROM journal WHERE journal.id = learnings.journal)
    WHERE task_type IS NULL;
-- Until now none had been judged. The next iteration does it, by the configuration, which nobody knows here.

CREATE VIRTUAL TABLE learnings_fts USING fts5(terms, content = 'learnings', content_rowid = 'seq', tokenize = 'ascii');
-- As for the journal: what ranking asks each time.
CREATE TABLE learning_terms (
    term    TEXT PRIMARY KEY,
    entries INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE learning_totals (
    entries INTEGER NOT NULL,
    terms   INTEGER NOT NULL
) STRICT;
INSERT INTO learning_totals VALUES (0, 0);
-- The tags: a word that a text which holds it has, whether the lesson may stand in every prompt, whose it is, and the tag;
-- the newest that may can be taken first, however many others there are.
CREATE TABLE learning_tags (
    word     TEXT NOT NULL,
    holds    INTEGER NOT NULL,
    tag      TEXT NOT NULL,
    learning INTEGER NOT NULL REFERENCES learnings (seq) ON DELETE CASCADE,
    PRIMARY KEY (word, holds, learning, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX learning_tags_by_learning ON learning_tags (learning);
CREATE TRIGGER learnings_inserted AFTER INSERT ON learnings BEGIN
    INSERT INTO learnings_fts (rowid, terms) VALUES (new.seq, new.terms);
    INSERT INTO learning_terms (term, entries)
        SELECT DISTINCT value, 1 FROM json_each('["' || replace(new.terms, ' ', '","') || '"]') WHERE value <> ''
        ON CONFLICT (term) DO UPDATE SET entries = entries + 1;
    UPDATE learning_totals SET
        entries = entries + 1,
        terms = terms + length(new.terms) - length(replace(new.terms, ' ', '')) + (new.terms <> '');
    INSERT OR IGNORE INTO learning_tags (word, holds, tag, learning)
        SELECT value ->> 0, new.status = 'promoted' AND new.superseded_by IS NULL AND new.source IN ('sigil', 'human'),
               value ->> 1, new.seq
        FROM json_each(new.tag_terms);
END;
CREATE TRIGGER learnings_deleted AFTER DELETE ON learnings BEGIN
    INSERT INTO learnings_fts (learnings_fts, rowid, terms) VALUES ('delete', old.seq, old.terms);
    UPDATE learning_terms SET entries = entries - 1
        WHERE term IN (SELECT value FROM json_each('["' || replace(old.terms, ' ', '","') || '"]'));
    UPDATE learning_totals SET
        entries = entries - 1,
        terms = terms - length(old.terms) + length(replace(old.terms, ' ', '')) - (old.terms <> '');
END;
CREATE TRIGGER learnings_updated AFTER UPDATE OF terms, tag_terms ON learnings BEGIN
    INSERT INTO learnings_fts (learnings_fts, rowid, terms) VALUES ('delete', old.seq, old.terms);
    INSERT INTO learnings_fts (rowid, terms) VALUES (new.seq, new.terms);
    UPDATE learning_terms SET entries = entries - 1
        WHERE term IN (SELECT value FROM json_each('["' || replace(old.terms, ' ', '","') || '"]'));
    INSERT INTO learning_terms (term, entries)
        SELECT DISTINCT value, 1 FROM json_each('["' || replace(new.terms, ' ', '","') || '"]') WHERE value <> ''
        ON CONFLICT (term) DO UPDATE SET entries = entries + 1;
    UPDATE learning_totals SET
        terms = terms + length(new.terms) - length(replace(new.terms, ' ', '')) + (new.terms <> '')
                      - length(old.terms) + length(replace(old.terms, ' ', '')) - (old.terms <> '');
    DELETE FROM learning_tags WHERE learning = old.seq;
    INSERT OR IGNORE INTO learning_tags (word, holds, tag, learning)
        SELECT value ->> 0, new.status = 'promoted' AND new.superseded_by IS NULL AND new.source IN ('sigil', 'human'),
               value ->> 1, new.seq
        FROM json_each(new.tag_terms);
END;
CREATE TRIGGER learnings_judged AFTER UPDATE OF status, superseded_by ON learnings BEGIN
    UPDATE learning_tags
        SET holds = new.status = 'promoted' AND new.superseded_by IS NULL AND new.source IN ('sigil', 'human')
        WHERE learning = new.seq;
END;
-- Rows that stand there already enter the tables by being written once more.
INSERT INTO learnings_fts (learnings_fts) VALUES ('rebuild');
UPDATE learning_totals SET entries = (SELECT count(*) FROM learnings);
UPDATE learnings SET
    lesson = lesson_of(content),
    terms = learning_terms_of(content, tags),
    tag_terms = tag_terms_of(tags);

-- The journal as figures: every iteration that counts. What was taken over from another tool says nothing about how things
-- go here.
CREATE VIEW strategy_metrics AS
SELECT id, run_id, iteration, task_id, task_type, attempt, model, difficulty, outcome, outcome <> 'done' AS failed,
       duration_ms, cost_usd, input_tokens + output_tokens AS tokens, created_at,
       -- Always 1; whoever asks for it finds the last ones, however many rows were taken over since.
       1 - imported AS ours
FROM journal WHERE outcome <> 'interrupted' AND imported = 0;

-- What is done now and then: after which row of the journal it was last done, and when.
CREATE TABLE lifecycle (
    step    TEXT PRIMARY KEY,
    journal INTEGER NOT NULL,
    at      TEXT NOT NULL
) STRICT, WITHOUT ROWID;
