"""Measure what words of a text, learned without annotations, give for names and short forms with several senses.

Three parts print a line for each corpus:

- "short forms": with and without `text/short_forms/en_contexts.txt`. A document defines a short form, and all
  definitions and long forms are removed. Or a long form in clinical notes is replaced by its short form. The words were
  learned from other documents.
- "homonyms": gold mentions with several concepts of the same name, one of which is right. The contexts of a concept are
  the documents that have another name, which no other concept has. Naive Bayes compares the words of a document,
  without the document itself. "sure" keeps the choice of the linker unless the words are surer by a margin, which was
  fitted on the other documents.
- "types": ties in the package's vocabulary, which has several kinds of concepts, with the rules in the present order,
  and with the type before all others.

Standard errors are over documents.

    python benchmarks/context_words.py [--data FOLDER] [--part NAME ...]
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock
from zlib import crc32

import numpy as np
from common import new_parser, open_linker
from difference import GENES, build_vocabulary
from linking import CHEMICALS, DISEASES, MEDIC

from spacy_sapbert.documents.pubtator import read_med1250
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.linking import ties
from spacy_sapbert.linking.agreement import SAME
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.metrics.linking_accuracy import gold_concepts
from spacy_sapbert.text import short_forms
from spacy_sapbert.text.abbreviations import find_definitions
from spacy_sapbert.training.ranker_trainer import mention_queries
from spacy_sapbert.types import Candidate, Document, Name, Record

BC5CDR, NCBI = DISEASES["bc5cdr"], DISEASES["ncbi"]
FILES = {
    "NCBI Disease": (NCBI.train, NCBI.dev),
    "BC5CDR": (BC5CDR.train, BC5CDR.dev),
    "BioRED": ("corpora/biored/BioRED_TrainDev.PubTator.gz",),
    "NLM-Gene": ("corpora/nlm_gene/NLMgene_Train.PubTator.gz",),
    "GNormPlus": ("corpora/gnormplus/GNormPlus_Train.PubTator.gz",),
    "tmVar 3": ("corpora/tmvar3/tmVar3_Train.PubTator.gz",),
}
HOMONYMS = {
    "Gene": (GENES, ("NLM-Gene", "GNormPlus", "BioRED", "tmVar 3")),
    "Chemical": (CHEMICALS, ("BC5CDR", "BioRED")),
    "Disease": (MEDIC, ("NCBI Disease", "BC5CDR", "BioRED", "tmVar 3")),
}
PREFIXES = {"Gene": "NCBIGene:", "Species": "NCBITaxon:"}
KINDS = frozenset({"Gene", "Disease", "Chemical", "Species", "CellLine"})
MED1250 = "corpora/med1250/MED1250_labeled_dev.txt"
HPO_NOTES = "corpora/hpo_notes/id68_development.pubtator"
ACI_NOTES = "documents/aci_notes/aci_notes.jsonl"
SMOOTHING, FEWEST, FOLDS = 3.0, 3, 5
MARGINS = (0.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, math.inf)


def read(data: Path, corpus: str, types: Iterable[str]) -> Iterator[Document]:
    for file in FILES[corpus]:
        for document in read_corpus(data / file, "pubtator"):
            mentions = document.mentions
            if corpus == "NCBI Disease":  # its labels are kinds of mentions
                mentions = tuple(mention._replace(label="Disease") for mention in mentions)
            yield document._replace(mentions=tuple(m for m in mentions if m.ids and m.label in types))


def left_out(data: Path) -> set[str]:
    return set((data / "splits/development.txt").read_text(encoding="utf-8").split())


def outcome(before: Sequence[int], after: Sequence[int], documents: Sequence[str]) -> dict[str, Any]:
    """Compare the values of choices: 1 is right, 0 none, and −1 wrong, or 0 where a choice is always made."""
    gains: Counter[str] = Counter()
    for old, new, id in zip(before, after, documents, strict=True):
        gains[id] += new - old
    error = math.sqrt(sum(gain**2 for gain in gains.values()))
    return {"gain": sum(gains.values()), "se": round(error, 1)}


# --- short forms


class Hidden(NamedTuple):
    """A text in which a short form stands for the sense of this number, without a definition."""

    doc_id: str
    text: str
    form: str
    sense: int


def matcher_of(names: Iterable[str], folder: Path) -> NameMatcher:
    records = (Record(f"S:{n}", (Name(name, "preferred", "senses"),)) for n, name in enumerate(sorted(set(names))))
    return NameMatcher.build(build_knowledge_base(records, folder / "senses.kb"))


def replaced(text: str, places: Iterable[tuple[int, int]], by: str) -> str:
    pieces, end = [], 0
    for start, stop in sorted(places):
        if start >= end:
            pieces += [text[end:start], by]
            end = stop
    return re.sub("  +", " ", "".join(pieces) + text[end:])


def hidden(texts: Mapping[str, str], matcher: NameMatcher, *, notes: bool) -> Iterator[Hidden]:
    """Yield texts without definitions, or notes with a short form instead of a long form."""
    senses = {form: some for form, some in short_forms.short_forms().items() if len(some) > 1}
    forms = {some: form for form, some in reversed(senses.items()) if not form.islower()} if notes else {}
    for id, text in texts.items():
        found = [(*match[:2], matcher.kb.name(match.row)) for match in matcher.find(text)]
        found = [(start, end, name) for start, end, name in found if text[start:end] not in senses]
        if notes:
            for some, form in forms.items():
                for number, sense in enumerate(some):
                    places = [(start, end) for start, end, name in found if name in sense.names]
                    if places and not re.search(rf"\b{re.escape(form)}s?\b", text):
                        yield Hidden(id, replaced(text, places, form), form, number)
            continue
        for short, definition in {one.short: one for one in find_definitions(text)}.items():
            some = senses.get(short, ())
            written = [(m.start(), m.end()) for m in re.finditer(re.escape(definition.long), text, re.IGNORECASE)]
            names = {name for start, end, name in found if (start, end) in written}
            number = next((n for n, sense in enumerate(some) if not names.isdisjoint(sense.names)), None)
            if number is not None:
                all_names = {name for sense in some for name in sense.names}
                places = [*written, *((start, end) for start, end, name in found if name in all_names)]
                yield Hidden(id, replaced(text, places, ""), short, number)


def values(cases: Sequence[Hidden]) -> list[int]:
    """Return 1 for each right sense, −1 for a wrong one, and 0 for none."""
    found = []
    for case in cases:
        value = 0
        for short in short_forms.find_short_forms(case.text):
            if case.text[short.start : short.end].removesuffix("s") == case.form.removesuffix("s"):
                right = short_forms.short_forms()[case.form][case.sense].names
                value = (1 if short.names == right else -1) if short.is_clear else 0
                break
        found.append(value)
    return found


def texts_of(data: Path, learned: set[str]) -> Iterator[tuple[str, dict[str, str], bool]]:
    """Yield texts that the package learned nothing from: their name, the texts, and whether they are notes."""
    documents = {d.doc_id: d.text for corpus in FILES for d in read(data, corpus, ()) if d.doc_id not in learned}
    yield "development documents", documents, False
    yield "MED1250", {r.pmid: r.text for r in read_med1250(data / MED1250) if r.pmid not in learned}, False
    yield "notes, HPO", {d.doc_id: d.text for d in read_corpus(data / HPO_NOTES, "pubtator")}, True
    with (data / ACI_NOTES).open(encoding="utf-8") as lines:
        yield "visit notes", {str(record["id"]): record["text"] for record in map(json.loads, lines)}, True
    with (data / "corpora/context_sentences/development.tsv").open(encoding="utf-8") as lines:
        sentences = dict.fromkeys(line.split("\t")[0] for line in lines)
    yield "sentences of reports", {str(n): sentence for n, sentence in enumerate(sentences)}, True


def measure_short_forms(data: Path, folder: Path, learned: set[str]) -> Iterator[dict[str, Any]]:
    table = short_forms.short_forms().values()
    matcher = matcher_of((name for some in table if len(some) > 1 for sense in some for name in sense.names), folder)
    for name, texts, notes in texts_of(data, learned):
        cases = list(hidden(texts, matcher, notes=notes))
        with mock.patch.object(short_forms, "_learned", dict):
            before = values(cases)
        after, ids = values(cases), [case.doc_id for case in cases]
        counts = {f"{way} {what}": some.count(value) for way, some in (("table", before), ("words", after))
                  for what, value in (("right", 1), ("wrong", -1))}  # fmt: skip
        yield {"texts": name, "cases": len(cases), **counts, **outcome(before, after, ids)}


# --- homonyms


class Case(NamedTuple):
    """A mention with several concepts of the same name, in the order of the linker."""

    doc_id: str
    start: int
    end: int
    text: str
    candidates: Sequence[Candidate]
    right: Sequence[bool]

    @property
    def right_ids(self) -> list[str]:
        return [candidate.concept_id for candidate in compress(self.candidates, self.right)]


def cases_of(documents: Sequence[Document], linker: Linker) -> Iterator[Case]:
    kb = linker.kb
    for document, linked in zip(documents, linker.link(list(map(mention_queries, documents))), strict=True):
        for mention, parts in zip(document.mentions, linked, strict=True):
            gold = frozenset[str]().union(*gold_concepts(mention.ids, kb.find_id))
            for part in parts:
                same = [candidate for candidate in part.candidates if candidate.score >= SAME]
                right = [not gold.isdisjoint(kb.ids(candidate.concept_id)) for candidate in same]
                if len(same) > 1 and any(right):
                    yield Case(document.doc_id, mention.start, mention.end, part.text, same, right)


def names_of_one_concept(matcher: NameMatcher) -> dict[int, str]:
    """Return the rows of names that no other concept has, in any case, number or word order, and their concepts."""
    of_names = matcher.kb.name_concepts
    which, entries = of_names.of(matcher.rows)
    hashes, concepts = matcher.hashes[which], of_names.concepts[entries]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
    alone = np.minimum.reduceat(concepts, starts) == np.maximum.reduceat(concepts, starts)
    kept = np.repeat(alone, np.diff(np.append(starts, len(hashes))))
    return dict(
        zip(matcher.rows[which][kept].tolist(), matcher.kb.concept_ids_at(concepts[kept].tolist()), strict=True)
    )


class Contexts:
    """The words of the documents that have a name which one of some concepts has alone."""

    def __init__(self, texts: Mapping[str, str], learned: set[str], kb: KnowledgeBase, concepts: set[str]) -> None:
        matcher = NameMatcher.build(kb)
        alone = names_of_one_concept(matcher)
        self.texts, self.n = texts, len(learned)
        self.places: dict[str, dict[str, list[tuple[int, int]]]] = {}
        self.words: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
        for id, text in texts.items():
            own: dict[str, list[tuple[int, int]]] = defaultdict(list)
            for start, end, row in matcher.find(text):
                if row in alone and end - start > 3 and (concept := alone[row]) in concepts:
                    own[concept].append((start, end))
            self.places[id] = own
            for concept, places in own.items() if id in learned else ():
                self.words[concept][id] = short_forms.words_of(replaced(text, places, " "))
        self.everywhere = Counter(word for id in learned for word in short_forms.words_of(texts[id]))
        self.counts = {c: Counter(word for words in some.values() for word in words) for c, some in self.words.items()}

    def number(self, concept: str, id: str) -> int:
        """Return how many other documents have the concept."""
        return len(self.words[concept].keys() - {id})

    def scores(self, case: Case) -> list[float]:
        """Return the logarithm of how much more probable the words of the document are with each candidate."""
        own = self.places[case.doc_id]
        ids = [candidate.concept_id for candidate in case.candidates]
        places = [place for id in ids for place in own.get(id, ())]
        text = replaced(self.texts[case.doc_id], [*places, (case.start, case.end)], " ")
        words = short_forms.words_of(text) - short_forms.words_of(case.text)
        words = {word for word in words if len(word) > 2 and self.everywhere[word] >= FEWEST}
        return [sum(self._weight(word, id, case.doc_id) for word in words) for id in ids]

    def _weight(self, word: str, concept: str, doc_id: str) -> float:
        count = self.counts.get(concept, Counter[str]())[word] - (word in self.words[concept].get(doc_id, ()))
        expected = self.number(concept, doc_id) * self.everywhere[word] / self.n
        return math.log((count + SMOOTHING) / (expected + SMOOTHING))


def choice(scores: Sequence[float], margin: float) -> int:
    best = int(np.argmax(scores))
    return best if scores[best] - scores[0] > margin else 0


def measure_homonyms(data: Path, folder: Path, texts: Mapping[str, str], learned: set[str]) -> Iterator[dict[str, Any]]:
    for type, (vocabulary, corpora) in HOMONYMS.items():
        path = folder / f"{type}.kb"
        build_vocabulary(data, vocabulary, path)
        linker = open_linker(path, "none")
        cases = {corpus: list(cases_of(list(read(data, corpus, [type])), linker)) for corpus in corpora}
        concepts = {one.concept_id for some in cases.values() for case in some for one in case.candidates}
        contexts = Contexts(texts, learned, linker.kb, concepts)
        for corpus, some in cases.items():
            yield {"type": type, "corpus": corpus, **compare(some, contexts)}


def compare(cases: Sequence[Case], contexts: Contexts) -> dict[str, Any]:
    ids, margins = [case.doc_id for case in cases], (-math.inf, *MARGINS)
    scored = [(case, contexts.scores(case)) for case in cases]
    right = np.array([[int(case.right[choice(some, margin)]) for margin in margins] for case, some in scored])
    folds = np.array([crc32(id.encode()) % FOLDS for id in ids])
    # of margins that are equally good, the largest
    fitted = np.array([len(MARGINS) - right[folds != fold, :0:-1].sum(axis=0).argmax() for fold in range(FOLDS)])
    alone, rules, sure = (
        some.tolist() for some in (right[:, 0], right[:, -1], right[np.arange(len(ids)), fitted[folds]])
    )
    known = [max(map(contexts.number, case.right_ids, repeat(case.doc_id))) for case in cases]
    return {
        "cases": len(cases),
        "documents": len(set(ids)),
        "median of documents with the concept": float(np.median(known)),
        "rules": sum(rules),
        "words": {"right": sum(alone), **outcome(rules, alone, ids)},
        "sure": {"right": sum(sure), **outcome(rules, sure, ids)},
    }


def collect(data: Path) -> tuple[dict[str, str], set[str]]:
    """Return all texts by their ids, and the ids of those that may be learned from."""
    unseen = left_out(data)
    texts = {document.doc_id: document.text for corpus in FILES for document in read(data, corpus, ())}
    for path in sorted((data / "documents").glob("*/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                texts.setdefault(
                    str(record.get("pmid") or record["id"]), f"{record.get('title') or ''}\n{record['text']}"
                )
    return texts, texts.keys() - unseen


# --- types


def measure_types(data: Path) -> Iterator[dict[str, Any]]:
    kb = load_knowledge_base("starter")
    linker = Linker(open_generator(kb, None, sparse=True))
    orders = {
        "preferred name first": ties.RULES,
        "type first": ("type", *(rule for rule in ties.RULES if rule != "type")),
    }
    for corpus in FILES:
        documents = [
            document._replace(
                mentions=tuple(
                    m._replace(ids=tuple(PREFIXES.get(m.label, "") + id for id in m.ids)) for m in document.mentions
                )
            )
            for document in read(data, corpus, KINDS)
        ]
        linked = linker.link(list(map(mention_queries, documents)))
        right: dict[str, list[int]] = defaultdict(list)
        ids: list[str] = []
        for order, rules in orders.items():
            with mock.patch.object(ties, "RULES", rules):
                for document, mentions in zip(documents, linked, strict=True):
                    labels = [mention.label for mention in document.mentions]
                    for mention, parts in zip(
                        document.mentions, ties.TieBreaker(kb).break_ties(mentions, labels), strict=True
                    ):
                        gold = frozenset[str]().union(*gold_concepts(mention.ids, kb.find_id))
                        for part in filter(ties.tied, parts):
                            right[order].append(int(not gold.isdisjoint(kb.ids(part.candidates[0].concept_id))))
                            ids += [document.doc_id] if order == "type first" else []
        before, after = right["preferred name first"], right["type first"]
        counts = {order: sum(some) for order, some in right.items()}
        yield {"corpus": corpus, "tied": len(ids), **counts, **outcome(before, after, ids)}


def main() -> None:
    parser = new_parser(__doc__)
    parts = ("short forms", "homonyms", "types")
    parser.add_argument("--part", nargs="*", default=parts, choices=parts)
    arguments = parser.parse_args()
    texts, learned = collect(arguments.data)
    with TemporaryDirectory() as folder:
        for part in arguments.part:
            if part == "short forms":
                rows = measure_short_forms(arguments.data, Path(folder), learned)
            elif part == "homonyms":
                rows = measure_homonyms(arguments.data, Path(folder), texts, learned)
            else:
                rows = measure_types(arguments.data)
            for row in rows:
                print(json.dumps({"part": part, **row}), flush=True)


if __name__ == "__main__":
    main()
