"""Read annotated documents from a corpus file of any format (`read_corpus`), and guess the format."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ..errors import Errors, SapbertError, Warnings
from ..files.opening import check_encoding, open_text
from ..types import Document
from . import askapatient, cometa
from .bioc import read_bioc
from .document_ids import DocumentIds
from .mention_tables import is_header, read_names
from .passages import PassageCounts, join_annotated
from .pubtator import read_pubtator
from .report import Report
from .source import Source
from .tac import read_tac

_HEAD_SIZE = 4096
_PUBTATOR = re.compile(r"[^|\t\n]+\|t\|")
_TAG = re.compile(r"<\s*([A-Za-z]\w*)")


def _read_docbin(source: Source) -> Iterator[Document]:
    from .docbin import read_docbin_corpus  # imports spaCy, which the other formats do not need

    return read_docbin_corpus(source)


_READERS: dict[str, Callable[[Source], Iterator[Document]]] = {
    "pubtator": read_pubtator,
    "ncbi": read_pubtator,
    "bioc": read_bioc,
    "names": read_names,
    "docbin": _read_docbin,
    "cometa-general": partial(cometa.read_cometa, id_column=cometa.GENERAL),
    "cometa-specific": partial(cometa.read_cometa, id_column=cometa.SPECIFIC),
    "askapatient": askapatient.read_askapatient,
    "tac": read_tac,
}
_ENCODINGS = {"askapatient": askapatient.ENCODING}
FORMATS = tuple(_READERS)
_PASSAGES = frozenset({"pubtator", "ncbi", "bioc"})


def read_corpus(
    path: Path,
    format: str | None = None,
    *,
    encoding: str | None = None,
    strict: bool = False,
    report: Report | None = None,
    ids: DocumentIds | None = None,
    passages: PassageCounts | None = None,
) -> Iterator[Document]:
    """Read an annotated corpus as a stream.

    Args:
        path: The file, plain or gzipped.
        format: One of `FORMATS`. If None, it is guessed from the beginning of the file.
        encoding: Encoding of text files. If None, that of the published corpus: Latin-1 for "askapatient", else UTF-8.
            XML declares its own.
        strict: Raise an error at the first broken record. Otherwise, broken records are counted and skipped.
        report: Takes the counts. Without it, a warning at the end reports broken records.
        ids: Yield only these documents. The others are read as well, so their problems are reported.
        passages: Join consecutive records of PubTator and BioC with the same id, and count them here. None keeps them
            separate.

    Yields:
        The documents in the order of the file. Ids are canonical, and mentions are sorted by offsets. The text of a
        mention is always the text at its offsets.

    Raises:
        SapbertError: E201 if a record is broken and `strict` is set; E202 if the format is unknown; E203 if it cannot
            be guessed; E12x, E205 to E210 or E215 if the file cannot be read.
    """
    path = Path(path)
    check_encoding(path, encoding or "utf-8")
    format = format or guess_format(path, encoding or "utf-8")
    if format not in _READERS:
        raise SapbertError(Errors.E202.format(format=format, formats=", ".join(FORMATS)))
    source = Source(path, report or Report(), encoding or _ENCODINGS.get(format, "utf-8"), strict)
    documents = _READERS[format](source)
    if passages is not None and format in _PASSAGES:
        documents = join_annotated(documents, passages)
    return _read(documents, source, ids, warn=report is None)


def guess_format(path: Path, encoding: str = "utf-8") -> str:
    """Guess the format from the beginning of a file.

    Raises:
        SapbertError: E203 if the format cannot be guessed.
    """
    if path.suffix == ".spacy":
        return "docbin"
    with open_text(path, encoding=encoding) as handle:
        # undecodable bytes are replaced, because the format may have another encoding
        data = handle.buffer.read(_HEAD_SIZE)
        head = re.sub(r"\r\n?", "\n", data.decode(handle.encoding, errors="replace")).lstrip()
    if head.removeprefix("[").lstrip().startswith("{"):
        return "bioc"
    if head.startswith("<"):
        tag = _TAG.search(head)
        return "tac" if tag and tag[1] == "Label" else "bioc"
    if _PUBTATOR.match(head):
        return "pubtator"
    whole_lines = head if len(data) < _HEAD_SIZE else head[: head.rfind("\n") + 1]
    rows = [line.split("\t") for line in whole_lines.rstrip("\n").split("\n")]
    if all(map(_is_askapatient, rows)):
        return "askapatient"
    if _is_mention_table(rows):
        return "names"
    raise SapbertError(Errors.E203.format(path=path, formats=", ".join(FORMATS)))


def _is_mention_table(rows: list[list[str]]) -> bool:
    cells = [tuple(cell.strip() for cell in row) for row in rows]
    if is_header(cells[0]):
        return True
    if not all(len(row) in (2, 3) and row[0] for row in cells) or len({len(row) for row in cells}) > 1:
        return False
    # a first column of numbers has ids, such as those of PubMed
    mentions = [row[0] for row in cells]
    has_ids = all(mention.isdecimal() for mention in mentions)
    return not has_ids and all(len(row) == 2 or row[0].lower() in row[2].lower() for row in cells)


def _is_askapatient(cells: list[str]) -> bool:
    is_row = len(cells) == 3 and all(cells)
    return is_row and askapatient.is_concept_id(cells[0]) and not askapatient.is_concept_id(cells[2])


def _read(documents: Iterator[Document], source: Source, ids: DocumentIds | None, warn: bool) -> Iterator[Document]:
    for document in documents:
        if ids and not ids.takes(document.doc_id):
            source.report.unlisted += 1
            continue
        source.report.add(document)
        yield document
    if warn and source.report.broken:
        first = source.report.problems[0]
        message = Warnings.W201.format(path=source.path, n=source.report.broken, line=first.line, reason=first.reason)
        warnings.warn(message, stacklevel=2)
