"""The targets: everything that reads what others wrote, with seeds, and checks of what it returns."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from spacy_sapbert.corpora.docbin import write_docbin
from spacy_sapbert.corpora.docs import to_doc
from spacy_sapbert.corpora.med1250 import read_med1250
from spacy_sapbert.corpora.passages import PassageCounts
from spacy_sapbert.corpora.reader import FORMATS, read_corpus
from spacy_sapbert.corpora.reader import guess_format as guess_corpus
from spacy_sapbert.corpora.report import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.io.documents import Problems, ReadOptions, read_documents
from spacy_sapbert.io.formats import InputFormat
from spacy_sapbert.kb.readers import READERS, ReadReport, read_vocabulary
from spacy_sapbert.kb.readers import guess_format as guess_vocabulary
from spacy_sapbert.types import AnnotatedDocument, Mention

from . import seeds
from .running import Files, Target


def by_input(folder: Path, *choices: Any) -> Any:
    """Choose by the content of an input, so that each input is always read in the same way."""
    return choices[sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) % len(choices)]


def check_text(*values: object) -> None:
    """Check that texts can be written: they have no half of a surrogate pair."""
    for value in values:
        assert isinstance(value, str), f"{value!r} is no text"
        value.encode()


# --- vocabularies


def read_concepts(folder: Path, format: str) -> None:
    """Read a vocabulary. Its names and ids can be written, and are not empty."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    path = files[0] if len(files) == 1 or format == "loinc" else folder
    with suppress(SapbertError):
        guess_vocabulary(path)
    report = ReadReport()
    for record in read_vocabulary(path, format, report=report, strict=by_input(folder, False, False, False, True)):
        check_text(record.concept_id, *(name for name in record.names for name in name), *record.alternative_ids)
        check_text(*record.types, record.definition or "", *record.parents, *record.xrefs)
        assert record.concept_id
        assert all(name.text for name in record.names)
    json.dumps([str(problem) for problem in report.problems])


# --- corpora


def read_annotated(folder: Path, format: str) -> None:
    """Read a corpus. Its mentions are in their texts, and it can be converted for spaCy."""
    (path,) = folder.iterdir()
    with suppress(SapbertError):
        guess_corpus(path)
    report = Report()
    strict = by_input(folder, False, False, False, True)
    passages = PassageCounts() if by_input(folder, 0, 1) else None
    documents = []
    for document in read_corpus(path, format, report=report, strict=strict, passages=passages):
        check_text(document.doc_id, document.text)
        for mention in document.mentions:
            assert document.text[mention.start : mention.end] == mention.text
            assert mention.text.strip()
            check_text(mention.label, *mention.ids, *mention.parts)
        documents.append(document)
    if by_input(folder, *[0] * 30, 1):
        write_docbin((to_doc(blank(), document) for document in documents[:3]), folder / "gold.spacy")
        list(read_corpus(folder / "gold.spacy"))


def read_abbreviations(folder: Path) -> None:
    """Read MED1250."""
    for record in read_med1250(folder / "a.txt", strict=by_input(folder, False, True), report=Report()):
        check_text(record.pmid, record.text, *(one for pair in (*record.pairs, *record.synonyms) for one in pair))


@cache
def blank() -> Any:
    """Return an empty pipeline."""
    import spacy

    return spacy.blank("en")


def docbin() -> list[Files]:
    """Return a file of spaCy."""
    import tempfile

    mentions = (Mention(0, 5, "Renal", "Disease", ("D1", "D2"), ("a", "b")), Mention(6, 13, "failure", "X"))
    documents = [AnnotatedDocument("1", "Renal failure.", mentions), AnnotatedDocument("2", "", ())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.spacy")
        write_docbin((to_doc(blank(), document) for document in documents), path)
        return [{"a.spacy": path.read_bytes()}]


# --- documents


def read_inputs(folder: Path, format: InputFormat) -> None:
    """Read documents to link. They can be written, and each has a place."""
    (path,) = folder.iterdir()
    shown = io.StringIO()
    console = Console(file=shown, markup=False, emoji=False, highlight=False, soft_wrap=True)
    problems = Problems(console, strict=by_input(folder, False, False, False, True))
    given = None if by_input(folder, 0, 0, 1) and path.suffix != ".txt" else format
    for document in read_documents(path, ReadOptions(given, gold=by_input(folder, 0, 1)), problems):
        check_text(document.doc_id, document.text, document.title, document.place)
        json.dumps(dict(document.meta), ensure_ascii=False, allow_nan=False).encode()
        for mention in document.mentions or ():
            assert document.text[mention.start : mention.end] == mention.text
    shown.getvalue().encode()


def parquet() -> list[Files]:
    """Return tables with columns of several types."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"id": [1, 2], "title": ["On", None], "text": ["A cold.", "Flu."], "year": [1.5, None], "x": [[1], []]}
    packed = io.BytesIO()
    parquet.write_table(pa.table(columns), packed)
    return [{"a.parquet": packed.getvalue()}]


def _target(name: str, seeds: Any, use: Callable[[Path], object], share: float = 1.0, **others: Any) -> Target:
    return Target(name, seeds if callable(seeds) else lambda: seeds, use, share, **others)


def _targets() -> Iterator[Target]:
    slow = {"umls": 0.4, "rxnorm": 0.4, "snomed": 0.3, "rdf": 0.5, "meddra": 0.5}
    for format in READERS:
        use = partial(read_concepts, format=format)
        yield _target(f"vocabulary:{format}", seeds.VOCABULARIES[format], use, slow.get(format, 1.0))
    for format in FORMATS:
        found = docbin if format == "docbin" else seeds.CORPORA[format]
        yield _target(f"corpus:{format}", found, partial(read_annotated, format=format), 0.3 if format == "docbin" else 1)
    yield _target("corpus:med1250", seeds.CORPORA["med1250"], read_abbreviations)
    made = {InputFormat.spacy: docbin, InputFormat.parquet: parquet}
    for format in InputFormat:
        found = made.get(format) or seeds.DOCUMENTS[format.value]
        yield _target(f"document:{format.value}", found, partial(read_inputs, format=format), 0.3 if format in made else 1)


TARGETS: Sequence[Target] = tuple(_targets())
