"""The SQLite file of a knowledge base: its tables and arrays, and how it is opened for reading."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import DamagedError

FORMAT = 4

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
        raise unreadable(path, error) from error


def unreadable(path: object, error: Exception) -> DamagedError:
    """Return the error for a knowledge base that SQLite cannot read."""
    return DamagedError(path=path, reason=error, remedy="Build the knowledge base again with `spacy-sapbert kb build`.")
