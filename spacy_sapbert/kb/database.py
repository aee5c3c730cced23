"""The SQLite file of a knowledge base: its tables, and how it is opened. What it holds is not trusted.

A file may come from anybody. So it is opened read-only, its schema must be exactly ours, and each query is bounded.
"""

from __future__ import annotations

import os
import sqlite3
from itertools import chain, repeat
from pathlib import Path

from ..errors import Errors, SapbertError

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
CREATE TABLE arrays (name TEXT PRIMARY KEY, data BLOB NOT NULL);  -- see arrays.py
"""

# Created after the tables are filled: an index that grows with its table costs one search per row.
INDEXES = (
    "CREATE UNIQUE INDEX concepts_by_id ON concepts (id)",
    "CREATE INDEX ids_by_concept ON ids (concept)",
    "CREATE INDEX xrefs_by_xref ON xrefs (xref)",
    "CREATE UNIQUE INDEX names_by_text ON names (text)",
    "CREATE INDEX synonyms_by_concept ON synonyms (concept)",
)

TEXTS = {
    *("definition", "id", "language", "parent", "predicate", "reason"),
    *("scope", "source", "text", "type", "value", "xref"),
}
"""The names of columns that have texts only. In a changed file, they can have numbers."""

SCRIPT = ";".join((SCHEMA, *INDEXES))
"""All that makes the schema."""

STEPS = 10_000
"""The instructions of SQLite between two counts of its work."""
LEAST_STEPS = 10_000_000
"""The instructions that a query may take in the smallest file: about half a second."""
STEPS_PER_BYTE = 200
"""The further instructions that a query may take for each byte of the file. A scan with a sort takes fewer than 20."""

_MAPPED = 2**40  # bytes: SQLite maps at most as much as it was built for
_HEADER = b"SQLite format 3\0"


def file_uri(path: Path) -> str:
    """Return the URI with which SQLite opens a knowledge base read-only."""
    return f"{path.as_uri()}?mode=ro&immutable=1"


def open_database(path: Path) -> sqlite3.Connection:
    """Open a knowledge base for reading.

    The connection runs no function that the schema names, unless it is harmless. See `bound_query` for queries.
    """
    connection = sqlite3.connect(file_uri(path), uri=True)
    distrust(connection)
    connection.execute(f"PRAGMA mmap_size = {_MAPPED}")
    return connection


def distrust(connection: sqlite3.Connection) -> None:
    """Let a connection trust no schema, and check each page that it reads."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def bound_query(connection: sqlite3.Connection, size: int) -> None:
    """Bound the work of the next query. SQLite then stops with "interrupted".

    The tables of a damaged file can hold each other's pages, so that a scan never ends.

    Args:
        connection: The connection. Each call bounds one more query.
        size: The size of the file in bytes.
    """
    times = (LEAST_STEPS + STEPS_PER_BYTE * size) // STEPS
    # no function of Python, in which Ctrl-C would arrive and be taken for an interrupted query
    connection.set_progress_handler(chain(repeat(0, times), repeat(1)).__next__, STEPS)


def check_file(path: Path) -> int:
    """Compare the size of a file with its header. SQLite opens a truncated file and fails only much later.

    Returns:
        The size in bytes.

    Raises:
        SapbertError: E102 it cannot be read, is no SQLite file, or was cut off.
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise damaged(path, error.strerror) from error
    pages = int.from_bytes(header[28:32], "big")
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    if not header.startswith(_HEADER):
        raise damaged(path, "no SQLite header")
    if size < pages * page_size:
        raise damaged(path, "the end is missing")
    return size


def damaged(path: Path, reason: object) -> SapbertError:
    """Return the error for a file that is no sound knowledge base."""
    return SapbertError(Errors.E102.format(path=path, reason=reason))
