-- The search index. All of it is derived from note files and the fact store, so there are no migrations: an index of
-- another format is deleted and built again.

-- Totals of each kind, and what its source was like when it was last read, if that is not a file: a checksum over the
-- stamps of the knowledge folder, or the revision of the fact store.
CREATE TABLE kinds (
    kind  INTEGER PRIMARY KEY,
    docs  INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    stamp BLOB
);
INSERT INTO kinds VALUES (1, 0, 0, NULL), (2, 0, 0, NULL), (3, 0, 0, NULL), (4, 0, 0, NULL), (5, 0, 0, NULL);

-- The files that were read: memories, guardrails, and each file of the knowledge folder, also invalid ones.
CREATE TABLE files (
    kind       INTEGER NOT NULL,
    name       TEXT NOT NULL,
    inode      INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,
    ctime_ns   INTEGER NOT NULL,
    indexed_ns INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    problems   TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX files_with_problems ON files (kind, name) WHERE problems <> '';

-- What ranking reads. Texts are in tables of their own, because ranking reads many of these rows.
CREATE TABLE docs (
    number      INTEGER PRIMARY KEY,
    kind        INTEGER NOT NULL,
    id          TEXT NOT NULL,
    -- The kind of a note. Two facts are near-duplicates only if they have the same topic.
    topic       TEXT NOT NULL,
    created     TEXT NOT NULL,
    second      INTEGER NOT NULL,
    -- The position in its file, or the row number in the fact store.
    place       INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    -- A digest of its numbers and negations: near-duplicates agree in them.
    facts       INTEGER NOT NULL,
    terms       BLOB NOT NULL,
    tag_terms   BLOB NOT NULL
);
CREATE INDEX docs_by_id ON docs (kind, id);
-- These cover what a list shows besides the texts.
CREATE INDEX docs_by_age ON docs (kind, created, second, place, id, topic) WHERE kind < 3;
CREATE INDEX docs_by_topic ON docs (kind, topic, created, second, place, id) WHERE kind < 3;

-- The rest of memories and guardrails, and the bodies of knowledge entries.
CREATE TABLE texts (
    doc     INTEGER PRIMARY KEY,
    tags    TEXT NOT NULL,
    extra   TEXT NOT NULL,
    content TEXT NOT NULL
);

CREATE TABLE superseded (
    id  TEXT NOT NULL,
    doc INTEGER NOT NULL,
    PRIMARY KEY (id, doc)
) WITHOUT ROWID;
CREATE INDEX superseded_by_doc ON superseded (doc);

-- The frontmatter of knowledge entries; tags and links are JSON.
CREATE TABLE knowledge (
    doc        INTEGER PRIMARY KEY,
    title      TEXT NOT NULL,
    title_key  TEXT NOT NULL,
    tags       TEXT NOT NULL,
    feature    TEXT,
    created_at TEXT,
    links      TEXT NOT NULL
);
CREATE INDEX knowledge_by_title ON knowledge (title_key);

-- The titles that a knowledge entry links to, in the form in which titles are compared.
CREATE TABLE links (
    target TEXT NOT NULL,
    doc    INTEGER NOT NULL,
    PRIMARY KEY (target, doc)
) WITHOUT ROWID;
CREATE INDEX links_by_doc ON links (doc);

-- The tags of knowledge entries and learnings, by the words of which every text that contains the tag has one.
CREATE TABLE tags (
    kind INTEGER NOT NULL,
    word TEXT NOT NULL,
    doc  INTEGER NOT NULL,
    tag  TEXT NOT NULL,
    PRIMARY KEY (kind, word, doc, tag)
) WITHOUT ROWID;
CREATE INDEX tags_by_doc ON tags (doc);

-- The number of documents of each kind that contain a term: it shows which words of a question are distinctive before
-- any list of documents is read.
CREATE TABLE terms (
    number    INTEGER PRIMARY KEY,
    term      TEXT NOT NULL UNIQUE,
    memory    INTEGER NOT NULL DEFAULT 0,
    guardrail INTEGER NOT NULL DEFAULT 0,
    knowledge INTEGER NOT NULL DEFAULT 0,
    learning  INTEGER NOT NULL DEFAULT 0,
    journal   INTEGER NOT NULL DEFAULT 0
);
-- Corrections of a typo are searched among terms of about the same length with the same first letter.
CREATE INDEX terms_by_shape ON terms (substr(term, 1, 1), length(term));

-- Which documents contain a term. Terms are stored as numbers, so no text is taken for query syntax.
CREATE VIRTUAL TABLE words_memory
    USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
CREATE VIRTUAL TABLE words_guardrail
    USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
CREATE VIRTUAL TABLE words_knowledge
    USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
CREATE VIRTUAL TABLE words_learning
    USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
CREATE VIRTUAL TABLE words_journal
    USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
