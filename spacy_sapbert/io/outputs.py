"""Write records of linked documents: JSON lines, PubTator, TSV or HTML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..corpora.docs import DOC_ID
from ..files import open_output
from ..kb.knowledge_base import KnowledgeBase
from ..types import NIL, Link
from .formats import OutputFormat
from .html import render_parts

Records = Iterable[Mapping[str, Any]]

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
    "probability",
    "split",
    "reason",
    "tie",
)

# characters that some programs read as the end of a line or a column; one blank each, so that offsets stay
_ONE_LINE = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
# JSON allows these characters, but some programs read them as the end of a line
_JSON_LINE = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def write_records(records: Records, format: OutputFormat, path: Path | None, kb: KnowledgeBase) -> None:
    """Write an output as a stream. The file appears when it is complete.

    Args:
        records: The records, see `records.record_of`. They may have been written to JSON and read again.
        format: The format to write.
        path: The file, gzipped if its name ends in `.gz`. None for standard output.
        kb: The knowledge base, for the names of concepts on an HTML page.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    with open_output(path) as write:
        if format is OutputFormat.html:
            for piece in render_parts(map(_doc, records), kb, "Linked documents"):
                write(piece)
            return
        if format is OutputFormat.tsv:
            write("\t".join(TSV_COLUMNS) + "\n")
        for record in records:
            write(_WRITERS[format](record))


def _jsonl(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False).translate(_JSON_LINE) + "\n"


def _pubtator(record: Mapping[str, Any]) -> str:
    doc_id = _one_line(record["id"]).replace("|", " ")
    text, title = record["text"], record.get("title")
    # without a title, the whole text takes its place: an empty title would shift all offsets by one
    head, body = (title, text[len(title) + 1 :]) if title else (text, "")
    lines = [f"{doc_id}|t|{_one_line(head)}", f"{doc_id}|a|{_one_line(body)}"]
    for entity in record["entities"]:
        kb_id = "-" if entity["kb_id"] in ("", NIL) else entity["kb_id"]
        lines.append(_row(doc_id, entity["start"], entity["end"], entity["text"], entity["label"], kb_id))
    return "\n".join(lines) + "\n\n"


def _tsv(record: Mapping[str, Any]) -> str:
    rows = []
    for entity in record["entities"]:
        place = (record["id"], entity["start"], entity["end"], entity["text"], entity["label"])
        for link in _links(entity) or [Link(entity["text"], None, None, None)]:
            numbers = [None if value is None else f"{value:.4f}" for value in (link.score, link.probability)]
            split = "true" if link.split else "false"
            named = (link.text, link.long_form, link.concept_id, link.name)
            rows.append(_row(*place, *named, *numbers, split, link.reason, link.tie))
    return "".join(f"{row}\n" for row in rows)


def _links(entity: Mapping[str, Any]) -> list[Link]:
    return [Link(**link) for link in entity["links"]]


def _doc(record: Mapping[str, Any]) -> tuple[Doc, list[Span]]:
    """Return the text of a record as a document, and its mentions."""
    entities, text = record["entities"], record["text"]
    bounds = sorted({0, len(text), *(entity[side] for entity in entities for side in ("start", "end"))})
    words = [text[start:end] for start, end in pairwise(bounds)]
    doc = Doc(Vocab(), words=words, spaces=[False] * len(words))
    doc.user_data[DOC_ID] = record["id"]
    mentions = []
    for entity in entities:
        found = doc.char_span(entity["start"], entity["end"], label=entity["label"], kb_id=entity["kb_id"])
        assert found is not None  # a word begins and ends there
        found._.links = _links(entity)
        mentions.append(found)
    return doc, mentions


def _row(*values: object) -> str:
    return "\t".join("" if value is None else _one_line(str(value)) for value in values)


def _one_line(text: str) -> str:
    return text.translate(_ONE_LINE)


_WRITERS: dict[OutputFormat, Callable[[Mapping[str, Any]], str]] = {
    OutputFormat.jsonl: _jsonl,
    OutputFormat.pubtator: _pubtator,
    OutputFormat.tsv: _tsv,
}
