"""Search for documents by the name of a concept: the protocol, and BM25 in the files of a folder."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ..errors import Errors, SapbertError
from ..text.hashing import hash64
from .documents import SourceDocument, fold
from .exclusion import EvaluationSets, pmid_of

_WORD = re.compile(r"[^\W_]+")
_SCHEMA = """
CREATE TABLE documents (row INTEGER PRIMARY KEY, id TEXT, text TEXT, title TEXT, pmid TEXT, source TEXT);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'porter unicode61');
"""


class Hit(NamedTuple):
    """A document that was found.

    Attributes:
        key: by which the search knows it.
        whole: it holds all words that were searched for.
    """

    key: str
    whole: bool = True


class DocumentSearch(Protocol):
    """Finds documents; best first.

    Attributes:
        counts: what happened on the way.
    """

    @property
    def counts(self) -> Counter[str]: ...

    def find(self, name: str, limit: int) -> list[Hit]:
        """Return `list[Hit]`: at most `limit` documents on what is named so."""

    def fetch(self, keys: Sequence[str]) -> dict[str, SourceDocument]:
        """Return the documents with these keys, without those that have no text."""


class FolderSearch:
    """Documents of files, ranked by BM25 (SQLite's FTS5); words are stemmed.

    First come documents with all words of a name, then those with some.

    Args:
        database: a file that is made here; it is of no use afterwards.

    Attributes:
        counts: the documents read; of these `duplicates` (with the PMID or the words of one before) and those that
            overlap with evaluation sets, `excluded_by_pmid` and `excluded_by_title`. Both are left out.

    Raises:
        SapbertError: E609 the file cannot be made.
    """

    def __init__(self, database: Path, documents: Iterable[SourceDocument], exclude: EvaluationSets) -> None:
        self._counts: Counter[str] = Counter()
        try:
            self._connection = sqlite3.connect(database)
            self._connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_SCHEMA}")
            self._fill(documents, exclude)
        except sqlite3.Error as error:
            raise SapbertError(Errors.E609.format(reason=error)) from error

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
    """Whether neither the PMID nor the words were seen before; they are from now on."""
    keys: set[str | int] = {hash64(fold(document.text))}
    if document.pmid:
        keys.add(pmid_of(document.pmid) or document.pmid)
    is_new = seen.isdisjoint(keys)
    seen.update(keys)
    return is_new
