-- What format 5 adds: which model was chosen against a hint.
CREATE TABLE model_overrides (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    iteration INTEGER NOT NULL,
    strategy_choice TEXT NOT NULL,
    hint TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX idx_model_overrides_iteration ON model_overrides (iteration);
PRAGMA user_version = 5;
