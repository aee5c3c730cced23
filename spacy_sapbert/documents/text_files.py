"""Read documents from text: whole files, lines, JSON lines, columns of names, and PubTator."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..files.values import check_writable, parse_json
from ..types import Document, Mention
from .formats import PUBTATOR_TITLE
from .input_source import DocumentSource, ReadOptions, decoding_problem
from .pubtator import read_pubtator
from .source import UNTYPED, BrokenRecord

TEXT, ID, TITLE = "text", "id", "title"
"""The columns of a document, unless others are named."""


def read_text(source: DocumentSource, options: ReadOptions) -> Iterator[Document]:
    """Read a whole file as one document, whose id is the name of the file."""
    try:
        text = source.text()
    except UnicodeError as error:
        source.problems.report(source.file, decoding_problem(error, source.encoding))
    else:
        yield Document(source.name, text, position=source.file)


def read_lines(source: DocumentSource, options: ReadOptions) -> Iterator[Document]:
    """Read each line as a document, except blank lines."""
    for number, line in source.lines():
        if line.strip():
            yield Document(f"{source.name}:{number}", line, position=source.place(number))


def read_names(source: DocumentSource, options: ReadOptions) -> Iterator[Document]:
    """Read a column of tab-separated lines. Each cell is a document and its only mention."""
    text_column = int(options.text_column or 1)
    id_column = int(options.id_column or 0)
    for number, line in source.lines():
        if not line.strip():
            continue
        cells = ["", *(cell.strip() for cell in line.split("\t"))]
        name, doc_id = (cells[column] if column < len(cells) else "" for column in (text_column, id_column))
        if name:
            mentions = (Mention(0, len(name), name, UNTYPED),)
            doc_id = doc_id or f"{source.name}:{number}"
            yield Document(doc_id, name, mentions, position=source.place(number))
        else:
            source.broken(number, f"no name in column {text_column}")


def read_jsonl(source: DocumentSource, options: ReadOptions) -> Iterator[Document]:
    """Read each line as a JSON object, except blank lines."""
    for number, line in source.lines():
        if line.strip():
            try:
                yield json_document(line, f"{source.name}:{number}", source.place(number), options)
            except BrokenRecord as reason:
                source.broken(number, reason)


def json_document(raw: str | bytes, name: str, place: str, options: ReadOptions) -> Document:
    """Read a document from the text of a JSON object, see `value_document`.

    Raises:
        BrokenRecord: The text is not such an object.
    """
    try:
        value = parse_json(raw)
    except ValueError as error:
        raise _not_json(error) from error
    return value_document(value, name, place, options)


def value_document(value: object, name: str, place: str, options: ReadOptions) -> Document:
    """Read a document from a JSON object.

    Args:
        value: The JSON value.
        name: The id of the document, if the object has none.
        place: The file and line of the document, for messages.
        options: How to read it.

    Raises:
        BrokenRecord: The value is not such an object.
    """
    record = _record(value)
    text_key, id_key = options.text_column or TEXT, options.id_column or ID
    title_key = options.title_column or TITLE
    text = _string(record, text_key)
    title = _string(record, title_key) if title_key != text_key and record.get(title_key) is not None else ""
    doc_id = record.get(id_key)
    if isinstance(doc_id, bool) or not isinstance(doc_id, (str, int, type(None))):
        raise BrokenRecord(f"the value of {id_key!r} must be a string or a whole number")
    meta = {key: value for key, value in record.items() if key not in (text_key, id_key)}
    doc_id = name if doc_id in (None, "") else str(doc_id)
    return Document(doc_id, with_title(title, text), title=title, meta=meta, position=place)


def with_title(title: str, text: str) -> str:
    """Return the text of a document with a title."""
    return " ".join(part for part in (title, text) if part)


def _record(value: object) -> dict[str, Any]:
    try:
        check_writable(value, allow_nan=False)
    except ValueError as error:
        raise _not_json(error) from error
    if not isinstance(value, dict):
        raise BrokenRecord("this is not a JSON object")
    return value


def _not_json(error: ValueError) -> BrokenRecord:
    return BrokenRecord(f"this is not JSON in Unicode ({error})")


def _string(record: Mapping[str, Any], key: str) -> str:
    if key not in record:
        raise BrokenRecord(f"there is no key {key!r}; the keys are: {', '.join(map(repr, record)) or 'none'}")
    value = record[key]
    if not isinstance(value, str):
        raise BrokenRecord(f"the value of {key!r} is not a string")
    return value


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


def read_pubtator_file(source: DocumentSource, options: ReadOptions) -> Iterator[Document]:
    """Read a PubTator file."""
    titled = _PubtatorSource(source.path, name=source.name, problems=source.problems, encoding=source.encoding)
    for document in read_pubtator(titled):
        number, title = titled.titles.popleft()
        mentions = document.mentions if options.gold else ()
        yield Document(document.doc_id, document.text, mentions, title, {"title": title}, position=source.place(number))
    if options.gold:
        titled.show_mismatches()
