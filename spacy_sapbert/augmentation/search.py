"""Search documents by the name of a concept: the search protocol, and a BM25 search in local files."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ..errors import CannotWriteError
from ..files.hashing import hash64
from .documents import EvaluationSets, SourceDocument, fold, pmid_of

_WORD = re.compile(r"[^\W_]+")
_SCHEMA = """
CREATE TABLE documents (row INTEGER PRIMARY KEY, id TEXT, text TEXT, title TEXT, pmid TEXT, source TEXT);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'porter unicode61');
"""


class Hit(NamedTuple):
    """A document in the result of a search.

    Attributes:
        key: The document's key in the search.
        whole: Whether the document has all words of the query.
    """

    key: str
    whole: bool = True


class DocumentSearch(Protocol):
    """Finds documents, best first.

    Attributes:
        counts: The counts of the search, such as requests or duplicates.
    """

    @property
    def counts(self) -> Counter[str]: ...

    def find(self, name: str, limit: int) -> list[Hit]:
        """Return at most `limit` documents about a name."""

    def fetch(self, keys: Sequence[str]) -> dict[str, SourceDocument]:
        """Return the documents with these keys. Documents without a text are left out."""


class FolderSearch:
    """Searches local documents by BM25 (SQLite's FTS5), with stemmed words.

    Documents with all words of a name come first, then those with some of them.

    Args:
        database: The database file to create. It can be deleted after the search.
        documents: The documents.
        exclude: The evaluation sets to leave out.

    Attributes:
        counts: The counts `documents`, `duplicates`, `excluded_by_pmid` and `excluded_by_title`. Duplicates have the
            PMID or the words of an earlier document. Excluded documents overlap with evaluation sets. All of these are
            left out.
    """

    def __init__(self, database: Path, documents: Iterable[SourceDocument], exclude: EvaluationSets) -> None:
        self._counts: Counter[str] = Counter()
        try:
            self._connection = sqlite3.connect(database)
            self._connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_SCHEMA}")
            self._fill(documents, exclude)
        except sqlite3.Error as error:
            remedy = "Make room for temporary files, or set TMPDIR to another folder. Python's sqlite3 needs FTS5."
            raise CannotWriteError(remedy, path=database, reason=error) from error

    @property
    def counts(self) -> Counter[str]:
        return self._counts

    def _fill(self, documents: Iterable[SourceDocument], exclude: EvaluationSets) -> None:
        seen: set[str | int] = set()
        for document in documents:
            self._counts["documents"] += 1
            if overlap := exclude.overlap(document):
                self._counts[f"excluded_by_{overlap}"] += 1
            elif _is_new(document, seen):
                self._add(document)
            else:
                self._counts["duplicates"] += 1
        self._connection.commit()

    def _add(self, document: SourceDocument) -> None:
        row = self._connection.execute(
            "INSERT INTO documents (id, text, title, pmid, source) VALUES (?, ?, ?, ?, ?)", document
        ).lastrowid
        self._connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row, document.text))

    def find(self, name: str, limit: int) -> list[Hit]:
        words = list(dict.fromkeys(_WORD.findall(name)))
        if not words:
            return []
        every = self._ranked(words, "AND", limit)
        some = self._ranked(words, "OR", limit) if len(every) < limit else []
        found = {**dict.fromkeys(every, True), **{row: False for row in some if row not in set(every)}}
        return [Hit(str(row), whole) for row, whole in found.items()][:limit]

    def _ranked(self, words: Sequence[str], operator: str, limit: int) -> list[int]:
        query = f" {operator} ".join(f'"{word}"' for word in words)
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid LIMIT ?"
        return [row for (row,) in self._connection.execute(sql, (query, limit))]

    def fetch(self, keys: Sequence[str]) -> dict[str, SourceDocument]:
        sql = "SELECT id, text, title, pmid, source FROM documents WHERE row = ?"
        return {key: SourceDocument(*self._connection.execute(sql, (int(key),)).fetchone()) for key in keys}

    def close(self) -> None:
        self._connection.close()


def _is_new(document: SourceDocument, seen: set[str | int]) -> bool:
    """Return whether neither the PMID nor the words were seen before, and remember both."""
    keys: set[str | int] = {hash64(fold(document.text))}
    if document.pmid:
        keys.add(pmid_of(document.pmid) or document.pmid)
    is_new = seen.isdisjoint(keys)
    seen.update(keys)
    return is_new
