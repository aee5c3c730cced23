"""Write records of linked documents as a stream, in every output format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..documents.bioc import bioc_json, bioc_xml
from ..documents.formats import OutputFormat
from ..documents.pubtator import pubtator_record
from ..files.output import open_output
from .bioc import bioc_document
from .html import html_pieces
from .tables import PassageOffsets, Record, joined_ids, table_pieces, write_parquet

# JSON allows these characters, but some programs read them as the end of a line
_JSON_LINE = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}

Records = Iterable[Record]


def write_records(records: Records, format: OutputFormat, path: Path | None) -> None:
    """Write an output as a stream. The file appears when it is complete.

    Args:
        records: Records of `record_of`, or of the JSON lines that this function wrote.
        format: The format to write.
        path: The file, gzipped if its name ends in `.gz`. None for standard output.

    Raises:
        SapbertError: E507 the file cannot be written, E542 pyarrow is not installed, E533 there is no file for a
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


def json_line(record: Record) -> str:
    """Return the line of a record in the JSON lines output."""
    return json.dumps(record, ensure_ascii=False).translate(_JSON_LINE) + "\n"


def _pubtator(record: Record) -> str:
    """Return one PubTator record for each passage of the document, as it was read."""
    passages = PassageOffsets(record)
    mentions: list[list[tuple[int, int, str, str, str]]] = [[] for _ in passages.starts]
    for entity in record["entities"]:
        number = passages.number(entity["start"])
        shift = passages.starts[number]
        start, end = entity["start"], min(entity["end"], passages.ends[number])  # it can reach into the next passage
        row = (start - shift, end - shift, entity["text"][: end - start], entity["label"], joined_ids(entity))
        mentions[number].append(row)
    spans = zip(passages.starts, passages.ends, passages.titles, mentions, strict=True)
    text = record["text"]
    return "".join(pubtator_record(record["id"], title, text[start:end], rows) for start, end, title, rows in spans)


_WRITERS: dict[OutputFormat, Callable[[Records], Iterator[str]]] = {
    OutputFormat.jsonl: lambda records: map(json_line, records),
    OutputFormat.tsv: lambda records: table_pieces(records, "\t"),
    OutputFormat.csv: lambda records: table_pieces(records, ","),
    OutputFormat.pubtator: lambda records: map(_pubtator, records),
    OutputFormat.bioc: lambda records: bioc_xml(map(bioc_document, records)),
    OutputFormat.biocjson: lambda records: bioc_json(map(bioc_document, records)),
    OutputFormat.html: html_pieces,
}
