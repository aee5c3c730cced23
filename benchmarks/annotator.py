"""Measure how well the names of the vocabulary alone annotate documents: `concept_matcher` and plain longest match.

Our pipeline has `abbreviation_resolver`, `concept_matcher`, `composite_splitter` and `sapbert_linker`. The linker has
no encoder, and its threshold accepts only equal names.

Plain longest match reads the text from left to right. It takes the longest run of tokens that is a name in lower case.
The concept is the one that prefers the name, or else the one with the lowest id. It has no stop names and no
abbreviations.

Only concepts in the label set of the task count. `concepts` compares the sets of concepts of each document. `spans`
compares mentions with their exact characters and their concept. Precision, recall and F1 are over all documents
together. NCBI Disease is annotated with MEDIC, and BC5CDR with MEDIC and the chemicals of MeSH. `documents_per_second`
is the speed of the matcher alone on tokenized documents, in processor time.

    python benchmarks/annotator.py [--data FOLDER] [--part train|dev] [--kb FOLDER]
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import spacy
from common import new_parser
from linking import CHEMICALS, DISEASES, MEDIC, Corpus
from spacy.language import Language

from spacy_sapbert.documents.docs import primary_id
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.ids import read_labels, split_ids
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.metrics.counts import SetCounts, micro
from spacy_sapbert.types import NIL, Document

_DISEASES, _CHEMICALS = (MEDIC, "MEDIC", "Disease"), (CHEMICALS, "MeSH", "Chemical")
MATCHER = "concept_matcher"
# higher than the score of any name that is not equal
EQUAL = 0.99

_TOKEN = re.compile(r"\w+|[^\w\s]")


class Task(NamedTuple):
    """A corpus, the file of its labels, and its vocabularies, each with its source and type."""

    corpus: Corpus
    labels: str
    vocabularies: tuple[tuple[str, str, str], ...]


TASKS = {
    "ncbi": Task(DISEASES["ncbi"], "labels/ncbi_disease.txt", (_DISEASES,)),
    "bc5cdr": Task(DISEASES["bc5cdr"], "labels/bc5cdr.txt", (_DISEASES, _CHEMICALS)),
}


class Annotation(NamedTuple):
    start: int
    end: int
    concept_id: str


Annotate = Callable[[Document], set[Annotation]]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--part", choices=("train", "dev"), default="dev")
    parser.add_argument("--kb", type=Path, help="Folder that keeps the knowledge bases for the next run.")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        kept = arguments.kb or Path(folder)
        result = {name: measure(task, kept / f"{name}.kb", arguments) for name, task in TASKS.items()}
    print(json.dumps(result, indent=2, ensure_ascii=False))


def measure(task: Task, path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    kb = open_or_build(task, path, arguments.data)
    primary = lru_cache(maxsize=None)(lambda concept_id: primary_id(concept_id, kb))
    labels = {primary(label) for label in read_labels(arguments.data / task.labels)}
    documents = list(read_corpus(arguments.data / getattr(task.corpus, arguments.part), "pubtator"))
    gold = [gold_of(document, primary) for document in documents]
    nlp = make_pipeline(path)
    annotators: dict[str, Annotate] = {"ours": ours(nlp), "plain longest match": LongestMatch(kb)}
    result: dict[str, Any] = {"documents": len(documents)}
    for name, annotate in annotators.items():
        found = [{one for one in annotate(document) if one.concept_id in labels} for document in documents]
        result[name] = scores(gold, found)
    result["documents_per_second"] = speed(nlp, documents)
    return result


def open_or_build(task: Task, path: Path, data: Path) -> KnowledgeBase:
    if path.exists():
        return KnowledgeBase(path)
    records = (
        record._replace(types=(type,))
        for vocabulary, source, type in task.vocabularies
        for record in read_vocabulary(data / vocabulary, "medic", report=ReadReport(), source=source)
    )
    return build_knowledge_base(records, path)


def gold_of(document: Document, primary: Callable[[str], str]) -> set[Annotation]:
    return {
        Annotation(mention.start, mention.end, primary(concept_id))
        for mention in document.mentions
        for concept_id in mention.ids
    }


# --- ours


def make_pipeline(path: Path) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe(MATCHER, config={"kb": str(path)})
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(path), "encoder": "none", "threshold": EQUAL})
    return nlp


def ours(nlp: Language) -> Annotate:
    def annotate(document: Document) -> set[Annotation]:
        return {
            Annotation(mention.start_char, mention.end_char, concept_id)
            for mention in nlp(document.text).ents
            for concept_id in split_ids(mention.kb_id_)
            if concept_id != NIL
        }

    return annotate


def speed(nlp: Language, documents: Iterable[Document], rounds: int = 3) -> float:
    matcher = nlp.get_pipe(MATCHER)
    best = 0.0
    for _ in range(rounds):
        docs = [nlp.make_doc(document.text) for document in documents]
        start = time.process_time()
        for doc in docs:
            matcher(doc)
        best = max(best, len(docs) / (time.process_time() - start))
    return round(best, 1)


# --- plain longest match


class LongestMatch:
    def __init__(self, kb: KnowledgeBase) -> None:
        self._ids = list(kb.concept_ids())
        self._owners: dict[tuple[str, ...], tuple[bool, str]] = {}
        self._longest: dict[str, int] = defaultdict(int)
        names, name_concepts = list(kb.names()), kb.name_concepts
        matching_entries = zip(
            name_concepts.names.tolist(), name_concepts.concepts.tolist(), name_concepts.preferred.tolist(), strict=True
        )
        for name, concept, preferred in matching_entries:
            tokens = tuple(_TOKEN.findall(names[name].lower()))
            owner = not preferred, self._ids[concept]
            if tokens:
                self._owners[tokens] = min(owner, self._owners.get(tokens, owner))
                self._longest[tokens[0]] = max(self._longest[tokens[0]], len(tokens))

    def __call__(self, document: Document) -> set[Annotation]:
        return set(self._find(document.text))

    def _find(self, text: str) -> Iterator[Annotation]:
        found = list(_TOKEN.finditer(text))
        tokens = [match[0].lower() for match in found]
        start = 0
        while start < len(tokens):
            longest = min(self._longest.get(tokens[start], 0), len(tokens) - start)
            ends = (start + length for length in range(longest, 0, -1))
            end = next((end for end in ends if tuple(tokens[start:end]) in self._owners), None)
            if end is not None:
                _, concept_id = self._owners[tuple(tokens[start:end])]
                yield Annotation(found[start].start(), found[end - 1].end(), concept_id)
            start = end or start + 1


# --- measures


def scores(gold: list[set[Annotation]], found: list[set[Annotation]]) -> dict[str, Any]:
    concepts = [[{one.concept_id for one in some} for some in sets] for sets in (gold, found)]
    return {"concepts": counted(*concepts), "spans": counted(gold, found)}


def counted(gold: list[set[Any]], found: list[set[Any]]) -> dict[str, float | None]:
    pairs = zip(gold, found, strict=True)
    return micro([SetCounts(len(right & named), len(named), len(right)) for right, named in pairs])


if __name__ == "__main__":
    main()
