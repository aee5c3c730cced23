"""Files that others wrote: vocabularies, corpora, documents, and lists for other steps. What is read can be written."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from spacy_sapbert.augmentation.documents import read_folder
from spacy_sapbert.augmentation.eutils import EutilsSearch
from spacy_sapbert.augmentation.metamap import read_output
from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.documents.document_ids import DocumentIds
from spacy_sapbert.documents.formats import InputFormat
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.documents.med1250 import read_med1250
from spacy_sapbert.documents.passages import PassageCounts
from spacy_sapbert.documents.reader import FORMATS, read_corpus
from spacy_sapbert.documents.reader import guess_format as guess_corpus
from spacy_sapbert.documents.report import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.candidate_log import read_candidate_log
from spacy_sapbert.evaluation.compare import read_predictions
from spacy_sapbert.evaluation.separation import read_name_pairs
from spacy_sapbert.kb.code_mappings import CodeMappings
from spacy_sapbert.kb.id_lists import read_labels
from spacy_sapbert.kb.mapping import read_mappings
from spacy_sapbert.kb.readers import READERS, ReadReport, read_vocabulary
from spacy_sapbert.kb.readers import guess_format as guess_vocabulary
from spacy_sapbert.kb.readers.umls import UmlsSettings
from spacy_sapbert.kb.stop_names import read_names
from spacy_sapbert.linking.spelling_files import read_corrections
from spacy_sapbert.review.mentions import read_links, review_mentions
from spacy_sapbert.training.pair_files import read_shared_names
from spacy_sapbert.training.pair_table import read_pair_file, read_triple_file
from spacy_sapbert.training.triple_files import read_triples
from spacy_sapbert.types import Document, Mention

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

SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "babelon": ({"languages": ("es",)}, {"languages": ("es", "de")}),
    "loinc": ({"related_names": True}, {}),
    "meddra": ({"non_current": True}, {}),
    "obo": ({"prefixes": ("F",)}, {"default_scope": "exact"}),
    "obograph": ({"prefixes": ("F",)}, {"imports": True}),
    "rdf": ({"prefixes": ("F", "SNOMEDCT_US")}, {"languages": ()}),
    "rxnorm": ({"umls": UmlsSettings(languages=(), codes=("RXNORM",))}, {"umls": UmlsSettings(sources=("RXNORM",))}),
    "snomed": ({"languages": ("es", "en")}, {"languages": (), "language_refset": "900000000000509007"}),
    "table": ({"columns": {"id": "2", "name": ["1", "2"]}}, {"header": ["name", "id"], "where": {"id": "D1"}}),
    "umls": (
        {"umls": UmlsSettings(languages=(), codes=("ABC",), parents=True, sort=True)},
        {"umls": UmlsSettings(without_sources=("XYZ",), term_types=("PT",), semantic_types=("T047",))},
    ),
}
"""Settings of the readers, each for a fifth of the inputs."""


def read_concepts(folder: Path, format: str) -> None:
    """Read a vocabulary. Its names and ids can be written, and are not empty."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    path = files[0] if len(files) == 1 or format == "loinc" else folder
    with suppress(SapbertError):
        guess_vocabulary(path)
    report = ReadReport()
    strict = by_input(folder, False, False, False, True)
    settings = by_input(folder, {}, {}, {}, *SETTINGS.get(format, ({}, {})))
    for record in read_vocabulary(path, format, report=report, strict=strict, **settings):
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
    documents = [Document("1", "Renal failure.", mentions), Document("2", "", ())]
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
        check_text(document.doc_id, document.text, document.title, document.position)
        json.dumps(dict(document.meta), ensure_ascii=False, allow_nan=False).encode()
        for mention in document.mentions:
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


# --- lists and tables of other steps

TEXT = 'Gout, or "gouty" arthritis | gout.'


def read_answers(folder: Path) -> None:
    """Read answers of the E-utilities. Each one that is found whole can be read."""

    class Answers:
        def ask(self, tool: str, values: Any, fault: Callable[[bytes], str | None]) -> bytes:
            name = "search.json" if tool == "esearch" else f"{values['db']}.xml"
            answer = (folder / name).read_bytes() if (folder / name).is_file() else b""
            reason = fault(answer)
            if reason:
                raise SapbertError(reason)
            return answer

    for database in ("pubmed", "pmc"):
        search = EutilsSearch(cast(Any, Answers()), database)
        with suppress(SapbertError):
            found = search.find("gout", 5)
            check_text(*(hit.key for hit in found))
        with suppress(SapbertError):
            for document in search.fetch(["1", "123", "PMC7", "7"]).values():
                check_text(document.doc_id, document.text)


def read_list(folder: Path, read: Callable[[Path], Any]) -> None:
    """Read a file to its end."""
    (path,) = folder.iterdir()
    for _ in read(path) or ():
        pass


def _mappings(path: Path) -> list[str]:
    read_mappings([path], report=ReadReport())
    return list(CodeMappings([path]).ids())


def _links(path: Path) -> Iterator[object]:
    for record in read_links(path):
        json.dumps(record, allow_nan=True).encode()
        yield from review_mentions(record)


LISTS: dict[str, Callable[[Path], Any]] = {
    "mappings": _mappings,
    "labels": read_labels,
    "names": lambda path: read_names([path]),
    "document ids": lambda path: [DocumentIds(path).takes("1")],
    "pairs": lambda path: [read_name_pairs(path), read_pair_file(str(path))],
    "shared names": read_shared_names,
    "triples": lambda path: [*read_triples(path), read_triple_file(str(path))],
    "predictions": read_predictions,
    "candidate log": read_candidate_log,
    "links": _links,
    "spelling": lambda path: list(read_corrections(path).pairs),
    "search folder": lambda path: read_folder([path.parent], Report()),
    "mmi": lambda path: read_output(path, TEXT),
    "metamap json": lambda path: read_output(path, TEXT),
    "brat": lambda path: read_output(path, TEXT),
}


def targets() -> Iterator[Target]:
    """Yield the targets that read files of others."""
    slow = {"umls": 0.4, "rxnorm": 0.4, "snomed": 0.3, "rdf": 0.5, "meddra": 0.5}
    for format in READERS:
        use = partial(read_concepts, format=format)
        yield _target(f"vocabulary:{format}", seeds.VOCABULARIES[format], use, slow.get(format, 1))
    for format in FORMATS:
        found = docbin if format == "docbin" else seeds.CORPORA[format]
        yield _target(
            f"corpus:{format}", found, partial(read_annotated, format=format), 0.3 if format == "docbin" else 1
        )
    yield _target("corpus:med1250", seeds.CORPORA["med1250"], read_abbreviations)
    made = {InputFormat.spacy: docbin, InputFormat.parquet: parquet}
    for kind in InputFormat:
        content = made.get(kind) or seeds.DOCUMENTS[kind.value]
        yield _target(f"document:{kind.value}", content, partial(read_inputs, format=kind), 0.3 if kind in made else 1)
    for name, read in LISTS.items():
        use = partial(read_folder_of_files if name == "search folder" else read_list, read=read)
        yield _target(f"list:{name}", seeds.LISTS[name], use, 0.5)
    yield _target("list:answers", seeds.LISTS["answers"], read_answers, 0.5)


def read_folder_of_files(folder: Path, read: Callable[[Path], Any]) -> None:
    """Read all files of a folder."""
    for _ in read(folder / "any"):
        pass


def _target(name: str, content: Any, use: Callable[[Path], object], share: float = 1) -> Target:
    return Target(name, content if callable(content) else lambda: content, use, share)
