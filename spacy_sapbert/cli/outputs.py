"""Linked documents on their way out: JSON lines, PubTator, TSV or HTML, as streams of text."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from spacy.tokens import Span

from ..errors import Errors, SapbertError
from ..kb.store import ConceptStore
from ..pipeline.attributes import get_kb_ents, get_links, get_uses
from ..types import NIL, Link
from .formats import OutputFormat
from .html import render_parts
from .linked import LinkedDocument

TSV_COLUMNS = (
    "doc_id",
    "start",
    "end",
    "mention",
    "label",
    "text",
    "long_form",
    "concept_id",
    "name",
    "score",
    "split",
    "reason",
)

# a blank for each character that some program takes for the end of a line or a column, so that offsets stay
_ONE_LINE = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
# JSON may hold these as they are, but some programs take them for the end of a line
_JSON_LINE = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def write_linked(linked: Iterable[LinkedDocument], format: OutputFormat, store: ConceptStore) -> Iterator[str]:
    """Write linked documents as a stream.

    store (ConceptStore): for the names of the concepts on a HTML page.
    YIELDS (str): what is to be written, at least once a document.
    """
    if format is OutputFormat.html:
        yield from render_parts(((item.doc, item.mentions) for item in linked), store, "Linked documents")
        return
    if format is OutputFormat.tsv:
        yield "\t".join(TSV_COLUMNS) + "\n"
    for item in linked:
        yield _WRITERS[format](item)


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Open the output; a file appears at `path` when the block ends without an error, gzipped if it ends in `.gz`.

    path (Path | None): None for standard output. A device or a pipe is written to as it is.
    YIELDS (Callable[[str], object]): writes a text as UTF-8.
    RAISES (SapbertError): E507 the file cannot be written.
    """
    if path is None:
        yield _to_stdout
        return
    is_special = path.exists() and not path.is_file()
    temporary = path if is_special else path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _open_binary(temporary, gzipped=path.suffix.lower() == ".gz") as handle:
            yield lambda text: handle.write(text.encode())
        if not is_special:
            os.replace(temporary, path)
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=path, reason=error.strerror or error)) from error
    finally:
        if not is_special:
            temporary.unlink(missing_ok=True)


def _to_stdout(text: str) -> None:
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


@contextmanager
def _open_binary(path: Path, *, gzipped: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as handle:
        if not gzipped:
            yield handle
            return
        # the same documents give the same bytes: no name and no time in the head
        with gzip.GzipFile("", "wb", fileobj=handle, mtime=0) as packed:
            yield cast(BinaryIO, packed)


def _jsonl(item: LinkedDocument) -> str:
    text = item.doc.text
    record: dict[str, Any] = {
        "id": item.document.doc_id,
        "text": text,
        "entities": [_entity(mention) for mention in item.mentions],
        "abbreviations": [
            {"start": use.start, "end": use.end, "text": text[use.start : use.end], "long_form": use.long}
            for use in get_uses(item.doc)
        ],
    }
    if item.document.meta:
        record["meta"] = item.document.meta
    return json.dumps(record, ensure_ascii=False).translate(_JSON_LINE) + "\n"


def _entity(mention: Span) -> dict[str, Any]:
    return {
        "start": mention.start_char,
        "end": mention.end_char,
        "text": mention.text,
        "label": mention.label_,
        "kb_id": mention.kb_id_,
        "kb_ents": [{"id": concept_id, "score": score} for concept_id, score in get_kb_ents(mention)],
        "links": [link._asdict() for link in get_links(mention)],
    }


def _pubtator(item: LinkedDocument) -> str:
    doc_id = _one_line(item.document.doc_id).replace("|", " ")
    text, title = item.doc.text, item.document.title
    # without a title, the whole text stands in its place: an empty title would move all offsets by one
    head, body = (title, text[len(title) + 1 :]) if title else (text, "")
    lines = [f"{doc_id}|t|{_one_line(head)}", f"{doc_id}|a|{_one_line(body)}"]
    for mention in item.mentions:
        kb_id = "-" if mention.kb_id_ in ("", NIL) else mention.kb_id_
        lines.append(_row(doc_id, mention.start_char, mention.end_char, mention.text, mention.label_, kb_id))
    return "\n".join(lines) + "\n\n"


def _tsv(item: LinkedDocument) -> str:
    rows = []
    for mention in item.mentions:
        place = (item.document.doc_id, mention.start_char, mention.end_char, mention.text, mention.label_)
        for link in get_links(mention) or [Link(mention.text, None, None, None)]:
            score = None if link.score is None else f"{link.score:.4f}"
            split = "true" if link.split else "false"
            rows.append(_row(*place, link.text, link.long_form, link.concept_id, link.name, score, split, link.reason))
    return "".join(f"{row}\n" for row in rows)


def _row(*values: object) -> str:
    return "\t".join("" if value is None else _one_line(str(value)) for value in values)


def _one_line(text: str) -> str:
    return text.translate(_ONE_LINE)


_WRITERS: dict[OutputFormat, Callable[[LinkedDocument], str]] = {
    OutputFormat.jsonl: _jsonl,
    OutputFormat.pubtator: _pubtator,
    OutputFormat.tsv: _tsv,
}
