"""The SQLite file of a knowledge base: its tables and arrays, and how it is opened for reading."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import DamagedError

FORMAT = 4

# Rows count from 0 without gaps, in the order in which concepts and names first appeared. The row of a name is also its
# row in every matrix of name vectors.
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE concepts (row INTEGER PRIMARY KEY, id TEXT NOT NULL, preferred INTEGER NOT NULL, definition TEXT);
CREATE TABLE ids (id TEXT, concept INTEGER, PRIMARY KEY (id, concept)) WITHOUT ROWID;
CREATE TABLE types (concept INTEGER, type TEXT, PRIMARY KEY (concept, type)) WITHOUT ROWID;
CREATE TABLE parents (concept INTEGER, parent TEXT, PRIMARY KEY (concept, parent)) WITHOUT ROWID;
CREATE TABLE xrefs (
    concept INTEGER, xref TEXT,
    predicate TEXT,  -- how the source relates the two concepts, empty if it does not say so
    PRIMARY KEY (concept, xref, predicate)
) WITHOUT ROWID;
CREATE TABLE names (row INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE synonyms (
    name INTEGER, concept INTEGER, source TEXT,
    language TEXT,  -- empty if it is unknown
    scope TEXT NOT NULL,
    annotations INTEGER NOT NULL,  -- how often a corpus annotates the name with the concept
    PRIMARY KEY (name, concept, source, language)
) WITHOUT ROWID;
CREATE TABLE stop_names (name INTEGER PRIMARY KEY, reason TEXT NOT NULL);  -- see stop_names.py
CREATE TABLE totals (of TEXT, value TEXT, count INTEGER NOT NULL, PRIMARY KEY (of, value)) WITHOUT ROWID;
CREATE TABLE arrays (name TEXT PRIMARY KEY, data BLOB NOT NULL);  -- NAME_CONCEPTS, TIE_RANKS, IDS
"""

# Created after the tables are filled: an index that grows with its table costs one search per row.
INDEXES = (
    "CREATE UNIQUE INDEX concepts_by_id ON concepts (id)",
    "CREATE INDEX ids_by_concept ON ids (concept)",
    "CREATE INDEX xrefs_by_xref ON xrefs (xref)",
    "CREATE UNIQUE INDEX names_by_text ON names (text)",
    "CREATE INDEX synonyms_by_concept ON synonyms (concept)",
)

NAME_CONCEPTS = {"names": "<i4", "concepts": "<i4", "preferred": "?", "annotations": "<i4", "ranks": "<i4"}
"""The arrays of `NameConceptMap` and their data types."""
TIE_RANKS, IDS = "tie_ranks", "ids"
"""`KnowledgeBase.tie_ranks`, and the primary ids in UTF-8, filled up with zero bytes to the same length."""

_MAPPED = 2**40  # bytes: SQLite maps at most as much as it was built for


def file_uri(path: Path) -> str:
    """Return the URI with which SQLite opens a knowledge base read-only."""
    return f"{path.as_uri()}?mode=ro&immutable=1"


def open_database(path: Path) -> sqlite3.Connection:
    """Open a knowledge base for reading. Its schema is not trusted, so that it runs no function by itself."""
    connection = sqlite3.connect(file_uri(path), uri=True)
    for setting in ("trusted_schema = OFF", "query_only = ON", f"mmap_size = {_MAPPED}"):
        connection.execute(f"PRAGMA {setting}")
    return connection


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Translate the errors of SQLite while a knowledge base is read.

    Raises:
        DamagedError: The file cannot be read.
    """
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        remedy = "Build the knowledge base again with `spacy-sapbert kb build`."
        raise DamagedError(path=path, reason=error, remedy=remedy) from error
