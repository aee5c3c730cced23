"""Measure what words of a text, learned without annotations, give for short forms with several senses.

A document defines a short form, and all definitions and long forms are removed. Or a long form in clinical notes is
replaced by its short form. The senses are compared with and without `text/short_forms/en_contexts.txt`, whose words
were learned from other documents. Standard errors are over documents.

    python benchmarks/context_words.py [--data FOLDER]
"""

import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

from common import new_parser
from corpora import CORPORA, ids_of

from spacy_sapbert.documents.pubtator import read_med1250
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.text import short_forms
from spacy_sapbert.text.abbreviations import find_definitions
from spacy_sapbert.types import Document, Name, Record

MED1250 = "corpora/med1250/MED1250_labeled_dev.txt"
HPO_NOTES = "corpora/hpo_notes/id68_development.pubtator"
ACI_NOTES = "documents/aci_notes/aci_notes.jsonl"


def read_documents(data: Path) -> Iterator[Document]:
    for path in sorted({corpus.path for corpus in CORPORA.values()} - {HPO_NOTES}):
        yield from read_corpus(data / path, "pubtator")


def outcome(before: Sequence[int], after: Sequence[int], documents: Sequence[str]) -> dict[str, Any]:
    """Compare the values of choices: 1 is right, 0 none, and −1 wrong, or 0 where a choice is always made."""
    gains: Counter[str] = Counter()
    for old, new, id in zip(before, after, documents, strict=True):
        gains[id] += new - old
    error = math.sqrt(sum(gain**2 for gain in gains.values()))
    return {"gain": sum(gains.values()), "se": round(error, 1)}


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
    documents = {d.doc_id: d.text for d in read_documents(data) if d.doc_id not in learned}
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


def learned_from(data: Path) -> set[str]:
    """Return the ids of the documents that words may have been learned from."""
    learned = {document.doc_id for document in read_documents(data)}
    for path in sorted((data / "documents").glob("*/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            learned |= {str(record.get("pmid") or record["id"]) for record in map(json.loads, lines)}
    return learned - ids_of(data, "development.txt")


def main() -> None:
    data = new_parser(__doc__).parse_args().data
    with TemporaryDirectory() as folder:
        for row in measure_short_forms(data, Path(folder), learned_from(data)):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
