"""`read_corpus`: annotated documents from a file of any corpus format."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import Errors, SapbertError, Warnings
from ..files import open_text
from ..types import AnnotatedDocument
from .bioc import read_bioc
from .names import read_names
from .pubtator import read_pubtator
from .report import Report
from .source import Source

_HEAD_SIZE = 4096
_PUBTATOR = re.compile(r"[^|\t\n]+\|t\|")
_NAMES = re.compile(r"(?:[^\t\n]*\S[^\t\n]*\t[^\t\n]*\n)+")


def _read_docbin(source: Source) -> Iterator[AnnotatedDocument]:
    from .docbin import read_docbin_corpus  # imports spaCy, which the other formats do without

    return read_docbin_corpus(source)


_READERS: dict[str, Callable[[Source], Iterator[AnnotatedDocument]]] = {
    "pubtator": read_pubtator,
    "ncbi": read_pubtator,
    "bioc": read_bioc,
    "names": read_names,
    "docbin": _read_docbin,
}
FORMATS = tuple(_READERS)


def read_corpus(
    path: Path,
    format: str | None = None,
    *,
    encoding: str = "utf-8",
    strict: bool = False,
    report: Report | None = None,
) -> Iterator[AnnotatedDocument]:
    """Read an annotated corpus as a stream.

    path (Path): a file, plain or gzipped.
    format (str | None): one of `FORMATS`; guessed from the beginning of the file if it is None.
    encoding (str): of text files; XML says its own.
    strict (bool): stop at the first broken record. Otherwise it is left out and counted.
    report (Report | None): takes the counts; without one, a warning tells of broken records at the end.
    YIELDS (AnnotatedDocument): documents in the order of the file, with ids in canonical form and mentions in order
        of their offsets. A mention's text is always that at its offsets.
    RAISES (SapbertError): E201 a broken record in strict reading, E202 unknown format, E203 a format that cannot be
        guessed, E12x and E205 to E210 a file that cannot be read.
    """
    path = Path(path)
    format = format or guess_format(path, encoding)
    if format not in _READERS:
        raise SapbertError(Errors.E202.format(format=format, formats=", ".join(FORMATS)))
    return _read(_READERS[format], Source(path, report or Report(), encoding, strict), warn=report is None)


def guess_format(path: Path, encoding: str = "utf-8") -> str:
    """The format that a file's beginning shows plainly.

    RAISES (SapbertError): E203 it shows none.
    """
    if path.suffix == ".spacy":
        return "docbin"
    with open_text(path, encoding=encoding) as handle:
        head = handle.read(_HEAD_SIZE).lstrip()
    if head.startswith("<"):
        return "bioc"
    if _PUBTATOR.match(head):
        return "pubtator"
    whole_lines = head if len(head) < _HEAD_SIZE else head[: head.rfind("\n") + 1]
    if _NAMES.fullmatch(whole_lines.rstrip("\n") + "\n"):
        return "names"
    raise SapbertError(Errors.E203.format(path=path, formats=", ".join(FORMATS)))


def _read(
    reader: Callable[[Source], Iterator[AnnotatedDocument]], source: Source, warn: bool
) -> Iterator[AnnotatedDocument]:
    for document in reader(source):
        source.report.add(document)
        yield document
    if warn and source.report.broken:
        first = source.report.problems[0]
        message = Warnings.W201.format(path=source.path, n=source.report.broken, line=first.line, reason=first.reason)
        warnings.warn(message, stacklevel=2)
