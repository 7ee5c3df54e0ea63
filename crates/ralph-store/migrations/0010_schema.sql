-- The fact store. Earlier schemas were never released; later ones are numbered migrations of this one.

-- Note files: the stamp and the commit after the last comparison or change.
CREATE TABLE note_files (
    id       INTEGER PRIMARY KEY,
    worktree TEXT NOT NULL,
    path     TEXT NOT NULL,
    inode    INTEGER NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    head     TEXT,
    UNIQUE (worktree, path)
) STRICT;

-- Every change of a note: its text afterwards, or its last text before it was removed.
CREATE TABLE note_log (
    seq     INTEGER PRIMARY KEY,
    file    INTEGER NOT NULL REFERENCES note_files (id),
    at      TEXT NOT NULL,
    note    TEXT NOT NULL,
    action  TEXT NOT NULL CHECK (action IN (
        'added', 'edited', 'deleted', 'restored',
        'adopted', 'changed', 'returned', 'vanished', 'checked_out'
    )),
    -- For a knowledge entry, `note` is the file name and `content` the full text; for the scratchpad, `note` counts the
    -- changes and `content` is the appended or cleared text.
    kind    TEXT NOT NULL CHECK (kind IN ('pattern', 'decision', 'fix', 'context', 'knowledge', 'scratchpad')),
    content TEXT NOT NULL,
    tags    TEXT NOT NULL,
    created TEXT NOT NULL,
    extra   TEXT NOT NULL,
    -- The author, with run and iteration if the change was made in one.
    author    TEXT NOT NULL DEFAULT 'unknown' CHECK (author IN ('human', 'agent', 'ralph', 'unknown')),
    run       TEXT,
    iteration INTEGER
) STRICT;
CREATE INDEX note_log_by_agent ON note_log (run, iteration) WHERE author = 'agent';
CREATE INDEX note_log_by_iteration ON note_log (run, iteration) WHERE run IS NOT NULL;
CREATE INDEX note_log_by_note ON note_log (note, file);
CREATE INDEX note_log_by_file ON note_log (file, note);

-- The status of a feature is computed from its tasks.
CREATE TABLE features (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE tasks (
    -- The order of creation, because two tasks may have the same time.
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    title         TEXT NOT NULL,
    description   TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN (
        'proposed', 'pending', 'in_progress', 'done', 'blocked', 'failed'
    )),
    kind          TEXT NOT NULL CHECK (kind IN ('once', 'prompt_loop')),
    priority      INTEGER NOT NULL,
    parent        TEXT REFERENCES tasks (id) ON DELETE CASCADE,
    feature       TEXT REFERENCES features (id) ON DELETE SET NULL,
    retries_used  INTEGER NOT NULL DEFAULT 0,
    -- The number of the last attempt; never decreases, so that no number is reused.
    attempts      INTEGER NOT NULL DEFAULT 0,
    -- The claiming run, the expiry of its lease, and the fencing token that its settlement must present.
    claimed_by    TEXT REFERENCES runs (id),
    lease_until   TEXT,
    fence         INTEGER NOT NULL DEFAULT 0,
    -- Whether it is behind a failed task that needs a person; such a task counts as resolved for its parent.
    behind_failed INTEGER NOT NULL DEFAULT 0,
    -- Where it was done, because its commit may not be available everywhere. NULL for a parent, which is done where its
    -- subtasks are.
    done_worktree TEXT,
    done_commit   TEXT,
    -- The files with changes before the first attempt, as JSON: they must not be committed with the task.
    dirty_before  TEXT,
    -- The relations that an agent wants for a proposed task, as JSON; otherwise NULL.
    proposal      TEXT,
    -- The number of the last attempt at the last reset: only later ones count for what the task has changed.
    reset_after   INTEGER NOT NULL DEFAULT 0,
    -- Why a person has to review a done task, and which items of its evidence were changed, as JSON.
    unverified    TEXT CHECK (unverified IN ('no_evidence', 'nothing_changed', 'evidence_changed')),
    unverified_changed TEXT,
    -- The commands that must pass for it, as JSON.
    checks        TEXT NOT NULL DEFAULT '[]',
    -- Whether it is done and no person has reviewed it since a run finished it.
    to_review     INTEGER NOT NULL DEFAULT 0 CHECK (to_review IN (0, 1)),
    -- Its retry limit; NULL for the configured one.
    max_retries   INTEGER,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL
) STRICT;
CREATE INDEX tasks_by_parent ON tasks (parent);
CREATE INDEX tasks_by_status ON tasks (status, priority, seq);
CREATE INDEX tasks_unverified ON tasks (seq) WHERE unverified IS NOT NULL;
CREATE INDEX tasks_claimed ON tasks (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX tasks_by_feature ON tasks (feature) WHERE feature IS NOT NULL;

-- Items that evidence depends on and that agents changed, with the digests before and after (NULL if the item did not
-- exist). A change counts against later work while the item is as the agent left it, until a person accepts, resets or
-- deletes the task.
CREATE TABLE evidence_changes (
    task       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    before     TEXT,
    after      TEXT,
    -- Whether git runs the item on commits.
    in_commits INTEGER NOT NULL CHECK (in_commits IN (0, 1)),
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE dependencies (
    task  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    after TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (task, after),
    CHECK (task <> after)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_by_after ON dependencies (after);

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

-- Checkouts of tasks. A row stays until the checkout is removed, even if the task is deleted.
CREATE TABLE checkouts (
    task        TEXT PRIMARY KEY,
    -- The branch of the work, the reference on which it lands, and the base commit of the branch.
    branch      TEXT NOT NULL,
    base        TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    -- The commit that is about to become the tip of the base, and its evidence, as JSON. Written before the reference
    -- moves, so recovery has to check whether the base contains the commit.
    landing     TEXT,
    evidence    TEXT
) STRICT;

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

-- Includes deleted tasks. A row is signed at the end of its transaction.
CREATE TABLE task_log (
    seq       INTEGER PRIMARY KEY,
    task      TEXT NOT NULL,
    at        TEXT NOT NULL,
    text      TEXT NOT NULL,
    author    TEXT CHECK (author IN ('human', 'agent', 'ralph', 'unknown')),
    run       TEXT,
    iteration INTEGER
) STRICT;
CREATE INDEX task_log_by_task ON task_log (task, seq);
CREATE INDEX task_log_unsigned ON task_log (seq) WHERE author IS NULL;

CREATE TABLE runs (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL CHECK (kind IN ('loop', 'session')),
    agent         TEXT NOT NULL,
    agent_session TEXT,
    -- The request, as text for the user.
    goal          TEXT NOT NULL,
    worktree      TEXT NOT NULL,
    branch        TEXT,
    "commit"      TEXT,
    host          TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    -- Start time of the process in system units, because pids are reused.
    pid_started   INTEGER NOT NULL,
    -- The gate results before the first iteration, as JSON.
    baseline      TEXT,
    started_at    TEXT NOT NULL,
    heartbeat     TEXT NOT NULL,
    ended_at      TEXT,
    -- How it ended, and the sentence that says so.
    end_kind      TEXT CHECK (end_kind IN ('complete', 'needs_attention', 'stopped', 'killed')),
    end_reason    TEXT,
    end_code      INTEGER,
    -- The question that the run waits for, as JSON.
    asks          TEXT
) STRICT;
CREATE INDEX runs_by_end ON runs (ended_at);

-- The current iteration of a run: written before each step and deleted by the settlement. It shows where a killed run
-- stopped.
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
    -- A random word in the environment of every process that the agent starts.
    marker        TEXT NOT NULL,
    agent_pid     INTEGER,
    agent_started INTEGER,
    claimed_at    TEXT NOT NULL,
    started_at    TEXT,
    -- The state of the project's files before the agent started, as JSON.
    before        TEXT,
    -- The SHA-256 of the prompt, taken when it was written.
    prompt_sha256 TEXT,
    -- The entries considered for the prompt, as JSON.
    injections    TEXT,
    -- How the turn ended, as JSON.
    end           TEXT
) STRICT;

-- One row per finished iteration. Never pruned.
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
    -- The words of an agent or a program that the reason quotes.
    quoted           TEXT NOT NULL DEFAULT '',
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
    imported         INTEGER NOT NULL DEFAULT 0 CHECK (imported IN (0, 1)),
    task_type        TEXT NOT NULL DEFAULT 'general',
    -- Files, error categories and tools named by the task and its changes, as JSON: similar tasks share them.
    tags             TEXT NOT NULL DEFAULT '[]',
    -- What confirmed the work; for a retried iteration, what rejected it.
    evidence         TEXT NOT NULL DEFAULT 'none' CHECK (evidence IN ('gates', 'verifier', 'both', 'none')),
    -- Whether the task was done but unverified, whatever its evidence: learnings get no credit from it.
    unverified       INTEGER NOT NULL DEFAULT 0 CHECK (unverified IN (0, 1)),
    -- The SHA-256 of the prompt as it was written for the agent.
    prompt_sha256    TEXT,
    -- The permissions that were denied to the agent, as a JSON list.
    denials          TEXT NOT NULL DEFAULT '[]',
    UNIQUE (run_id, iteration)
) STRICT;
CREATE INDEX journal_by_task ON journal (task_id, id);
CREATE INDEX journal_by_time ON journal (created_at);
CREATE INDEX journal_overflows ON journal (task_id) WHERE stop_reason = 'context_overflow';
CREATE INDEX journal_in_order ON journal (1 - imported);
CREATE INDEX journal_hard ON journal (task_type, id) WHERE difficulty IN ('hard', 'blocked');
CREATE INDEX journal_counted ON journal (task_id, imported, id DESC, outcome) WHERE outcome <> 'interrupted';
CREATE INDEX journal_done ON journal (task_id, imported, id) WHERE outcome = 'done';

-- One per failed attempt.
CREATE TABLE failure_reports (
    journal        INTEGER PRIMARY KEY REFERENCES journal (id),
    task           TEXT,
    what_tried     TEXT NOT NULL,
    why_failed     TEXT NOT NULL,
    category       TEXT NOT NULL,
    relevant_files TEXT NOT NULL,
    error_output   TEXT,
    suggestion     TEXT,
    -- The author of the report's text.
    origin         TEXT NOT NULL DEFAULT 'agent' CHECK (origin IN ('agent', 'ralph')),
    -- The gate that rejected the work, and how it ended.
    gate           TEXT,
    gate_end       TEXT,
    -- Equal for failures that are the same.
    signature      TEXT,
    -- When its long texts were shortened.
    shortened_at   TEXT
) STRICT;
CREATE INDEX failure_reports_by_task ON failure_reports (task);
CREATE INDEX failure_reports_by_signature ON failure_reports (signature) WHERE signature IS NOT NULL;

CREATE TABLE learnings (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL CHECK (kind IN ('strategy', 'antipattern', 'estimate', 'convention')),
    category      TEXT NOT NULL,
    task_type     TEXT,
    content       TEXT NOT NULL,
    tags          TEXT NOT NULL CHECK (json_valid(tags)),
    confidence    REAL NOT NULL,
    success_rate  REAL NOT NULL,
    use_count     INTEGER NOT NULL DEFAULT 0,
    source        TEXT NOT NULL CHECK (source IN ('sigil', 'extracted', 'imported', 'human')),
    source_loops  TEXT NOT NULL CHECK (json_valid(source_loops)),
    -- The task and the journal entry that it comes from.
    task          TEXT,
    journal       INTEGER REFERENCES journal (id),
    status        TEXT NOT NULL CHECK (status IN ('pending', 'validated', 'rejected', 'promoted', 'pruned')),
    reason        TEXT,
    superseded_by TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    -- Equal for duplicates: the text without case and punctuation.
    normalized    TEXT NOT NULL DEFAULT '',
    -- What near-duplicates are compared by: 64-bit numbers, the first a digest of the facts, the others of stems.
    features      BLOB,
    -- The number of counted iterations with it in the prompt that were done, and when the last of them ended.
    successes     INTEGER NOT NULL DEFAULT 0,
    last_used_at  TEXT,
    -- Texts that were merged into it, as JSON.
    examples      TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(examples)),
    -- Its status before it was pruned.
    pruned_from   TEXT,
    -- When a person last restored it; it is not merged automatically afterwards.
    restored_at   TEXT,
    -- The initial success rate, weighted as five uses, and the number of uses elsewhere.
    first_success_rate REAL NOT NULL DEFAULT 1.0,
    first_use_count    INTEGER NOT NULL DEFAULT 0,
    -- The numbers behind an extracted learning, as JSON.
    facts         TEXT CHECK (facts IS NULL OR json_valid(facts)),
    -- Its id in another store, and the whole entry there as JSON.
    foreign_id    TEXT,
    original      TEXT,
    -- Consecutive injections without the failure that it warns of.
    quiet_showings INTEGER NOT NULL DEFAULT 0,
    -- Uses are counted after this journal entry.
    counted_since INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX learnings_by_status ON learnings (status, kind);
CREATE INDEX learnings_by_journal ON learnings (journal);
CREATE INDEX learnings_by_normalized ON learnings (normalized, kind);
CREATE INDEX learnings_by_task ON learnings (task, status) WHERE task IS NOT NULL;
CREATE INDEX learnings_superseded ON learnings (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE UNIQUE INDEX learnings_foreign ON learnings (foreign_id) WHERE foreign_id IS NOT NULL;
CREATE INDEX learnings_known
    ON learnings (kind, task_type, confidence, seq, success_rate, use_count, first_use_count)
    WHERE status = 'promoted' AND superseded_by IS NULL AND source IN ('extracted', 'imported');
CREATE INDEX learnings_ranked
    ON learnings (kind, task_type, confidence, success_rate, use_count, status, superseded_by)
    WHERE status IN ('promoted', 'validated') AND superseded_by IS NULL;
CREATE INDEX learnings_unjudged ON learnings (seq) WHERE status = 'pending' AND source = 'sigil';
CREATE INDEX learnings_estimates ON learnings (task_type) WHERE kind = 'estimate';

-- What was injected into each prompt, what was not, and why.
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
    -- Whether the agent reported using it.
    used    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX injections_by_journal ON injections (journal);
CREATE INDEX injections_by_entry ON injections (kind, entry);

-- Files that a settlement queued for writing. They are written after it, once.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    worktree   TEXT NOT NULL,
    journal    INTEGER NOT NULL REFERENCES journal (id),
    kind       TEXT NOT NULL CHECK (kind IN ('knowledge')),
    payload    TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('queued', 'staged', 'done')),
    -- The staged text: a file with this text belongs to this row, also after a kill.
    text       TEXT,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_open ON outbox (worktree, id) WHERE state <> 'done';
CREATE INDEX outbox_by_journal ON outbox (journal);

-- When the user last checked the status.
CREATE TABLE looks (
    worktree TEXT PRIMARY KEY,
    journal  INTEGER NOT NULL,
    at       TEXT NOT NULL
) STRICT;

-- Agents that must not be started for a while, because of a usage limit or a failing service. Written with the
-- settlement of the iteration that found out; deleted when an iteration shows that it is over.
CREATE TABLE pauses (
    agent      TEXT PRIMARY KEY,
    reason     TEXT NOT NULL CHECK (reason IN ('usage_limit', 'transient')),
    until      TEXT NOT NULL,
    -- How many times in a row this reason occurred.
    times      INTEGER NOT NULL,
    -- The agent's explanation, as a sentence.
    said       TEXT NOT NULL,
    run        TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

-- Records imported from another tool. A row stays when the record is deleted here, so that it is not imported again.
CREATE TABLE imported (
    tool       TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('feature', 'task')),
    -- The original id and creation time, because other projects may have used the same id. The time is empty if only
    -- the other tool's journal names the id.
    foreign_id TEXT NOT NULL,
    made_at    TEXT NOT NULL,
    id         TEXT NOT NULL,
    PRIMARY KEY (tool, kind, foreign_id, made_at)
) STRICT, WITHOUT ROWID;

-- Numbers of which near-duplicates share at least one.
CREATE TABLE learning_prefixes (
    stem     INTEGER NOT NULL,
    learning INTEGER NOT NULL REFERENCES learnings (seq) ON DELETE CASCADE,
    PRIMARY KEY (stem, learning)
) STRICT, WITHOUT ROWID;
CREATE INDEX learning_prefixes_by_learning ON learning_prefixes (learning);

-- The iterations that a learning came from. `drawn`: extracted from the journal entry, not reported by the agent.
CREATE TABLE learning_sources (
    learning INTEGER NOT NULL REFERENCES learnings (seq) ON DELETE CASCADE,
    journal  INTEGER NOT NULL REFERENCES journal (id),
    drawn    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (learning, journal)
) STRICT, WITHOUT ROWID;
CREATE INDEX learning_sources_by_journal ON learning_sources (journal);

-- Periodic upkeep: after which journal entry it was last done.
CREATE TABLE lifecycle (
    step    TEXT PRIMARY KEY,
    journal INTEGER NOT NULL,
    at      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The failures that a learning warns of, by signature.
CREATE TABLE learning_signatures (
    signature TEXT NOT NULL,
    learning  INTEGER NOT NULL REFERENCES learnings (seq) ON DELETE CASCADE,
    PRIMARY KEY (signature, learning)
) STRICT, WITHOUT ROWID;
CREATE INDEX learning_signatures_by_learning ON learning_signatures (learning);

-- Earlier texts of learnings that a person changed.
CREATE TABLE learning_versions (
    seq       INTEGER PRIMARY KEY,
    learning  INTEGER NOT NULL REFERENCES learnings (seq) ON DELETE CASCADE,
    kind      TEXT NOT NULL,
    category  TEXT NOT NULL,
    task_type TEXT,
    content   TEXT NOT NULL,
    tags      TEXT NOT NULL,
    -- When it was replaced.
    until     TEXT NOT NULL
) STRICT;
CREATE INDEX learning_versions_by_learning ON learning_versions (learning);

-- Every change of a learning's text or status. Triggers write it; the transaction signs it.
CREATE TABLE learning_log (
    seq       INTEGER PRIMARY KEY,
    learning  TEXT NOT NULL,
    at        TEXT NOT NULL,
    action    TEXT NOT NULL,
    author    TEXT CHECK (author IN ('human', 'agent', 'ralph', 'unknown')),
    run       TEXT,
    iteration INTEGER
) STRICT;
CREATE INDEX learning_log_by_learning ON learning_log (learning, seq);
CREATE INDEX learning_log_unsigned ON learning_log (seq) WHERE author IS NULL;

-- Commands of agents that need a person's approval, because they would change what a person wrote, or a learning.
CREATE TABLE proposals (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    -- The command words, such as `memory edit`.
    change     TEXT NOT NULL,
    -- The affected ids.
    target     TEXT NOT NULL,
    -- The arguments and the input of the command, as JSON.
    payload    TEXT NOT NULL,
    author     TEXT NOT NULL CHECK (author IN ('human', 'agent', 'ralph', 'unknown')),
    run        TEXT,
    iteration  INTEGER,
    at         TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'rejected')),
    decided_at TEXT
) STRICT;
CREATE INDEX proposals_open ON proposals (seq) WHERE state = 'open';

-- Rollbacks of a task, an iteration or a run. The plan, as JSON, records what was done, so that it can be undone.
CREATE TABLE rollbacks (
    seq      INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    at       TEXT NOT NULL,
    worktree TEXT NOT NULL,
    -- The id of a task or a run, or RUN/ITERATION.
    target   TEXT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('landing', 'open', 'done', 'relanding', 'undoing', 'undone')),
    plan     TEXT NOT NULL
) STRICT;

CREATE TABLE settled_conflicts (
    one   TEXT NOT NULL,
    other TEXT NOT NULL CHECK (one < other),
    at    TEXT NOT NULL,
    PRIMARY KEY (one, other)
) STRICT, WITHOUT ROWID;

CREATE TABLE extractions (
    run       TEXT PRIMARY KEY,
    at        TEXT NOT NULL,
    extracted INTEGER NOT NULL,
    validated INTEGER NOT NULL,
    rejected  INTEGER NOT NULL,
    promoted  INTEGER NOT NULL,
    skipped   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER learnings_log_added AFTER INSERT ON learnings BEGIN
    INSERT INTO learning_log (learning, at, action)
        VALUES (new.id, new.created_at, 'added');
END;

CREATE TRIGGER learnings_log_edited AFTER UPDATE OF content ON learnings WHEN old.content IS NOT new.content BEGIN
    INSERT INTO learning_log (learning, at, action)
        VALUES (new.id, new.updated_at, 'edited');
END;

CREATE TRIGGER learnings_log_status AFTER UPDATE OF status ON learnings WHEN old.status IS NOT new.status BEGIN
    INSERT INTO learning_log (learning, at, action)
        VALUES (new.id, new.updated_at, new.status);
END;

CREATE TRIGGER learnings_log_superseded AFTER UPDATE OF superseded_by ON learnings
WHEN new.superseded_by IS NOT NULL AND old.superseded_by IS NOT new.superseded_by BEGIN
    INSERT INTO learning_log (learning, at, action)
        VALUES (new.id, new.updated_at,
                'superseded by ' || new.superseded_by);
END;

-- What changed, for the search index: each change of a text has a higher revision than all earlier ones. The epoch
-- identifies this database; a restored backup gets another one.
CREATE TABLE fact_changes (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT NOT NULL CHECK (kind IN ('journal', 'learning')),
    row      INTEGER NOT NULL,
    UNIQUE (kind, row)
) STRICT;

CREATE TABLE epoch (
    value INTEGER NOT NULL
) STRICT;
INSERT INTO epoch VALUES (random());

CREATE TRIGGER journal_added AFTER INSERT ON journal BEGIN
    DELETE FROM fact_changes WHERE kind = 'journal' AND row = new.id;
    INSERT INTO fact_changes (kind, row) VALUES ('journal', new.id);
END;

CREATE TRIGGER journal_changed AFTER UPDATE OF task_title, notes, quoted ON journal
WHEN old.task_title IS NOT new.task_title OR old.notes IS NOT new.notes OR old.quoted IS NOT new.quoted BEGIN
    DELETE FROM fact_changes WHERE kind = 'journal' AND row = new.id;
    INSERT INTO fact_changes (kind, row) VALUES ('journal', new.id);
END;

CREATE TRIGGER journal_deleted AFTER DELETE ON journal BEGIN
    DELETE FROM fact_changes WHERE kind = 'journal' AND row = old.id;
    INSERT INTO fact_changes (kind, row) VALUES ('journal', old.id);
END;

CREATE TRIGGER report_added AFTER INSERT ON failure_reports BEGIN
    DELETE FROM fact_changes WHERE kind = 'journal' AND row = new.journal;
    INSERT INTO fact_changes (kind, row) VALUES ('journal', new.journal);
END;

CREATE TRIGGER report_changed AFTER UPDATE OF what_tried, why_failed, error_output, suggestion ON failure_reports
WHEN old.what_tried IS NOT new.what_tried OR old.why_failed IS NOT new.why_failed OR old.error_output IS NOT new.error_output OR old.suggestion IS NOT new.suggestion BEGIN
    DELETE FROM fact_changes WHERE kind = 'journal' AND row = new.journal;
    INSERT INTO fact_changes (kind, row) VALUES ('journal', new.journal);
END;

CREATE TRIGGER learning_added AFTER INSERT ON learnings BEGIN
    DELETE FROM fact_changes WHERE kind = 'learning' AND row = new.seq;
    INSERT INTO fact_changes (kind, row) VALUES ('learning', new.seq);
END;

CREATE TRIGGER learning_changed AFTER UPDATE OF content, examples, tags, status, source, superseded_by ON learnings
WHEN old.content IS NOT new.content OR old.examples IS NOT new.examples OR old.tags IS NOT new.tags OR old.status IS NOT new.status OR old.source IS NOT new.source OR old.superseded_by IS NOT new.superseded_by BEGIN
    DELETE FROM fact_changes WHERE kind = 'learning' AND row = new.seq;
    INSERT INTO fact_changes (kind, row) VALUES ('learning', new.seq);
END;

CREATE TRIGGER learning_deleted AFTER DELETE ON learnings BEGIN
    DELETE FROM fact_changes WHERE kind = 'learning' AND row = old.seq;
    INSERT INTO fact_changes (kind, row) VALUES ('learning', old.seq);
END;

-- The journal for metrics: every counted iteration.
CREATE VIEW strategy_metrics AS
SELECT id, run_id, iteration, task_id, task_type, attempt, model, difficulty, outcome, outcome <> 'done' AS failed,
       duration_ms, cost_usd, input_tokens + output_tokens AS tokens, created_at,
       -- Always 1; filtering on it makes SQLite use an index that skips imported rows.
       1 - imported AS ours
FROM journal WHERE outcome <> 'interrupted' AND imported = 0;
