"""Define a document to link, how documents are read, and the file or stream that they come from."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from rich.console import Console

from ..errors import Errors, SapbertError
from ..files.bounds import bounded, check_length, join_bounded
from ..files.opening import check_encoding, has_line_ends, open_unpacked
from ..types import Document
from .formats import STDIN, InputFormat
from .passages import PassageCounts
from .source import Source

_CHUNK = 1 << 16
_SHOWN_DUPLICATES = 10
# longest first, because the mark of UTF-16 begins that of UTF-32
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class Problems:
    """Reports and counts records that are left out, and reports ids that occur twice.

    Args:
        console: The console for the reports.
        strict: Raise an error at the first broken record.

    Attributes:
        count: Number of records that are left out.
        duplicates: Number of documents with the id of an earlier document.
        passages: Number of records that were joined to documents.
    """

    def __init__(self, console: Console, *, strict: bool = False) -> None:
        self.console = console
        self.strict = strict
        self.count = 0
        self.duplicates = 0
        self.passages = PassageCounts()
        self._ids: set[int] = set()

    def report(self, place: str, reason: object) -> None:
        """Report a record that is left out.

        Raises:
            SapbertError: E506 the record is broken, and `strict` is set.
        """
        if self.strict:
            raise SapbertError(Errors.E506.format(place=place, reason=reason))
        self.count += 1
        self.console.print(f"{place}: {reason}; left out")

    def show_passages(self) -> None:
        """Report how many records were joined to documents, if any. Call it once, after all documents are read."""
        if self.passages.records:
            self.console.print(str(self.passages))

    def check_id(self, document: Document) -> None:
        """Report a document with the id of an earlier document. Only the first ones are shown."""
        known = len(self._ids)
        self._ids.add(hash(document.doc_id))  # 64 bits, which take less memory than the ids
        if len(self._ids) > known:
            return
        self.duplicates += 1
        if self.duplicates <= _SHOWN_DUPLICATES:
            rest = "; further ones are not shown" if self.duplicates == _SHOWN_DUPLICATES else ""
            reason = f"an earlier document has the same id {document.doc_id!r}; both are linked{rest}"
            self.console.print(f"{document.position}: {reason}")


class ReadOptions(NamedTuple):
    """How to read documents.

    A column is named by its header in CSV, TSV and Parquet, by its key in JSON lines, and by its number, from 1, in
    tables without a header.

    Attributes:
        format: The format. None if the name of each file shows it.
        text_column: The column of the text. Default: "text", or 1 for names.
        id_column: The column of the id. Default: "id", if there is one.
        title_column: The column of the title. Default: "title", if there is one.
        encoding: The encoding of text files. Default: UTF-8, or the one that a byte order mark shows.
        gold: Keep the annotated mentions of the documents.
        join_passages: Read consecutive records of PubTator and BioC with the same id as one document.
    """

    format: InputFormat | None
    text_column: str | None = None
    id_column: str | None = None
    title_column: str | None = None
    encoding: str | None = None
    gold: bool = False
    join_passages: bool = True


@dataclass(frozen=True, kw_only=True)
class DocumentSource(Source):
    """One input file, or standard input.

    Attributes:
        name: The id of the file's only document, and the beginning of the ids of documents without an id.
        problems: Reports broken records.
        encoding: The encoding of text. If empty, UTF-8, or the one that a byte order mark shows.
    """

    name: str
    problems: Problems
    encoding: str = ""

    @property
    def file(self) -> str:
        """The path of the file, for messages."""
        return "standard input" if self.path == STDIN else in_unicode(str(self.path))

    def place(self, number: int, unit: str = "line") -> str:
        """Return a place in the file, for messages."""
        return f"{self.file}, {unit} {number}"

    def broken(self, line: int, reason: object) -> None:
        """Report a record that is left out."""
        self.problems.report(self.place(line), reason)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers from 1, without line ends. A line that cannot be decoded is reported."""
        for number, (line, reason) in enumerate(self.decoded_lines(), start=1):
            if reason:
                self.broken(number, reason)
            else:
                yield number, line.removesuffix("\n").removesuffix("\r")

    def decoded_lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line with its end, and why it cannot be decoded; empty if it can.

        Raises:
            SapbertError: E123 there is no such encoding. E133 the text cannot be decoded, and its encoding does not
                show where the next line starts.
        """
        with self.open() as handle:
            first = handle.readline()
            encoding = self.encoding or _marked(first)
            check_encoding(self.path, encoding)
            if has_line_ends(encoding):
                yield from _decode_each(_chain(first, handle), encoding)
            else:
                yield from self._decode_all(first, handle, encoding)

    def text(self) -> str:
        """Return the whole text, with its line ends.

        Raises:
            UnicodeError: It cannot be decoded.
        """
        with self.open(lines=False) as handle:
            content = join_bounded(self.path, iter(lambda: handle.read(_CHUNK), b""))
        encoding = self.encoding or _marked(content[:4])
        check_encoding(self.path, encoding)
        return content.decode(_without_mark(encoding))

    def chunks(self) -> Iterator[bytes]:
        """Yield the unpacked bytes, at most 64 KB at a time, and an empty chunk at the end."""
        chunk = b" "
        with self.open(lines=False) as handle:
            while chunk:
                chunk = handle.read(_CHUNK)
                yield chunk

    def show_moved_passages(self) -> None:
        """Report how many passages are not at the offsets that the file has for them, if any."""
        if self.report.shifted:
            moved = f"{self.report.shifted:,} passages overlap or are far apart, so each follows the one before"
            self.problems.console.print(f"{self.file}: {moved}; the offsets of the output count in this text")

    def show_mismatches(self) -> None:
        """Report how many annotated mentions differ from the text at their offsets, if any."""
        if self.report.mismatched:
            moved = f"{self.report.moved:,} of them were moved to the same text nearby"
            mismatches = f"{self.report.mismatched:,} annotated mentions differ from the text at their offsets"
            self.problems.console.print(f"{self.file}: {mismatches}; {moved}")

    @contextmanager
    def open(self, *, lines: bool = True) -> Iterator[BinaryIO]:
        """Open the unpacked bytes of the file, or standard input.

        Args:
            lines: Whether to bound the length of lines.

        Raises:
            SapbertError: E120, E121 the file cannot be read or unpacked, E586, E587 it is made to exhaust memory.
        """
        if self.path == STDIN:
            stdin = bounded(self.path, sys.stdin.buffer, lines=lines)
            yield stdin
            return
        try:
            with open_unpacked(self.path, lines=lines) as handle:
                yield handle
        except OSError as error:
            raise SapbertError(Errors.E120.format(path=self.path, reason=error.strerror or error)) from error

    def _decode_all(self, first: bytes, handle: BinaryIO, encoding: str) -> Iterator[tuple[str, str]]:
        decoder = codecs.getincrementaldecoder(encoding)()
        parts: list[str] = []
        length = 0
        for chunk in _chain_chunks(first, handle):
            try:
                begun, *others = decoder.decode(chunk, not chunk).split("\n")
            except UnicodeError as error:
                reason = decoding_problem(error, encoding)
                raise SapbertError(Errors.E133.format(path=self.file, reason=reason)) from error
            parts.append(begun)
            length += len(begun)
            check_length(self.path, length)
            for line in others:
                yield "".join(parts) + "\n", ""
                parts, length = [line], len(line)
        if any(parts):
            yield "".join(parts), ""


def decoding_problem(error: UnicodeError, encoding: str) -> str:
    """Return why a text cannot be decoded, with the remedy, as the reason of a broken record."""
    name = encoding.upper() if encoding.lower().startswith("utf") else encoding
    reason = getattr(error, "reason", error)
    return f"this is not {name or 'UTF-8'} ({reason}); if it has another encoding, give --encoding"


def in_unicode(path: str) -> str:
    """Replace the bytes of a file name that are not UTF-8, because the output is UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def _marked(beginning: bytes) -> str:
    return next((encoding for mark, encoding in _MARKS.items() if beginning.startswith(mark)), "utf-8")


def _without_mark(encoding: str) -> str:
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _decode_each(lines: Iterable[bytes], encoding: str) -> Iterator[tuple[str, str]]:
    begin = _without_mark(encoding)
    for raw in lines:
        try:
            yield raw.decode(begin), ""
        except UnicodeError as error:
            yield raw.decode(encoding, errors="replace"), decoding_problem(error, encoding)
        begin = encoding


def _chain(first: bytes, handle: BinaryIO) -> Iterator[bytes]:
    if first:
        yield first
    yield from handle


def _chain_chunks(first: bytes, handle: BinaryIO) -> Iterator[bytes]:
    yield first
    chunk = first
    while chunk:
        chunk = handle.read(_CHUNK)
        yield chunk
