"""Read documents from text: whole files, lines, JSON lines, and columns of names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..files.source import BrokenRecord, excerpt
from ..files.values import check_writable, parse_json
from ..types import Document, Mention
from .source import UNTYPED, DocumentSource, ReadOptions

TEXT, ID, TITLE = "text", "id", "title"
"""The columns of a document, unless others are named."""


def read_text(source: DocumentSource) -> Iterator[Document]:
    """Read a whole file as one document, whose id is the name of the file."""
    try:
        text = source.text()
    except BrokenRecord as reason:
        source.broken(1, reason)
    else:
        yield Document(source.name, text, position=source.file)


def read_lines(source: DocumentSource) -> Iterator[Document]:
    """Read each line as a document, except blank lines."""
    for number, line in source.filled_lines():
        yield Document(source.numbered(number), line, position=source.place(number))


def read_numbered_names(source: DocumentSource) -> Iterator[Document]:
    """Read a column of tab-separated lines without a header. Each cell is a document and its only mention."""
    text_column = int(source.options.text_column or 1)
    id_column = int(source.options.id_column or 0)

    def read(number: int, line: str) -> Document:
        cells = ["", *(cell.strip() for cell in line.split("\t"))]
        name, doc_id = (cells[column] if column < len(cells) else "" for column in (text_column, id_column))
        if not name:
            raise BrokenRecord(f"no name in column {text_column}")
        document = Document(doc_id or source.numbered(number), name, position=source.place(number))
        return with_whole_mention(document)

    yield from source.each(source.filled_lines(), read)


def with_whole_mention(document: Document) -> Document:
    """Return a document with its whole text as the only mention."""
    text = document.text
    return document._replace(mentions=(Mention(0, len(text), text, UNTYPED),))


def read_jsonl(source: DocumentSource) -> Iterator[Document]:
    """Read each line as a JSON object, except blank lines."""

    def read(number: int, line: str) -> Document:
        try:
            value = parse_json(line)
        except ValueError as error:
            raise _not_json(error) from error
        document = value_document(value, source.numbered(number), source.options)
        return document._replace(position=source.place(number))

    yield from source.each(source.filled_lines(), read)


def value_document(value: object, name: str, options: ReadOptions) -> Document:
    """Read a document from a JSON object. `name` is its id, if the object has none."""
    try:
        check_writable(value, allow_nan=False)
    except ValueError as error:
        raise _not_json(error) from error
    if not isinstance(value, dict):
        raise BrokenRecord("this is not a JSON object")
    text_key, id_key = options.text_column or TEXT, options.id_column or ID
    title_key = options.title_column or TITLE
    text = _string(value, text_key)
    title = _string(value, title_key) if title_key != text_key and value.get(title_key) is not None else ""
    doc_id = value.get(id_key)
    if isinstance(doc_id, bool) or not isinstance(doc_id, (str, int, type(None))):
        raise BrokenRecord(f"the value of {id_key!r} must be a string or a whole number")
    meta = {key: value for key, value in value.items() if key not in (text_key, id_key)}
    return Document(name if doc_id in (None, "") else str(doc_id), with_title(title, text), title=title, meta=meta)


def with_title(title: str, text: str) -> str:
    """Return the text of a document with a title."""
    return " ".join(part for part in (title, text) if part)


def _not_json(error: ValueError) -> BrokenRecord:
    return BrokenRecord(f"this is not JSON in Unicode ({error})")


def _string(record: dict[str, Any], key: str) -> str:
    if key not in record:
        keys = excerpt(", ".join(map(repr, record)))
        raise BrokenRecord(f"there is no key {key!r}; the keys are: {keys or 'none'}")
    value = record[key]
    if not isinstance(value, str):
        raise BrokenRecord(f"the value of {key!r} is not a string")
    return value
