"""Measure what approximate matches of `concept_matcher` find in documents, beside exact ones and QuickUMLS's method.

The matcher stands alone: no short forms, no NER, no linker. A span is right if its characters are those of a gold
mention. `spans` counts places. `spans_ids` counts places with an id. The id of a match is that of the concept with the
best tie rank among those that have the name. A composite mention of the matcher has no id. A gold composite has an
entry for each id.

`added` are the spans that a bound adds to the exact ones, and how many of these are right. `se` is the standard error
of F1 over documents, from 1000 resamples. `documents_per_second` is the processor time of the matcher on tokenized
documents, in one round.

QuickUMLS's method is reimplemented on `quickumls-simstring`, with its defaults: 3-grams, Jaccard of at least 0.7, spans
of at most 5 tokens and at least 3 characters, no stop word at the ends. Of overlapping spans, the most similar one
counts, then the longest. Its own sentence splitter and its part-of-speech rules are left out.

    python benchmarks/approximate_names.py --diseases KB --chemicals KB [--data FOLDER] [--part train|dev]
        [--bounds N …] [--corpora NAME …] [--errors N]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import spacy
from spacy.lang.en.stop_words import STOP_WORDS
from spacy.language import Language
from spacy.tokens import Doc

from spacy_sapbert.documents.document_gold import primary_id
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.metrics.counts import SetCounts, micro
from spacy_sapbert.types import Document

DATA = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")
DEVELOPMENT = "splits/development.txt"
RESAMPLES = 1000
JACCARD, LONGEST, SHORTEST = 0.7, 5, 3  # QuickUMLS: similarity, tokens, characters


class Corpus(NamedTuple):
    """files: by part; one file for both parts is split by `DEVELOPMENT`. type: of its mentions, in lower case."""

    files: dict[str, str]
    kind: str
    type: str


BIORED = dict.fromkeys(("train", "dev"), "corpora/biored/BioRED_TrainDev.PubTator.gz")
BC5CDR = {
    "train": "corpora/bc5cdr/CDR_TrainingSet.PubTator.txt.gz",
    "dev": "corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz",
}
NCBI = {
    "train": "corpora/ncbi_disease/NCBItrainset_corpus.txt.gz",
    "dev": "corpora/ncbi_disease/NCBIdevelopset_corpus.txt",
}
CORPORA = {
    "ncbi_disease": Corpus(NCBI, "diseases", ""),
    "bc5cdr_disease": Corpus(BC5CDR, "diseases", "disease"),
    "bc5cdr_chemical": Corpus(BC5CDR, "chemicals", "chemical"),
    "biored_disease": Corpus(BIORED, "diseases", "disease"),
    "biored_chemical": Corpus(BIORED, "chemicals", "chemical"),
}

Place = tuple[int, int]
Found = dict[Place, str | None]
"""Places with the name that was found; None for a composite."""
Annotate = Callable[[Doc], Found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--diseases", type=Path, required=True, help="Knowledge base of diseases.")
    parser.add_argument("--chemicals", type=Path, required=True, help="Knowledge base of chemicals.")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--part", choices=("train", "dev"), default="dev")
    parser.add_argument("--bounds", type=float, nargs="+", default=[0.5, 0.6, 0.7, 0.8])
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--errors", type=int, default=0, help="Number of added wrong spans to list.")
    arguments = parser.parse_args()
    result = {name: measure(CORPORA[name], arguments) for name in arguments.corpora}
    print(json.dumps(result, indent=2, ensure_ascii=False))


def measure(corpus: Corpus, arguments: argparse.Namespace) -> dict[str, Any]:
    path = getattr(arguments, corpus.kind)
    kb = KnowledgeBase(path)
    documents = list(read_documents(corpus, arguments))
    gold = [gold_of(document, corpus.type, kb) for document in documents]
    assert any(gold), f"no mention with the label {corpus.type}"
    nlp = spacy.blank("en")
    id_of = Ids(kb)
    result: dict[str, Any] = {"documents": len(documents)}
    with TemporaryDirectory() as folder:
        methods: dict[str, Annotate | None] = {"exact": matcher(nlp, path, None)}
        methods |= {f"approximate {bound}": matcher(nlp, path, bound) for bound in arguments.bounds}
        methods["QuickUMLS's method"] = quickumls(kb, Path(folder))
        exact: list[Found] = []
        for name, annotate in methods.items():
            if annotate is None:
                result[name] = "not installed"
                continue
            found, speed = run(annotate, nlp, documents)
            exact = exact or found
            result[name] = scores(gold, found, id_of) | {"documents_per_second": speed}
            added = [
                (of - before.keys(), right) for of, before, right in zip(map(set, found), exact, gold, strict=True)
            ]
            places = [len(some) for some, _ in added]
            hits = [len(some & {place for place, _ in right}) for some, right in added]
            result[name]["added"] = {"spans": sum(places), "right": sum(hits)}
            if arguments.errors and name != "exact":
                result[name]["wrong"] = wrong(documents, added, found, arguments.errors)
    return result


def read_documents(corpus: Corpus, arguments: argparse.Namespace) -> Iterator[Document]:
    held_out = set((arguments.data / DEVELOPMENT).read_text().split())
    for document in read_corpus(arguments.data / corpus.files[arguments.part], "pubtator"):
        if (document.doc_id in held_out) == (arguments.part == "dev"):
            yield document


def gold_of(document: Document, type: str, kb: KnowledgeBase) -> set[tuple[Place, str]]:
    return {
        ((mention.start, mention.end), primary_id(concept_id, kb))
        for mention in document.mentions
        if not type or mention.label.lower() == type
        for concept_id in mention.ids or ("-",)
    }


class Ids:
    """The id of the concept that a name stands for."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._ids = list(kb.concept_ids())
        self._rows: dict[str, int] = {name: row for row, name in enumerate(kb.names())}
        self._map = kb.name_concepts

    def __call__(self, name: str) -> str:
        _, entries = self._map.of(np.array([self._rows[name]]))
        best = entries[np.argmin(self._map.ranks[entries])]
        return str(self._ids[self._map.concepts[best]])


def matcher(nlp: Language, path: Path, bound: float | None) -> Annotate:
    from spacy_sapbert import ConceptMatcher

    component = ConceptMatcher(nlp.vocab, kb=str(path), approximate=bound)

    def annotate(doc: Doc) -> Found:
        return {(ent.start_char, ent.end_char): ent._.matched_name for ent in component(doc).ents}

    return annotate


def run(annotate: Annotate, nlp: Language, documents: Iterable[Document]) -> tuple[list[Found], float]:
    texts = [document.text for document in documents]
    annotate(nlp.make_doc(texts[0]))  # opens the files
    docs = [nlp.make_doc(text) for text in texts]
    start = time.process_time()
    found = [annotate(doc) for doc in docs]
    return found, round(len(docs) / (time.process_time() - start), 1)


# --- QuickUMLS's method


def quickumls(kb: KnowledgeBase, folder: Path) -> Annotate | None:
    try:
        simstring = importlib.import_module("quickumls_simstring.simstring")
    except ImportError:
        return None
    forms: dict[str, str] = {}
    for name in kb.names():
        forms.setdefault(normalized(name), name)
    writer = simstring.writer(str(folder / "names.simstring"), 3, False, True)
    for form in forms:
        writer.insert(form)
    writer.close()
    reader = simstring.reader(str(folder / "names.simstring"))
    reader.measure, reader.threshold = simstring.jaccard, JACCARD

    def nearest(text: str) -> tuple[float, str]:
        grams = trigrams(text)
        near = ((jaccard(grams, trigrams(name)), name) for name in reader.retrieve(text))
        return max(near, default=(0.0, ""))

    def annotate(doc: Doc) -> Found:
        scored = []
        for start, end in spans(doc):
            span = doc[start:end]
            score, name = nearest(normalized(span.text))
            if score >= JACCARD:
                scored.append((-score, start - end, start, end, name))
        taken: set[int] = set()
        found: Found = {}
        for _, _, start, end, name in sorted(scored):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                found[doc[start].idx, doc[end - 1].idx + len(doc[end - 1])] = forms[name]
        return found

    return annotate


def spans(doc: Doc) -> Iterator[tuple[int, int]]:
    outer = [token.lower_ not in STOP_WORDS and any(map(str.isalnum, token.text)) for token in doc]
    for start in range(len(doc)):
        for end in range(start + 1, min(start + LONGEST, len(doc)) + 1):
            if doc[end - 1].text in ".;:?!":
                break
            if outer[start] and outer[end - 1] and len(doc[start:end].text) >= SHORTEST:
                yield start, end


def normalized(text: str) -> str:
    return unicodedata.normalize("NFKD", text.lower())


def trigrams(text: str) -> set[str]:
    n = min(len(text), 3)
    return {text[i : i + n] for i in range(len(text) - n + 1)}


def jaccard(one: set[str], other: set[str]) -> float:
    common = len(one & other)
    return common / (len(one) + len(other) - common)


# --- measures


def scores(gold: list[set[tuple[Place, str]]], found: list[Found], id_of: Ids) -> dict[str, Any]:
    with_ids = [{(place, id_of(name) if name else "") for place, name in of_document.items()} for of_document in found]
    places = [{place for place, _ in of_document} for of_document in gold]
    return {"spans": counted(places, [set(some) for some in found]), "spans_ids": counted(gold, with_ids)}


def counted(gold: list[Any], found: list[Any]) -> dict[str, float | None]:
    pairs = zip(gold, found, strict=True)
    counts = [SetCounts(len(right & named), len(named), len(right)) for right, named in pairs]
    return micro(counts) | {"se": standard_error(np.array(counts))}


def standard_error(counts: np.ndarray) -> float:
    draws = np.random.default_rng(0).integers(0, len(counts), (RESAMPLES, len(counts)))
    sums = counts[draws].sum(axis=1)
    f1 = 2 * sums[:, 0] / np.maximum(sums[:, 1] + sums[:, 2], 1)
    return round(float(100 * f1.std()), 2)


def wrong(documents: list[Document], added: list[tuple[set[Place], Any]], found: list[Found], n: int) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for document, (some, right), names in zip(documents, added, found, strict=True):
        gold = {place for place, _ in right}
        counts.update(f"{document.text[slice(*place)]} = {names[place]}" for place in some - gold)
    return dict(counts.most_common(n))


if __name__ == "__main__":
    main()
