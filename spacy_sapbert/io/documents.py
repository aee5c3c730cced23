"""Documents on their way into a pipeline: text, JSON lines, PubTator or a column of names, read as a stream."""

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
    """A document to be linked.

    Attributes:
        place: where it stands, for messages: file and line.
        title: if it has one, the text begins with it and a blank.
        meta: what else its record holds, as JSON values.
        mentions: the mentions to be linked; None if the pipeline is to find them.
    """

    doc_id: str
    text: str
    place: str
    title: str = ""
    meta: Mapping[str, Any] = {}
    mentions: tuple[Mention, ...] | None = None


class Problems:
    """Tells of records that are left out, and counts them.

    Args:
        strict: the first one is an error.
    """

    def __init__(self, console: Console, *, strict: bool = False) -> None:
        self.console = console
        self.strict = strict
        self.count = 0

    def report(self, place: str, reason: object) -> None:
        """Raise SapbertError: E506 if reading is strict."""
        if self.strict:
            raise SapbertError(Errors.E506.format(place=place, reason=reason))
        self.count += 1
        self.console.print(f"{place}: {reason}; left out")


class ReadOptions(NamedTuple):
    """How to read documents.

    Attributes:
        text_key: the keys of text and id in JSON lines.
        id_key: the keys of text and id in JSON lines.
        column: the column of the names, from 1.
        gold: keep the annotated mentions of PubTator documents.
    """

    format: InputFormat
    text_key: str = "text"
    id_key: str = "id"
    column: int = 1
    gold: bool = False


@dataclass(frozen=True, kw_only=True)
class DocumentSource(Source):
    """One input, or standard input; a line that is not UTF-8 is a broken record like any other."""

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
    """Also keeps number and text of each title line, which begins a document, until that document is complete."""

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
        path: a file, plain or gzipped; `-` is standard input.

    Yields:
        InputDocument: in the order of the file. Without an id of its own, a document is named "file name:line".

    Raises:
        SapbertError: E120, E121 the file cannot be read or unpacked; E506 a broken record in strict reading.
    """
    return _READERS[options.format](DocumentSource(path, problems=problems), options)


def sound(documents: Iterable[InputDocument], problems: Problems, max_length: int) -> Iterator[InputDocument]:
    """Leave out, and report, what is no text or too long.

    Args:
        max_length: in characters.
    """
    for document in documents:
        reason = fault(document.text, max_length)
        if reason:
            problems.report(document.place, reason)
        else:
            yield document


def fault(text: str, max_length: int) -> str | None:
    """Return why a pipeline cannot take a text; None where it can."""
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
    """Read a document that is written as a JSON object.

    Args:
        name: its id, where the object has none.

    Raises:
        BrokenRecord: it is no such object.
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
        told = f"{report.mismatched:,} annotated mentions differ from the text at their offsets; {moved}"
        source.problems.console.print(f"{source.path}: {told}")


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
    """A file may be named by any bytes, but what is written is UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def _open_bytes(path: Path) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if path == STDIN else _open_text_bytes(path)
