-- Why nobody should start an agent for a while: its usage limit is reached, or its service fails. Written with the
-- settlement of the iteration that met it, one row an agent; gone when an iteration shows that it is over.
CREATE TABLE pauses (
    agent      TEXT PRIMARY KEY,
    reason     TEXT NOT NULL CHECK (reason IN ('usage_limit', 'transient')),
    until      TEXT NOT NULL,
    -- How often in a row this reason was met.
    times      INTEGER NOT NULL,
    -- What was said about it, as a sentence.
    said       TEXT NOT NULL,
    run        TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
