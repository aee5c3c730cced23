"""Compare search by concepts with search by words: find the abstract of each question of PubMedQA.

The collection is the abstracts of six corpora, each once. A question is the title of its abstract, so the title is
not searched. `spacy.load("spacy_sapbert")` links questions and abstracts. There are three kinds of queries:

- questions: as they are.
- mentions: only the linked mentions of a question.
- renamed: a question in which diseases and chemicals are replaced by another name that has none of their words, drawn
  from the vocabulary. The question is linked again.

All searches rank by BM25 (SQLite's FTS5):

- words: the words of the query, stemmed, without stop words.
- phrases: the linked mentions, as phrases.
- synonyms: the names of the linked concepts, as phrases. Of the names of a concept, the one with the best score counts.
- concepts: the ids of the linked concepts.
- parents: the same, and an abstract has the parents of its concepts, too.

A sum adds the second score with a weight that is chosen on the other half of the queries. An abstract without a score
is not found. Abstracts with the same score share the mean of their ranks.

    OMP_NUM_THREADS=1 python benchmarks/concept_search.py [--data FOLDER] [--without-end] FOLDER

FOLDER keeps the links of the abstracts. An interrupted run goes on.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.dataset
import spacy
from common import new_parser
from spacy.lang.en.stop_words import STOP_WORDS
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_sapbert.kb.knowledge_base import KnowledgeBase

SOURCES = ("pubmedqa", "cei", "drugprot", "hoc", "medical_abstracts", "pgr")
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
END = 0.25
"""The share of an abstract of PubMedQA that --without-end leaves out. A conclusion is 15 % of it on average."""
WORD = re.compile(r"[^\W_]+")
RENAMED = ("Disease", "Chemical")


class Link(NamedTuple):
    start: int
    text: str
    concept_id: str


class Query(NamedTuple):
    """A query, and the row of its relevant document."""

    row: int
    text: str
    links: list[Link]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path, help="Folder of the abstracts and their links.")
    parser.add_argument("--without-end", action="store_true", help="Leave out the last quarter of PubMedQA's texts.")
    given = parser.parse_args()
    write_documents(given.data, given.folder / "documents")
    command = ("spacy_sapbert", "link", "spacy_sapbert", "documents", "--engine", "local", "--output", "links")
    subprocess.run([sys.executable, "-m", *command], check=True, stdout=2, cwd=given.folder)
    documents = dict(read_documents(given.folder / "documents"))
    links = read_links(given.folder / "links")
    questions = {f"pubmedqa-{record['id']}": record["title"] for record in read_source(given.data, "pubmedqa")}
    if given.without_end:
        for doc_id in questions:
            documents[doc_id] = documents[doc_id][: int(len(documents[doc_id]) * (1 - END))]
            links[doc_id] = [link for link in links[doc_id] if link.start < len(documents[doc_id])]
    nlp = spacy.load("spacy_sapbert")
    kb = nlp.get_pipe("sapbert_linker").kb
    rows = {doc_id: row for row, doc_id in enumerate(documents)}
    collection = Collection(documents.values(), [links[doc_id] for doc_id in documents], kb)
    counts = {
        "documents": len(documents),
        "documents_without_concepts": sum(not links[doc_id] for doc_id in documents),
        "links": sum(len(links[doc_id]) for doc_id in documents),
    }
    kinds = queries_of(questions, rows, nlp, kb)
    print(json.dumps(counts | {kind: compare(queries, collection) for kind, queries in kinds.items()}, indent=2))


# --- the collection and its links


def read_source(data: Path, source: str) -> list[dict[str, str]]:
    with gzip.open(data / "documents" / source / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_documents(data: Path, folder: Path) -> None:
    """Write the abstracts of each corpus. Of equal texts and of records with the same PMID, the first stays."""
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    for source in SOURCES:
        lines = []
        for record in read_source(data, source):
            title = "" if source == "pubmedqa" else record.get("title", "")
            text = f"{title} {record['text']}".strip()
            keys = {text, record.get("pmid", text)}
            if seen.isdisjoint(keys):
                lines.append(json.dumps({"id": f"{source}-{record['id']}", "text": text}) + "\n")
            seen |= keys
        (folder / f"{source}.jsonl").write_text("".join(lines), encoding="utf-8")


def read_documents(folder: Path) -> Iterable[tuple[str, str]]:
    for source in SOURCES:
        for line in (folder / f"{source}.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            yield record["id"], record["text"]


def read_links(folder: Path) -> dict[str, list[Link]]:
    links: dict[str, list[Link]] = defaultdict(list)
    table = pyarrow.dataset.dataset(folder, format="parquet").to_table(["doc_id", "start", "linked_text", "concept_id"])
    for doc_id, start, text, concept_id in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if start is not None and concept_id != "NIL":
            links[doc_id].append(Link(start, text, concept_id))
    return links


# --- queries


def queries_of(
    questions: Mapping[str, str], rows: Mapping[str, int], nlp: Language, kb: KnowledgeBase
) -> dict[str, list[Query]]:
    docs = dict(zip(questions, nlp.pipe(questions.values()), strict=True))
    links = {doc_id: links_of(doc) for doc_id, doc in docs.items()}
    renamed = {doc_id: rename(doc, kb) for doc_id, doc in docs.items()}
    renamed = {doc_id: text for doc_id, text in renamed.items() if text != questions[doc_id]}
    relinked = zip(renamed.items(), nlp.pipe(renamed.values()), strict=True)
    return {
        "questions": [Query(rows[doc_id], text, links[doc_id]) for doc_id, text in questions.items()],
        "mentions": [
            Query(rows[doc_id], " ".join(link.text for link in some), some) for doc_id, some in links.items() if some
        ],
        "renamed": [Query(rows[doc_id], text, links_of(doc)) for (doc_id, text), doc in relinked],
    }


def links_of(doc: Doc) -> list[Link]:
    found = ((ent.start_char, link) for ent in doc.ents for link in ent._.links)
    return [Link(start, link.text, link.concept_id) for start, link in found if link.concept_id]


def rename(doc: Doc, kb: KnowledgeBase) -> str:
    """Replace linked mentions by another name of the concept."""
    text = doc.text
    for ent in reversed(doc.ents):
        names = other_names(ent, kb)
        if names:
            text = text[: ent.start_char] + random.Random(text).choice(names) + text[ent.end_char :]
    return text


def other_names(ent: Span, kb: KnowledgeBase) -> list[str]:
    """Return the names of the linked concept that have no word of the mention and no signs but hyphens.

    Genes and species have none: their other names are mostly symbols, or words such as "child" for a human.
    """
    links = [link for link in ent._.links if link.concept_id and link.text == ent.text]
    if ent.label_ not in RENAMED or not links:
        return []
    names = [name.text for name in kb.names_of(links[0].concept_id) if re.fullmatch(r"[\w -]{5,}", name.text)]
    return [name for name in names if words_of(name).isdisjoint(words_of(ent.text))]


def words_of(text: str) -> set[str]:
    """Return the words of a text, without the endings of plurals."""
    return {word.rstrip("s") for word in WORD.findall(text.lower())}


# --- search


class Index:
    """BM25 of texts. A term of a query is a phrase; its words are stemmed."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._connection = sqlite3.connect(":memory:")
        schema = "CREATE VIRTUAL TABLE texts USING fts5 (text, content = '', tokenize = 'porter unicode61')"
        self._connection.execute(schema)
        self._connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
        ((self.size,),) = self._connection.execute("SELECT count(*) FROM texts")

    def scores(self, terms: Iterable[str]) -> np.ndarray:
        """Return the score of each text, 0 for one without any of the terms. float64, shape (texts,)."""
        phrases = (" ".join(WORD.findall(term)) for term in terms)
        query = " OR ".join(f'"{phrase}"' for phrase in dict.fromkeys(phrases) if phrase)
        scores = np.zeros(self.size)
        if query:
            sql = "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?"
            for row, score in self._connection.execute(sql, (query,)):
                scores[row] = score
        return scores


class Collection:
    """The indexes of all documents.

    Attributes:
        words: The index of the texts.
        concepts: The concepts of each document.
    """

    def __init__(self, texts: Iterable[str], links: Sequence[Sequence[Link]], kb: KnowledgeBase) -> None:
        ids = [[link.concept_id for link in some] for some in links]
        parents = {concept_id: kb.get(concept_id).parents for some in ids for concept_id in set(some)}
        with_parents = ([*some, *(parent for one in some for parent in parents[one])] for some in ids)
        self._kb = kb
        self.concepts = [set(some) for some in ids]
        self.words = Index(texts)
        self._concepts = Index(" ".join(map(key, some)) for some in ids)
        self._parents = Index(" ".join(map(key, some)) for some in with_parents)

    def scores(self, query: Query) -> dict[str, np.ndarray]:
        """Return the scores of each search, each of shape (documents,)."""
        ids = list(dict.fromkeys(link.concept_id for link in query.links))
        words = [word for word in WORD.findall(query.text.lower()) if word not in STOP_WORDS]
        return {
            "words": self.words.scores(words),
            "phrases": self.words.scores(link.text for link in query.links),
            "synonyms": sum(map(self._scores_of_names, ids), np.zeros(self.words.size)),
            "concepts": self._concepts.scores(map(key, ids)),
            "parents": self._parents.scores(map(key, ids)),
        }

    def _scores_of_names(self, concept_id: str) -> np.ndarray:
        names = {name.text.lower() for name in self._kb.names_of(concept_id)}
        return np.max([self.words.scores([name]) for name in names], axis=0)


def key(concept_id: str) -> str:
    """Return the id as one word."""
    return "".join(WORD.findall(concept_id))


# --- ranks and measures


def compare(queries: Sequence[Query], collection: Collection) -> dict[str, object]:
    """Measure all searches with all queries, and with those where concepts may help."""
    ranks: dict[str, list[list[float]]] = defaultdict(list)
    subsets: dict[str, list[bool]] = defaultdict(list)
    for query in queries:
        scores = collection.scores(query)
        words = scores["words"]
        for name, some in scores.items():
            ranks[name].append([rank(some, query.row)])
            if some is not words:
                ranks[f"words + {name}"].append([rank(words + weight * some, query.row) for weight in WEIGHTS])
        shared = [link for link in query.links if link.concept_id in collection.concepts[query.row]]
        other = [link for link in shared if not collection.words.scores([link.text])[query.row]]
        for name, flag in (("all", True), ("linked", query.links), ("shared", shared), ("other name", other)):
            subsets[name].append(bool(flag))
    chosen = {name: choose(np.array(table)) for name, table in ranks.items()}
    return {"weights": {name: weights for name, (_, weights) in chosen.items() if weights}} | {
        subset: measure({search: found[np.array(flags)] for search, (found, _) in chosen.items()})
        for subset, flags in subsets.items()
    }


def rank(scores: np.ndarray, row: int) -> float:
    """Return the rank of a document, the mean of those with the same score; infinity if its score is 0."""
    if not scores[row]:
        return np.inf
    return float((scores > scores[row]).sum() + (1 + (scores == scores[row]).sum()) / 2)


def choose(ranks: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Choose the weight with the best MRR on one half of the queries for the other half, and the other way round.

    Args:
        ranks: The rank of each query with each weight, shape (queries, weights).

    Returns:
        The ranks with the weights of the other half, shape (queries,), and the two weights, if there is a choice.
    """
    chosen = np.empty(len(ranks))
    halves = np.arange(len(ranks)) % 2
    best = [int((1 / ranks[halves != half]).mean(axis=0).argmax()) for half in (0, 1)]
    for half in (0, 1):
        chosen[halves == half] = ranks[halves == half, best[half]]
    return chosen, [WEIGHTS[column] for column in best] if ranks.shape[1] > 1 else []


def measure(ranks: Mapping[str, np.ndarray]) -> dict[str, object]:
    """Return the measures of each search in per cent, with standard errors, and its gain over words in MRR."""
    words = ranks["words"]
    found: dict[str, object] = {"queries": len(words)}
    for name, values in ranks.items():
        recall = {f"r@{k}": with_error(100.0 * (values <= k)) for k in (1, 10, 100)}
        changed = {"better": int((values < words).sum()), "worse": int((values > words).sum())}
        gain = with_error(100 / values - 100 / words)
        found[name] = {"mrr": with_error(100 / values), **recall, "gain": gain, **changed}
    return found


def with_error(values: np.ndarray) -> list[float]:
    return [round(float(values.mean()), 1), round(float(values.std(ddof=1) / len(values) ** 0.5), 1)]


if __name__ == "__main__":
    main()
