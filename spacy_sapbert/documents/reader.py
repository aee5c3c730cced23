"""Read annotated documents from a corpus file of any format (`read_corpus`), and guess the format."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..errors import EmptyError, MismatchError, Warnings
from ..files.opening import check_encoding, decoded_head, open_file, open_text, without_gz
from ..types import Document
from .formats import ANNOTATED, FORMATS, PUBTATOR_TITLE, format_named, import_function, json_format, unknown_format
from .source import DocumentSource, Report, told
from .source import join_passages as join
from .text_files import is_header

_HEAD_SIZE, _TABLE_SIZE = 1 << 16, 4096
_CUI = re.compile(r"C\d{7}")


class DocumentIds:
    """The document ids of a split. It records which of them were found.

    Args:
        path: A file with one id per line, plain or gzipped. Empty lines are skipped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_text(path) as lines:
            self._missing = dict.fromkeys(line.strip() for line in lines if line.strip())
        if not self._missing:
            raise EmptyError("Write one id per line.", what=f"document id in {path}", consequence="no document is read")
        self._taken: set[str] = set()

    def takes(self, doc_id: str) -> bool:
        """Return whether a document belongs to the split, and record that it was found."""
        if doc_id in self._missing:
            del self._missing[doc_id]
            self._taken.add(doc_id)
        return doc_id in self._taken

    def check(self) -> int:
        """Warn about ids without a document, and return their number. Call this after all documents were read."""
        n, example = len(self._missing), next(iter(self._missing), "")
        if n and not self._taken:
            reason = f"none of its {n:,} ids, such as {example!r}, belongs to a document of the corpus"
            raise MismatchError("Give the list for this corpus, or read all documents.", path=self._path, reason=reason)
        if n:
            values = {"n": n, "path": self._path, "total": n + len(self._taken), "example": repr(example)}
            warnings.warn(Warnings.W203.format(**values), stacklevel=2)
        return n


def read_corpus(
    path: Path,
    format: str | None = None,
    *,
    encoding: str | None = None,
    strict: bool = False,
    report: Report | None = None,
    ids: DocumentIds | None = None,
    join_passages: bool = False,
) -> Iterator[Document]:
    """Read an annotated corpus as a stream.

    Args:
        path: The file, plain or gzipped.
        format: One of `formats.ANNOTATED`. If None, it is guessed from the beginning of the file.
        encoding: Encoding of text files. If None, that of the published corpus: Latin-1 for "askapatient", else UTF-8.
            XML declares its own.
        strict: Raise an error at the first broken record. Otherwise, broken records are counted and skipped.
        report: Takes the counts. Without it, a warning at the end reports broken records.
        ids: Yield only these documents. The others are read as well, so their problems are reported.
        join_passages: Join consecutive records of PubTator and BioC with the same id, and count them in the report.

    Yields:
        The documents in the order of the file. Ids are canonical, and mentions are sorted by offsets. The text of a
        mention is always the text at its offsets.

    Raises:
        SapbertError: E125 the format is unknown, E124 it cannot be guessed, E127 a record is broken and `strict` is
            set. Other families if the file cannot be read.
    """
    path = Path(path)
    check_encoding(path, encoding or "utf-8")
    given = format and format_named(format, ANNOTATED, "format of a corpus")
    report_of_file = report or Report()
    with open_file(path) as opened:
        read = FORMATS[given or _guess(path, decoded_head(opened.stream, encoding or "utf-8", _HEAD_SIZE))]
        source = DocumentSource(
            path,
            name=path.name,
            report=report_of_file,
            encoding=encoding or read.encoding,
            strict=strict,
            opened=opened,
        )
        documents = told(import_function(read.annotated)(source), source)
        if join_passages and read.in_passages:
            documents = join(documents, source.report)
        for document in documents:
            if ids and not ids.takes(document.doc_id):
                source.report.unlisted += 1
                continue
            source.report.add(document)
            yield document
    if report is None:
        source.report.warn_of_broken()


def guess_format(path: Path, encoding: str = "utf-8") -> str:
    """Guess the format of a corpus from the beginning of its file."""
    with open_file(path) as opened:
        return _guess(path, decoded_head(opened.stream, encoding, _HEAD_SIZE))


def _guess(path: Path, head: str) -> str:
    if path.suffix == ".spacy":
        return "spacy"
    if without_gz(path).suffix in (".ann", ".xmi"):
        return "brat" if without_gz(path).suffix == ".ann" else "xmi"
    head = head.lstrip()
    if head.removeprefix("[").lstrip().startswith("{"):
        return json_format(head.encode(errors="replace")) or "bioc"
    head = head[:_TABLE_SIZE]
    if head.startswith("<"):
        return "xmi" if "<xmi:XMI" in head else "bioc"
    if PUBTATOR_TITLE.match(head.partition("\n")[0]):
        return "pubtator"
    whole_lines = head[: head.rfind("\n") + 1] or head  # the last line may be cut off
    rows = [[cell.strip() for cell in line.split("\t")] for line in whole_lines.rstrip("\n").split("\n")]
    # numbers can be the ids of anything, so a file of AskAPatient is not recognized, but one of TwADR-L is
    if all(len(row) == 3 and all(row) and _CUI.fullmatch(row[0]) for row in rows):
        return "askapatient"
    if _is_mention_table(rows):
        return "names"
    raise unknown_format(path, ANNOTATED)


def _is_mention_table(rows: list[list[str]]) -> bool:
    if is_header(tuple(rows[0])):
        return True
    if not all(len(row) in (2, 3) and row[0] for row in rows) or len({len(row) for row in rows}) > 1:
        return False
    # a first column of numbers has ids, such as those of PubMed
    if all(row[0].isdecimal() for row in rows):
        return False
    return all(len(row) == 2 or row[0].lower() in row[2].lower() for row in rows)
