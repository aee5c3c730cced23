-- The tables of corrections, in SQLite. corrections_file.py makes those of PostgreSQL from them.

CREATE TABLE documents (key TEXT PRIMARY KEY, doc_id TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE corpora (document TEXT, corpus TEXT, PRIMARY KEY (document, corpus)) WITHOUT ROWID;
CREATE TABLE links (
    document TEXT, start INTEGER, "end" INTEGER, text TEXT NOT NULL, label TEXT, concept_ids TEXT NOT NULL,
    probability REAL, score REAL, PRIMARY KEY (document, start, "end", label)
) WITHOUT ROWID;
CREATE TABLE secret (value TEXT NOT NULL);
CREATE TABLE corrections (
    id INTEGER PRIMARY KEY, action TEXT NOT NULL, scope TEXT NOT NULL, document TEXT NOT NULL, start INTEGER NOT NULL,
    "end" INTEGER NOT NULL, text TEXT NOT NULL, concept_ids TEXT NOT NULL, label TEXT NOT NULL, author TEXT NOT NULL,
    date TEXT NOT NULL, comment TEXT NOT NULL, undone TEXT NOT NULL
);
