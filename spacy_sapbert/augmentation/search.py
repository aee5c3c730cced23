"""Choose the concepts to search for, search documents by name, and choose some for each concept."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from ..documents.jats import read_jats
from ..documents.pubmed import read_pubmed
from ..documents.source import DocumentSource
from ..errors import CannotWriteError, Errors, SapbertError
from ..files.opening import OpenedFile
from ..files.output import replacing
from ..files.values import hash64, parse_json
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


# --- PubMed and PubMed Central, through NCBI's E-utilities


URL = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
KEY_VARIABLE = "NCBI_API_KEY"
DATABASES = ("pubmed", "pmc")

# NCBI's limits: requests per second without and with a key.
RATE, RATE_WITH_KEY = 3, 10
TRIES = 5
TIMEOUT = 60
FETCHED_AT_ONCE = 200

_ONLY = {"pubmed": "hasabstract", "pmc": "open access[filter]"}
_NO_LETTER = re.compile(r"[^\w\s.,'/+-]+")
Answer = TypeVar("Answer")


class EutilsSearch:
    """Searches PubMed (title and abstract) or the open access part of PubMed Central (full text).

    The key comes from the environment variable NCBI_API_KEY. It is sent with requests, but never written to a file.
    Without a folder for them, no answers are cached.

    Attributes:
        counts: The counts `requests` (sent), `answers_kept` (read from the cache) and `tries_again`.
    """

    def __init__(
        self,
        database: str,
        url: str = URL,
        cache: Path | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._database = database
        self._url = url.rstrip("/")
        self._cache = cache
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        self._clock = clock
        self._sleep = sleep
        self._next = clock()

    def find(self, name: str, limit: int) -> list[Hit]:
        # in lower case and without brackets, because "AND" is an operator and "[…]" the name of a field
        words = " ".join(_NO_LETTER.sub(" ", name).lower().split())
        if not words:
            return []
        term = f"({words}) AND {_ONLY[self._database]}"
        values = {"term": term, "retmax": str(limit), "retmode": "json", "sort": "relevance"}
        return [Hit(key) for key in self._ask("esearch", values, _read_keys)]

    def fetch(self, keys: Sequence[str]) -> dict[str, Document]:
        documents: dict[str, Document] = {}
        for start in range(0, len(keys), FETCHED_AT_ONCE):
            values = {"id": ",".join(keys[start : start + FETCHED_AT_ONCE]), "retmode": "xml"}
            documents.update(self._ask("efetch", values, self._read_documents))
        return {key: documents[key] for key in keys if key in documents}

    def _read_documents(self, answer: bytes) -> dict[str, Document]:
        """Return the documents with more than a title, by their numbers without "PMC"."""
        source = DocumentSource(Path("answer"), opened=OpenedFile(BytesIO(answer), None, lambda: 0))
        read = read_pubmed(source) if self._database == "pubmed" else read_jats(source)
        return {
            document.doc_id.removeprefix("PMC"): document._replace(position=self._database)
            for document in read
            if document.text != document.title
        }

    def _ask(self, tool: str, values: Mapping[str, str], read: Callable[[bytes], Answer]) -> Answer:
        """Return what `read` makes of the answer to a request.

        An answer that it cannot read is requested again, and never cached.
        """
        question = urlencode(sorted({"db": self._database, **values}.items()))
        name = hashlib.sha256(f"{self._url} {tool} {question}".encode()).hexdigest()
        cached = self._cache / name[:2] / f"{tool}-{name[:32]}" if self._cache else None
        if cached and cached.is_file():
            try:
                result = read(cached.read_bytes())
            except ValueError:
                pass
            else:
                self.counts["answers_kept"] += 1
                return result
        answer, result = self._try(tool, question, read)
        if cached:
            with replacing(cached, parents=True) as temporary:
                temporary.write_bytes(answer)
        return result

    def _try(self, tool: str, question: str, read: Callable[[bytes], Answer]) -> tuple[bytes, Answer]:
        reason: object = ""
        for number in range(TRIES):
            if number:
                self.counts["tries_again"] += 1
                self._sleep(2.0**number)
            self._wait()
            self.counts["requests"] += 1
            try:
                answer = self._send(tool, question)
                return answer, read(answer)
            except HTTPError as error:
                reason = f"HTTP status {error.code}"
                error.close()
                if error.code != 429 and error.code < 500:
                    break
            except (URLError, OSError) as error:
                reason = getattr(error, "reason", error)
            except ValueError as error:
                reason = error
        raise SapbertError(Errors.E605.format(url=self._url, reason=reason, variable=KEY_VARIABLE))

    def _send(self, tool: str, question: str) -> bytes:
        secret = f"&{urlencode({'api_key': self._key})}" if self._key else ""
        body = f"{question}&tool=spacy-sapbert{secret}".encode()
        # POST: the ids of many documents are too long for a URL, and logs must not show the key
        with urlopen(Request(f"{self._url}/{tool}.fcgi", body), timeout=TIMEOUT) as response:
            answer: bytes = response.read()
        return answer

    def _wait(self) -> None:
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + 1 / (RATE_WITH_KEY if self._key else RATE)


def _read_keys(answer: bytes) -> list[str]:
    try:
        content = parse_json(answer)
        result = content.get("esearchresult", {})
        if fault := content.get("error") or result.get("ERROR"):
            raise ValueError(fault)
        keys: list[str] = result["idlist"]
        if not all(key.isascii() and key.isalnum() for key in keys):
            raise ValueError("a key has other signs than letters and digits")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the answer is not the result of a search ({error})") from error
    return keys
