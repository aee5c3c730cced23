"""Write records of linked documents as a stream, in every output format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..documents.formats import OutputFormat
from ..files.output import open_output
from ..kb.ids import encode_id
from .bioc import bioc_json_pieces, bioc_pieces
from .corpus_ids import joined_ids
from .html import html_pieces
from .passages import PassagePlaces
from .tables import csv_pieces, tsv_pieces, write_parquet

# characters that some programs read as the end of a line or a column; one blank each, so that offsets stay
_ONE_LINE = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
# JSON allows these characters, but some programs read them as the end of a line
_JSON_LINE = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}

Records = Iterable[Mapping[str, Any]]


def write_records(records: Records, format: OutputFormat, path: Path | None) -> None:
    """Write an output as a stream. The file appears when it is complete.

    Args:
        records: Records of `record_of`, or of the JSON lines that this function wrote.
        format: The format to write.
        path: The file, gzipped if its name ends in `.gz`. None for standard output.

    Raises:
        SapbertError: E507 the file cannot be written, E542 pyarrow is not installed, E552 there is no file for a
            Parquet table.
    """
    if format is OutputFormat.parquet:
        write_parquet(records, path)
        return
    with open_output(path) as write:
        for piece in text_pieces(records, format):
            write(piece)


def text_pieces(records: Records, format: OutputFormat) -> Iterator[str]:
    """Yield an output in a text format in pieces, at least one per record."""
    return _WRITERS[format](records)


def json_line(record: Mapping[str, Any]) -> str:
    """Return the line of a record in the JSON lines output."""
    return json.dumps(record, ensure_ascii=False).translate(_JSON_LINE) + "\n"


def _jsonl_pieces(records: Records) -> Iterator[str]:
    return map(json_line, records)


def _pubtator_pieces(records: Records) -> Iterator[str]:
    return map(_pubtator, records)


def _pubtator(record: Mapping[str, Any]) -> str:
    """Return one PubTator record for each passage of the document, as it was read."""
    doc_id = encode_id(record["id"])
    places = PassagePlaces(record)
    passages = [
        _pubtator_head(doc_id, record["text"][start:end], title)
        for start, end, title in zip(places.starts, places.ends, places.titles, strict=True)
    ]
    for entity in record["entities"]:
        number = places.number(entity["start"])
        shift, limit = places.starts[number], places.ends[number]
        start, end = entity["start"], min(entity["end"], limit)  # a mention can reach into the next passage
        text = entity["text"][: end - start]
        cells = doc_id, str(start - shift), str(end - shift), _one_line(text), _one_line(entity["label"])
        passages[number].append("\t".join((*cells, joined_ids(entity))))
    return "".join("\n".join(lines) + "\n\n" for lines in passages)


def _pubtator_head(doc_id: str, text: str, title: str) -> list[str]:
    # without a title, the whole text takes its place: an empty title would shift all offsets by one
    head, body = (title, text[len(title) + 1 :]) if title else (text, "")
    return [f"{doc_id}|t|{_one_line(head)}", f"{doc_id}|a|{_one_line(body)}"]


def _one_line(text: str) -> str:
    return text.translate(_ONE_LINE)


_WRITERS: dict[OutputFormat, Callable[[Records], Iterator[str]]] = {
    OutputFormat.jsonl: _jsonl_pieces,
    OutputFormat.tsv: tsv_pieces,
    OutputFormat.csv: csv_pieces,
    OutputFormat.pubtator: _pubtator_pieces,
    OutputFormat.bioc: bioc_pieces,
    OutputFormat.biocjson: bioc_json_pieces,
    OutputFormat.html: html_pieces,
}
