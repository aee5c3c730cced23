"""Read documents as a stream: text, JSON lines, PubTator or a column of names."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rich.console import Console

from ..corpora.pubtator import read_pubtator
from ..corpora.source import UNTYPED, BrokenRecord, Source
from ..errors import Errors, SapbertError
from ..files import check_writable, open_text, parse_json
from ..types import Mention
from .formats import PUBTATOR_TITLE, STDIN, InputFormat


class InputDocument(NamedTuple):
    """A document to link.

    Attributes:
        place: The file and line of the document, for messages.
        title: The title. If there is one, the text starts with it and a blank.
        meta: The other values of the document's record, as JSON values.
        mentions: The mentions to link. None if the pipeline is to find them.
    """

    doc_id: str
    text: str
    place: str
    title: str = ""
    meta: Mapping[str, Any] = {}
    mentions: tuple[Mention, ...] | None = None


class Problems:
    """Reports and counts records that are left out.

    Args:
        console: The console for the reports.
        strict: Raise an error at the first broken record.
    """

    def __init__(self, console: Console, *, strict: bool = False) -> None:
        self.console = console
        self.strict = strict
        self.count = 0

    def report(self, place: str, reason: object) -> None:
        """Report a record that is left out.

        Raises:
            SapbertError: E506 the record is broken, and `strict` is set.
        """
        if self.strict:
            raise SapbertError(Errors.E506.format(place=place, reason=reason))
        self.count += 1
        self.console.print(f"{place}: {reason}; left out")


class ReadOptions(NamedTuple):
    """How to read documents.

    Attributes:
        text_key: The key of the text in JSON lines.
        id_key: The key of the id in JSON lines.
        column: The number of the column with the names, from 1.
        gold: Keep the annotated mentions of PubTator documents.
    """

    format: InputFormat
    text_key: str = "text"
    id_key: str = "id"
    column: int = 1
    gold: bool = False


@dataclass(frozen=True, kw_only=True)
class DocumentSource(Source):
    """One input file, or standard input. A line that is not UTF-8 is a broken record."""

    problems: Problems

    @property
    def name(self) -> str:
        return "stdin" if self.path == STDIN else _in_unicode(self.path.name)

    def place(self, line: int) -> str:
        return f"{'standard input' if self.path == STDIN else _in_unicode(str(self.path))}, line {line}"

    def broken(self, line: int, reason: object) -> None:
        self.problems.report(self.place(line), reason)

    def lines(self) -> Iterator[tuple[int, str]]:
        with _open_bytes(self.path) as handle:
            for number, raw in enumerate(handle, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    self.broken(number, f"this is not UTF-8 ({error.reason})")
                else:
                    yield number, line.removesuffix("\n").removesuffix("\r")


@dataclass(frozen=True, kw_only=True)
class _PubtatorSource(DocumentSource):
    """Keeps the number and the text of each title line, until its document is complete."""

    titles: deque[tuple[int, str]] = field(default_factory=deque)

    def lines(self) -> Iterator[tuple[int, str]]:
        for number, line in super().lines():
            title = PUBTATOR_TITLE.fullmatch(line)
            if title:
                self.titles.append((number, title[1]))
            yield number, line


def read_documents(path: Path, options: ReadOptions, problems: Problems) -> Iterator[InputDocument]:
    """Read one input as a stream.

    Args:
        path: A file, plain or gzipped; `-` is standard input.
        options: How to read it.
        problems: Reports broken records.

    Yields:
        The documents, in the order of the file. A document without an id is named by file and line.

    Raises:
        SapbertError: E120, E121 the file cannot be read or unpacked. E506 a record is broken and `problems.strict` is
            set.
    """
    return _READERS[options.format](DocumentSource(path, problems=problems), options)


def sound(documents: Iterable[InputDocument], problems: Problems, max_length: int) -> Iterator[InputDocument]:
    """Leave out and report documents that are not text, or are too long.

    Args:
        documents: The documents.
        problems: Reports the documents that are left out.
        max_length: The maximum length in characters.
    """
    for document in documents:
        reason = fault(document.text, max_length)
        if reason:
            problems.report(document.place, reason)
        else:
            yield document


def fault(text: str, max_length: int) -> str | None:
    """Return why a pipeline cannot process a text; None if it can."""
    if not text.strip():
        return "the text is empty"
    if "\0" in text:
        return "the text contains a NUL character, so it is binary data or damaged"
    if len(text) > max_length:
        length = f"the text has {len(text):,} characters, but the pipeline's parser or NER reads at most {max_length:,}"
        return f"{length} (nlp.max_length)"
    return None


def _read_text(source: DocumentSource, options: ReadOptions) -> Iterator[InputDocument]:
    for number, line in source.lines():
        if line.strip():
            yield InputDocument(f"{source.name}:{number}", line, source.place(number))


def _read_names(source: DocumentSource, options: ReadOptions) -> Iterator[InputDocument]:
    for number, line in source.lines():
        columns = line.split("\t")
        if not line.strip():
            continue
        name = columns[options.column - 1].strip() if len(columns) >= options.column else ""
        if name:
            mentions = (Mention(0, len(name), name, UNTYPED),)
            yield InputDocument(f"{source.name}:{number}", name, source.place(number), mentions=mentions)
        else:
            source.broken(number, f"no name in column {options.column}")


def _read_jsonl(source: DocumentSource, options: ReadOptions) -> Iterator[InputDocument]:
    for number, line in source.lines():
        if line.strip():
            try:
                yield json_document(line, f"{source.name}:{number}", source.place(number), options)
            except BrokenRecord as reason:
                source.broken(number, reason)


def json_document(raw: str | bytes, name: str, place: str, options: ReadOptions) -> InputDocument:
    """Read a document from a JSON object.

    Args:
        raw: The JSON text.
        name: The id of the document, if the object has none.
        place: The file and line of the document, for messages.
        options: How to read it.

    Raises:
        BrokenRecord: The text is not such an object.
    """
    record = _json_object(raw)
    text = _string(record, options.text_key)
    has_title = options.text_key != "title" and record.get("title") is not None
    title = _string(record, "title") if has_title else ""
    doc_id = record.get(options.id_key)
    if isinstance(doc_id, bool) or not isinstance(doc_id, (str, int, type(None))):
        raise BrokenRecord(f"the value of {options.id_key!r} must be a string or a whole number")
    meta = {key: value for key, value in record.items() if key not in (options.text_key, options.id_key)}
    return InputDocument(
        name if doc_id in (None, "") else str(doc_id),
        " ".join(part for part in (title, text) if part),
        place,
        title,
        meta,
    )


def _json_object(raw: str | bytes) -> dict[str, Any]:
    try:
        record = parse_json(raw)
        check_writable(record, allow_nan=False)
    except ValueError as error:
        raise BrokenRecord(f"this is not JSON in Unicode ({error})") from error
    if not isinstance(record, dict):
        raise BrokenRecord("this is not a JSON object")
    return record


def _string(record: Mapping[str, Any], key: str) -> str:
    if key not in record:
        raise BrokenRecord(f"there is no key {key!r}; the keys are: {', '.join(map(repr, record)) or 'none'}")
    value = record[key]
    if not isinstance(value, str):
        raise BrokenRecord(f"the value of {key!r} is not a string")
    return value


def _read_pubtator(source: DocumentSource, options: ReadOptions) -> Iterator[InputDocument]:
    titled = _PubtatorSource(source.path, problems=source.problems)
    for document in read_pubtator(titled):
        number, title = titled.titles.popleft()
        mentions = document.mentions if options.gold else None
        yield InputDocument(document.doc_id, document.text, source.place(number), title, {"title": title}, mentions)
    report = titled.report
    if options.gold and report.mismatched:
        moved = f"{report.moved:,} of them were moved to the same text nearby"
        mismatches = f"{report.mismatched:,} annotated mentions differ from the text at their offsets; {moved}"
        source.problems.console.print(f"{source.path}: {mismatches}")


_READERS: dict[InputFormat, Callable[[DocumentSource, ReadOptions], Iterator[InputDocument]]] = {
    InputFormat.text: _read_text,
    InputFormat.jsonl: _read_jsonl,
    InputFormat.pubtator: _read_pubtator,
    InputFormat.names: _read_names,
}


@contextmanager
def _open_text_bytes(path: Path) -> Iterator[BinaryIO]:
    with open_text(path) as handle:
        yield handle.buffer


def _in_unicode(path: str) -> str:
    """Replace the bytes of a file name that are not UTF-8, because the output is UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def _open_bytes(path: Path) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if path == STDIN else _open_text_bytes(path)
