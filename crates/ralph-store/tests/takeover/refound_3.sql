-- A database of RefoundAI's ralph in format 3, with the tables, columns and checks that it makes.
PRAGMA foreign_keys = OFF;
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    parent_id TEXT REFERENCES tasks(id),
    title TEXT NOT NULL,
    description TEXT,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending','in_progress','done','blocked','failed')),
    priority INTEGER DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    claimed_by TEXT
);
CREATE TABLE dependencies (
    blocker_id TEXT NOT NULL REFERENCES tasks(id),
    blocked_id TEXT NOT NULL REFERENCES tasks(id),
    PRIMARY KEY (blocker_id, blocked_id),
    CHECK (blocker_id != blocked_id)
);
CREATE TABLE task_logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL REFERENCES tasks(id),
    message TEXT NOT NULL,
    timestamp TEXT NOT NULL
);
CREATE TABLE features (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    spec_path TEXT,
    plan_path TEXT,
    status TEXT NOT NULL DEFAULT 'draft' CHECK (status IN ('draft','planned','ready','running','done','failed')),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
ALTER TABLE tasks ADD COLUMN feature_id TEXT REFERENCES features(id);
ALTER TABLE tasks ADD COLUMN task_type TEXT DEFAULT 'feature' CHECK (task_type IN ('feature','standalone'));
ALTER TABLE tasks ADD COLUMN retry_count INTEGER DEFAULT 0;
ALTER TABLE tasks ADD COLUMN max_retries INTEGER DEFAULT 3;
ALTER TABLE tasks ADD COLUMN verification_status TEXT CHECK (verification_status IN ('pending','passed','failed'));
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    task_id TEXT,
    feature_id TEXT,
    outcome TEXT NOT NULL CHECK (outcome IN ('done','failed','retried','blocked')),
    model TEXT,
    duration_secs REAL,
    cost_usd REAL DEFAULT 0.0,
    files_modified TEXT,
    notes TEXT,
    created_at TEXT NOT NULL
);
CREATE VIRTUAL TABLE journal_fts USING fts5(notes, content=journal, content_rowid=id);
CREATE TRIGGER journal_ai AFTER INSERT ON journal BEGIN
    INSERT INTO journal_fts(rowid, notes) VALUES (new.id, new.notes);
END;
PRAGMA user_version = 3;
