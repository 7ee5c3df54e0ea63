-- The loop: tasks, runs, what every iteration was and how it ended.

CREATE TABLE features (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    status     TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE tasks (
    -- The order in which they were made: of two made in the same moment, one is older.
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    title         TEXT NOT NULL,
    description   TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'done', 'blocked', 'failed')),
    kind          TEXT NOT NULL CHECK (kind IN ('once', 'prompt_loop')),
    priority      INTEGER NOT NULL,
    parent        TEXT REFERENCES tasks (id) ON DELETE CASCADE,
    feature       TEXT REFERENCES features (id) ON DELETE SET NULL,
    retries_used  INTEGER NOT NULL DEFAULT 0,
    -- The number of the last attempt; never goes back, so that no number is used twice.
    attempts      INTEGER NOT NULL DEFAULT 0,
    -- Which run works on it, until when that holds unless the run says more, and the number that its settlement must name.
    claimed_by    TEXT REFERENCES runs (id),
    lease_until   TEXT,
    fence         INTEGER NOT NULL DEFAULT 0,
    -- Whether it cannot go on before a person has seen to a failed task; such a task counts as resolved for its parent.
    behind_failed INTEGER NOT NULL DEFAULT 0,
    -- Where it was done: what another task builds on may not be everywhere yet. A parent has none, its parts tell.
    done_worktree TEXT,
    done_commit   TEXT,
    -- The files that had changes before the first attempt, as JSON: they are not the task's to commit.
    dirty_before  TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL
) STRICT;
CREATE INDEX tasks_by_parent ON tasks (parent);
CREATE INDEX tasks_by_status ON tasks (status, priority, seq);
CREATE INDEX tasks_claimed ON tasks (claimed_by) WHERE claimed_by IS NOT NULL;

CREATE TABLE dependencies (
    task  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    after TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (task, after),
    CHECK (task <> after)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_by_after ON dependencies (after);

CREATE TABLE task_log (
    seq  INTEGER PRIMARY KEY,
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    at   TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX task_log_by_task ON task_log (task, seq);

CREATE TABLE runs (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL CHECK (kind IN ('loop', 'session')),
    agent         TEXT NOT NULL,
    agent_session TEXT,
    -- What was asked for, as a person reads it.
    goal          TEXT NOT NULL,
    worktree      TEXT NOT NULL,
    branch        TEXT,
    "commit"      TEXT,
    host          TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    -- When that process began, as the system counts: a pid is used again.
    pid_started   INTEGER NOT NULL,
    -- What the gates already said before the first iteration, as JSON.
    baseline      TEXT,
    started_at    TEXT NOT NULL,
    heartbeat     TEXT NOT NULL,
    ended_at      TEXT,
    -- How it ended, as a sentence.
    end_reason    TEXT,
    end_code      INTEGER
) STRICT;
CREATE INDEX runs_by_end ON runs (ended_at);

-- The iteration that a run is in: written before each step, gone when it is settled. What a killed run leaves here is
-- where it was.
CREATE TABLE iterations (
    run           TEXT PRIMARY KEY REFERENCES runs (id),
    iteration     INTEGER NOT NULL,
    task          TEXT NOT NULL,
    task_title    TEXT NOT NULL,
    feature       TEXT,
    attempt       INTEGER NOT NULL,
    fence         INTEGER NOT NULL,
    phase         TEXT NOT NULL CHECK (phase IN ('claimed', 'started', 'ended')),
    model         TEXT,
    rationale     TEXT NOT NULL,
    -- A random word in the environment of everything that the agent starts.
    marker        TEXT NOT NULL,
    agent_pid     INTEGER,
    agent_started INTEGER,
    claimed_at    TEXT NOT NULL,
    started_at    TEXT,
    -- What the project's files were before the agent started, as JSON.
    before        TEXT,
    -- What stood in the prompt and what did not, as JSON.
    injections    TEXT,
    -- How the turn ended, as JSON.
    end           TEXT
) STRICT;

CREATE TABLE journal (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id           TEXT NOT NULL,
    iteration        INTEGER NOT NULL,
    task_id          TEXT,
    task_title       TEXT NOT NULL,
    feature_id       TEXT,
    attempt          INTEGER NOT NULL,
    outcome          TEXT NOT NULL CHECK (outcome IN ('done', 'failed', 'retried', 'blocked', 'interrupted')),
    stop_reason      TEXT NOT NULL,
    reason           TEXT NOT NULL,
    model            TEXT,
    model_rationale  TEXT NOT NULL,
    duration_ms      INTEGER NOT NULL,
    cost_usd         REAL NOT NULL,
    input_tokens     INTEGER NOT NULL,
    output_tokens    INTEGER NOT NULL,
    files_modified   TEXT NOT NULL,
    changed_nothing  INTEGER NOT NULL,
    notes            TEXT,
    difficulty       TEXT,
    error_category   TEXT,
    malformed_sigils INTEGER NOT NULL,
    created_at       TEXT NOT NULL,
    -- The title, the notes, the reason and the report as the search index cuts them: words by their stems, each a plain
    -- word that no query can misread.
    terms            TEXT NOT NULL,
    UNIQUE (run_id, iteration)
) STRICT;
CREATE INDEX journal_by_task ON journal (task_id, id);
CREATE INDEX journal_by_time ON journal (created_at);
-- Asked in every iteration, true of hardly any task.
CREATE INDEX journal_overflows ON journal (task_id) WHERE stop_reason = 'context_overflow';

CREATE VIRTUAL TABLE journal_fts USING fts5(terms, content = 'journal', content_rowid = 'id', tokenize = 'ascii');
-- How many rows hold a word, how many rows there are, and how many words they have together. Ranking asks for these each
-- time, and FTS5 would walk through every place of a word to count them. Words are plain, so a list of them is JSON at once.
CREATE TABLE journal_terms (
    term    TEXT PRIMARY KEY,
    entries INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE journal_totals (
    entries INTEGER NOT NULL,
    terms   INTEGER NOT NULL
) STRICT;
INSERT INTO journal_totals VALUES (0, 0);
CREATE TRIGGER journal_inserted AFTER INSERT ON journal BEGIN
    INSERT INTO journal_fts (rowid, terms) VALUES (new.id, new.terms);
    INSERT INTO journal_terms (term, entries)
        SELECT DISTINCT value, 1 FROM json_each('["' || replace(new.terms, ' ', '","') || '"]') WHERE value <> ''
        ON CONFLICT (term) DO UPDATE SET entries = entries + 1;
    UPDATE journal_totals SET
        entries = entries + 1,
        terms = terms + length(new.terms) - length(replace(new.terms, ' ', '')) + (new.terms <> '');
END;
CREATE TRIGGER journal_deleted AFTER DELETE ON journal BEGIN
    INSERT INTO journal_fts (journal_fts, rowid, terms) VALUES ('delete', old.id, old.terms);
    UPDATE journal_terms SET entries = entries - 1
        WHERE term IN (SELECT value FROM json_each('["' || replace(old.terms, ' ', '","') || '"]'));
    UPDATE journal_totals SET
        entries = entries - 1,
        terms = terms - length(old.terms) + length(replace(old.terms, ' ', '')) - (old.terms <> '');
END;
CREATE TRIGGER journal_updated AFTER UPDATE OF terms ON journal BEGIN
    INSERT INTO journal_fts (journal_fts, rowid, terms) VALUES ('delete', old.id, old.terms);
    INSERT INTO journal_fts (rowid, terms) VALUES (new.id, new.terms);
    UPDATE journal_terms SET entries = entries - 1
        WHERE term IN (SELECT value FROM json_each('["' || replace(old.terms, ' ', '","') || '"]'));
    INSERT INTO journal_terms (term, entries)
        SELECT DISTINCT value, 1 FROM json_each('["' || replace(new.terms, ' ', '","') || '"]') WHERE value <> ''
        ON CONFLICT (term) DO UPDATE SET entries = entries + 1;
    UPDATE journal_totals SET
        terms = terms + length(new.terms) - length(replace(new.terms, ' ', '')) + (new.terms <> '')
                      - length(old.terms) + length(replace(old.terms, ' ', '')) - (old.terms <> '');
END;

CREATE TABLE failure_reports (
    journal        INTEGER PRIMARY KEY REFERENCES journal (id),
    task           TEXT,
    what_tried     TEXT NOT NULL,
    why_failed     TEXT NOT NULL,
    category       TEXT NOT NULL,
    relevant_files TEXT NOT NULL,
    error_output   TEXT,
    suggestion     TEXT
) STRICT;
CREATE INDEX failure_reports_by_task ON failure_reports (task);

CREATE TABLE learnings (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL CHECK (kind IN ('strategy', 'antipattern', 'estimate', 'convention')),
    category      TEXT NOT NULL,
    task_type     TEXT,
    content       TEXT NOT NULL,
    tags          TEXT NOT NULL,
    confidence    REAL NOT NULL,
    success_rate  REAL NOT NULL,
    use_count     INTEGER NOT NULL DEFAULT 0,
    source        TEXT NOT NULL CHECK (source IN ('sigil', 'extracted', 'imported', 'human')),
    source_loops  TEXT NOT NULL,
    -- The task and the row of the journal that it comes from.
    task          TEXT,
    journal       INTEGER REFERENCES journal (id),
    status        TEXT NOT NULL CHECK (status IN ('pending', 'validated', 'rejected', 'promoted', 'pruned')),
    reason        TEXT,
    superseded_by TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL
) STRICT;
CREATE INDEX learnings_by_status ON learnings (status, kind);
CREATE INDEX learnings_by_journal ON learnings (journal);

CREATE TABLE injections (
    journal INTEGER NOT NULL REFERENCES journal (id),
    kind    TEXT NOT NULL,
    entry   TEXT NOT NULL,
    digest  INTEGER NOT NULL,
    section TEXT NOT NULL,
    rank    INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    score   REAL,
    reason  TEXT NOT NULL CHECK (reason IN (
        'shown', 'over_budget', 'duplicate', 'superseded', 'irrelevant', 'held_out'
    )),
    -- Whether the agent said that it relied on it.
    used    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX injections_by_journal ON injections (journal);
CREATE INDEX injections_by_entry ON injections (kind, entry);

-- Files that a settlement wants written. They are written after it, once.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    worktree   TEXT NOT NULL,
    journal    INTEGER NOT NULL REFERENCES journal (id),
    kind       TEXT NOT NULL CHECK (kind IN ('knowledge')),
    payload    TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('queued', 'staged', 'done')),
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_open ON outbox (worktree, id) WHERE state <> 'done';
CREATE INDEX outbox_by_journal ON outbox (journal);

-- When a person last looked at the status, so that it can say what is new since.
CREATE TABLE looks (
    worktree TEXT PRIMARY KEY,
    journal  INTEGER NOT NULL,
    at       TEXT NOT NULL
) STRICT;
