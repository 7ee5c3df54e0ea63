-- The search index of a worktree's notes. All of it is derived from their files, so there are no migrations: an index
-- with another number than this program's is thrown away and made anew.

CREATE TABLE sources (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    inode      INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,
    ctime_ns   INTEGER NOT NULL,
    indexed_ns INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    problems   TEXT NOT NULL,
    entries    INTEGER NOT NULL
);

-- Ranking reads many of these, so they are small; the text of an entry is in `texts`.
CREATE TABLE entries (
    number      INTEGER PRIMARY KEY,
    source      INTEGER NOT NULL,
    id          TEXT NOT NULL,
    kind        TEXT NOT NULL,
    created     TEXT NOT NULL,
    second      INTEGER NOT NULL,
    place       INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    terms       BLOB NOT NULL,
    tag_terms   BLOB NOT NULL
);
CREATE INDEX entries_by_id ON entries (source, id);
-- These hold all that a list shows beside the texts, so that it need not look the entries up.
CREATE INDEX entries_by_age ON entries (source, created, second, place, id, kind);
CREATE INDEX entries_by_kind ON entries (source, kind, created, second, place, id);

CREATE TABLE texts (
    entry   INTEGER PRIMARY KEY,
    tags    TEXT NOT NULL,
    extra   TEXT NOT NULL,
    content TEXT NOT NULL
);

CREATE TABLE superseded (
    id    TEXT NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (id, entry)
) WITHOUT ROWID;
CREATE INDEX superseded_by_entry ON superseded (entry);

-- How many entries hold a term: what tells which words of a query say something, before any list is walked through.
-- Knowledge entries are counted apart, so that queries for memories and guardrails do not depend on them.
CREATE TABLE terms (
    number    INTEGER PRIMARY KEY,
    term      TEXT NOT NULL UNIQUE,
    entries   INTEGER NOT NULL,
    knowledge INTEGER NOT NULL
);
CREATE TABLE totals (
    entries         INTEGER NOT NULL,
    terms           INTEGER NOT NULL,
    knowledge       INTEGER NOT NULL,
    knowledge_terms INTEGER NOT NULL,
    -- A checksum over the stamps of all knowledge files: while it is unchanged, no file has to be compared.
    knowledge_sum   BLOB
);
INSERT INTO totals VALUES (0, 0, 0, 0, NULL);

-- It holds terms by their numbers, so that no text can be taken for a query's syntax or be cut differently.
CREATE VIRTUAL TABLE words USING fts5(terms, content = '', contentless_delete = 1, tokenize = 'ascii');

-- The files of knowledge entries. Each query compares them with the files, so the rows are small. A file that
-- is no note has a problem and nothing in the tables below.
CREATE TABLE knowledge_files (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    inode      INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,
    ctime_ns   INTEGER NOT NULL,
    indexed_ns INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    problem    TEXT NOT NULL
);
CREATE INDEX knowledge_problems ON knowledge_files (name) WHERE problem <> '';

-- The frontmatter of a knowledge entry; tags and links are JSON.
CREATE TABLE knowledge (
    number     INTEGER PRIMARY KEY,
    title      TEXT NOT NULL,
    title_key  TEXT NOT NULL,
    tags       TEXT NOT NULL,
    feature    TEXT,
    created_at TEXT,
    created    TEXT NOT NULL,
    second     INTEGER NOT NULL,
    links      TEXT NOT NULL
);
CREATE INDEX knowledge_by_title ON knowledge (title_key);

CREATE TABLE knowledge_texts (
    note      INTEGER PRIMARY KEY,
    terms     BLOB NOT NULL,
    tag_terms BLOB NOT NULL,
    body      TEXT NOT NULL
);

-- The words by which a tag may be found.
CREATE TABLE knowledge_tags (
    word TEXT NOT NULL,
    tag  TEXT NOT NULL,
    note INTEGER NOT NULL,
    PRIMARY KEY (word, tag, note)
) WITHOUT ROWID;
CREATE INDEX knowledge_tags_by_note ON knowledge_tags (note);

-- The titles that a knowledge entry links to, as they are compared.
CREATE TABLE knowledge_links (
    target TEXT NOT NULL,
    note   INTEGER NOT NULL,
    PRIMARY KEY (target, note)
) WITHOUT ROWID;
CREATE INDEX knowledge_links_by_note ON knowledge_links (note);

CREATE VIRTUAL TABLE knowledge_words USING fts5(terms, content = '', contentless_delete = 1, tokenize = 'ascii');
