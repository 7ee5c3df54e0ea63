-- Every file of notes that was seen: what the file system and git said of it after the last look or change.
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

-- Every change of a note: what it said afterwards, or last said before it went.
CREATE TABLE note_log (
    seq     INTEGER PRIMARY KEY,
    file    INTEGER NOT NULL REFERENCES note_files (id),
    at      TEXT NOT NULL,
    note    TEXT NOT NULL,
    action  TEXT NOT NULL CHECK (action IN (
        'added', 'edited', 'deleted', 'restored',
        'adopted', 'changed', 'returned', 'vanished', 'checked_out'
    )),
    kind    TEXT NOT NULL CHECK (kind IN ('pattern', 'decision', 'fix', 'context')),
    content TEXT NOT NULL,
    tags    TEXT NOT NULL,
    created TEXT NOT NULL,
    extra   TEXT NOT NULL
) STRICT;

CREATE INDEX note_log_by_note ON note_log (note, file);
CREATE INDEX note_log_by_file ON note_log (file, note);
