"""Choose the concepts to search for, search documents by name, and choose some for each concept."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from ..errors import CannotWriteError
from ..files.values import hash64
from ..kb.knowledge_base import KnowledgeBase
from ..types import Document
from .documents import EvaluationSets, fold, pmid_of

POOL = 4
"""The search requests this many times more documents than are taken, so that there is a choice."""
_WORD = re.compile(r"[^\W_]+")
_SCHEMA = """
CREATE TABLE documents (row INTEGER PRIMARY KEY, id TEXT, text TEXT, title TEXT, pmid TEXT, position TEXT);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'porter unicode61');
"""


class Hit(NamedTuple):
    """A document in the result of a search, by its key. It is whole if it has all words of the query."""

    key: str
    whole: bool = True


class DocumentSearch(Protocol):
    """Finds documents, best first.

    Attributes:
        counts: The counts of the search, such as requests or duplicates.
    """

    counts: Counter[str]

    def find(self, name: str, limit: int) -> list[Hit]:
        """Return at most `limit` documents about a name."""

    def fetch(self, keys: Sequence[str]) -> dict[str, Document]:
        """Return the documents with these keys. Documents without a text are left out."""


class FolderSearch:
    """Searches local documents by BM25 (SQLite's FTS5), with stemmed words, in a new database file.

    Documents with all words of a name come first, then those with some of them. Documents that overlap with evaluation
    sets are left out, and duplicates: documents with the PMID or the words of an earlier one.

    Attributes:
        counts: The counts `documents`, `duplicates`, `excluded_by_pmid` and `excluded_by_title`.
    """

    def __init__(self, database: Path, documents: Iterable[Document], exclude: EvaluationSets) -> None:
        self.counts: Counter[str] = Counter()
        try:
            self._connection = sqlite3.connect(database)
            self._connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_SCHEMA}")
            self._fill(documents, exclude)
        except sqlite3.Error as error:
            remedy = "Make room for temporary files, or set TMPDIR to another folder. Python's sqlite3 needs FTS5."
            raise CannotWriteError(remedy, path=database, reason=error) from error

    def _fill(self, documents: Iterable[Document], exclude: EvaluationSets) -> None:
        seen: set[str | int | None] = set()
        for document in documents:
            self.counts["documents"] += 1
            if overlap := exclude.overlap(document):
                self.counts[f"excluded_by_{overlap}"] += 1
                continue
            pmid = str(document.meta.get("pmid") or "")
            keys = {hash64(fold(document.text)), pmid_of(pmid) or pmid or None}
            if seen.isdisjoint(keys - {None}):
                self._add(document, pmid)
            else:
                self.counts["duplicates"] += 1
            seen |= keys
        self._connection.commit()

    def _add(self, document: Document, pmid: str) -> None:
        values = (document.doc_id, document.text, document.title, pmid, document.position)
        insert = "INSERT INTO documents (id, text, title, pmid, position) VALUES (?, ?, ?, ?, ?)"
        row = self._connection.execute(insert, values).lastrowid
        self._connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row, document.text))

    def find(self, name: str, limit: int) -> list[Hit]:
        words = list(dict.fromkeys(_WORD.findall(name)))
        if not words:
            return []
        with_all = self._ranked(words, "AND", limit)
        with_some = self._ranked(words, "OR", limit) if len(with_all) < limit else []
        hits = {**dict.fromkeys(with_some, False), **dict.fromkeys(with_all, True)}
        return [Hit(str(row), hits[row]) for row in dict.fromkeys([*with_all, *with_some])][:limit]

    def _ranked(self, words: Sequence[str], operator: str, limit: int) -> list[int]:
        query = f" {operator} ".join(f'"{word}"' for word in words)
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid LIMIT ?"
        return [row for (row,) in self._connection.execute(sql, (query, limit))]

    def fetch(self, keys: Sequence[str]) -> dict[str, Document]:
        sql = "SELECT id, text, title, pmid, position FROM documents WHERE row = ?"
        documents = {}
        for key in keys:
            doc_id, text, title, pmid, position = self._connection.execute(sql, (int(key),)).fetchone()
            documents[key] = Document(doc_id, text, title=title, meta={"pmid": pmid}, position=position)
        return documents

    def close(self) -> None:
        self._connection.close()


# --- the documents of a concept


@dataclass
class Choice:
    """Documents by the key of the search, and the concepts that each was chosen for.

    Attributes:
        counts: The counts `searched` (concepts), `found_nothing` (concepts without documents), `excluded_by_…`
            (documents in evaluation sets) and `passed_over`: documents that were replaced by one with fewer concepts.
    """

    documents: dict[str, Document] = field(default_factory=dict)
    concepts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)


def choose(
    concepts: Iterable[tuple[str, str]],
    search: DocumentSearch,
    exclude: EvaluationSets,
    *,
    limit: int = 50,
    diverse: bool = True,
) -> Choice:
    """Search for each concept, an id and a name, and choose at most `limit` documents for it.

    A diverse choice prefers documents chosen for the fewest other concepts, among those with all words of the name.
    Otherwise, the order is that of the search.
    """
    choice = Choice()
    excluded: dict[str, str] = {}
    for concept_id, name in concepts:
        choice.counts["searched"] += 1
        hits = search.find(name, limit * POOL if diverse else limit)
        n_concepts = {hit.key: len(choice.concepts.get(hit.key, ())) if diverse else 0 for hit in hits}
        ordered = sorted(hits, key=lambda hit: (not hit.whole, n_concepts[hit.key]))
        taken = _take([hit.key for hit in ordered], limit, search, exclude, choice.documents, excluded)
        choice.counts["found_nothing"] += not taken
        choice.counts["passed_over"] += sum(hit.key not in excluded and hit.key not in taken for hit in hits[:limit])
        for key in taken:
            choice.concepts[key].append(concept_id)
    choice.counts.update(f"excluded_by_{reason}" for reason in excluded.values())
    return choice


def _take(
    keys: Sequence[str],
    limit: int,
    search: DocumentSearch,
    exclude: EvaluationSets,
    documents: dict[str, Document],
    excluded: dict[str, str],
) -> list[str]:
    """Return the first keys of documents that have a text and are in no evaluation set. Both dicts grow."""
    taken: list[str] = []
    waiting = [key for key in keys if key not in excluded]
    while waiting and len(taken) < limit:
        batch, waiting = waiting[: limit - len(taken)], waiting[limit - len(taken) :]
        for key, document in search.fetch([key for key in batch if key not in documents]).items():
            if overlap := exclude.overlap(document):
                excluded[key] = overlap
            else:
                documents[key] = document
        taken += [key for key in batch if key in documents]
    return taken


# --- the concepts to search for


def training_documents(documents: Iterable[Document], kb: KnowledgeBase) -> Counter[str]:
    """Return the number of documents with each concept, by its primary id."""
    counts: Counter[str] = Counter()
    for document in documents:
        ids = {concept_id for mention in document.mentions for concept_id in mention.ids}
        counts.update({primary for concept_id in ids for primary in kb.find_id(concept_id)})
    return counts


def primary_ids(ids: Iterable[str], kb: KnowledgeBase) -> tuple[list[str], int]:
    """Return the primary ids of the concepts, and the number of ids that the knowledge base lacks."""
    by_id = {concept_id: kb.find_id(concept_id) for concept_id in ids}
    primaries = dict.fromkeys(primary for concepts in by_id.values() for primary in concepts)
    return list(primaries), sum(not concepts for concepts in by_id.values())


def rare_concepts(
    counts: Counter[str], labels: Iterable[str] | None, kb: KnowledgeBase, k: int | None
) -> list[tuple[str, str]]:
    """Return the concepts with fewer than k training documents, rarest first, then by id, with their preferred names.

    Without labels, which are primary ids, these are all concepts with a training document; without any, the whole
    vocabulary. Without k, all are returned.
    """
    relevant = labels if labels is not None else (counts or kb.concept_ids())
    ids = sorted(concept_id for concept_id in relevant if k is None or counts[concept_id] < k)
    return [(concept_id, kb.names_of(concept_id)[0].text) for concept_id in sorted(ids, key=counts.__getitem__)]
