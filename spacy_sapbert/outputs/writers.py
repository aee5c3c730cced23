"""Write records of linked documents as a stream, in every output format."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ..documents.annotation_tools import doccano_example, label_studio_task, prodigy_task, pubannotation_document
from ..documents.bioc import bioc_json, bioc_xml
from ..documents.brat import brat_files, file_name_of
from ..documents.formats import TYPE_SYSTEM, OutputFormat
from ..documents.pubtator import pubtator_record
from ..documents.uima import type_system, xmi_files
from ..errors import CannotWriteError, OptionError
from ..files.opening import without_gz
from ..files.output import open_output, replacing_folder
from ..files.values import table_lines
from ..types import Document, Mention
from .fhir import bundle_pieces
from .html import html_pieces
from .omop import COLUMNS, OmopConcepts, note_nlp_rows
from .phenopackets import phenopacket
from .tables import (
    COMPRESSED,
    PassageOffsets,
    Record,
    check_table,
    joined_ids,
    linked_ids,
    table_pieces,
    table_rows,
    write_parquet,
    write_parquet_rows,
    write_workbook,
)

# JSON allows these characters, but some programs read them as the end of a line
_JSON_LINE = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
# the columns of the table that an annotation of BioC has as fields of its own
_ELSEWHERE = frozenset({"doc_id", "start", "end", "offsets", "passage", "text", "label", "snippet", "concept_id"})

Records = Iterable[Record]
Values = dict[str, Any]


def write_records(records: Records, format: OutputFormat, path: Path | None, *, concepts: Path | None = None) -> None:
    """Write an output as a stream. The file appears when it is complete.

    Args:
        records: Records of `record_of`, or of the JSON lines that this function wrote.
        path: The file, gzipped if its name ends in `.gz`. None for standard output. See `check_output` for folders.
        concepts: The table CONCEPT of OMOP, for the format omop.

    Raises:
        SapbertError: E507 the file cannot be written, E542 a package is not installed, E533 there is no file for a
            Parquet table or a workbook.
    """
    if format in COMPRESSED:
        (write_parquet if format is OutputFormat.parquet else write_workbook)(records, path)
        return
    if format in _FILES:
        _write_files(records, format, path)
        return
    if format is OutputFormat.omop:
        rows = note_nlp_rows(records, _concepts(format, concepts))
        if path and path.suffix.lower() == ".parquet":
            write_parquet_rows(rows, COLUMNS, check_table(path, OutputFormat.parquet))
            return
        with open_output(path) as write:
            for line in table_lines(chain([COLUMNS], (row.values() for row in rows)), ","):
                write(line)
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


# --- BioC


def bioc_document(record: Record) -> Values:
    """Return a document as BioC JSON has it. The title is a passage of its own, and so is each joined record."""
    text = record["text"]
    bounds = [bound for bound in _bounds(record) if bound[0] < bound[1] or bound[0] == 0]
    passages = [_passage(text, *bound) for bound in bounds]
    starts = [start for start, _, _ in bounds]
    for number, entity in enumerate(record["entities"], start=1):
        # a mention may begin in the title and end in the text
        inside = max(0, bisect_right(starts, entity["start"]) - 1)
        passages[inside]["annotations"].append(_annotation(number, record, entity))
    return {"id": record["id"], "infons": {}, "passages": passages, "annotations": [], "relations": []}


def _bounds(record: Record) -> list[tuple[int, int, str]]:
    """Return start, end and type of the passages."""
    title, passages = record.get("title", ""), PassageOffsets(record)
    first, *later = zip(passages.starts, passages.ends, strict=True)
    begin = [(0, len(title), "title"), (len(title) + 1, first[1], "abstract")] if title else [(0, first[1], "text")]
    return [*begin, *((start, end, "text") for start, end in later)]


def _passage(text: str, start: int, end: int, type: str) -> Values:
    rest: Values = {"sentences": [], "annotations": [], "relations": []}
    return {"infons": {"type": type}, "offset": start, "text": text[start:end], **rest}


def _annotation(number: int, record: Record, entity: Record) -> Values:
    text = record["text"]
    pieces = entity.get("offsets") or [[entity["start"], entity["end"]]]
    return {
        "id": str(number),
        "infons": _infons(record, entity),
        "locations": [{"offset": start, "length": end - start} for start, end in pieces],
        "text": " ".join(text[start:end] for start, end in pieces),
    }


def _infons(record: Record, entity: Record) -> dict[str, str]:
    """Return type, ids and the values of each link. The keys of the second part of a composite end in `.2`."""
    rows = list(table_rows([{**record, "entities": [entity], "passages": ()}]))  # BioC counts in the document
    infons = {"type": entity["label"], "identifier": joined_ids(entity)}
    for number, row in enumerate(rows, start=1):
        suffix = f".{number}" if number > 1 else ""
        own = {
            name: value
            for name, value in row.items()
            if name not in _ELSEWHERE and value is not None and value is not False
        }
        infons |= {f"{name}{suffix}": "true" if value is True else str(value) for name, value in own.items()}
        pieces = row["offsets"] if row["split"] else None
        if pieces:
            infons[f"offsets{suffix}"] = pieces
    return infons


# --- annotation tools


def document_of(record: Record) -> tuple[Document, dict[str, str]]:
    """Return the document of a record with its linked mentions, and the preferred names of their concepts."""
    mentions: list[Mention] = []
    names: dict[str, str] = {}
    for entity in record["entities"]:
        pieces = tuple((start, end) for start, end in entity.get("offsets", ()))
        place = entity["start"], entity["end"], entity["text"], entity["label"]
        mentions.append(Mention(*place, linked_ids(entity), offsets=pieces))
        names.update((link["concept_id"], link["preferred_name"] or "") for link in entity["links"])
    return Document(record["id"], record["text"], tuple(mentions)), names


def _array(values: Iterable[Values]) -> Iterator[str]:
    yield "["
    for number, value in enumerate(values):
        yield ("," if number else "") + "\n" + json.dumps(value, ensure_ascii=False)
    yield "\n]\n"


def check_output(path: Path | None, format: OutputFormat, concepts: Path | None = None) -> None:
    """Check that an output can be written, before hours of work. See `write_records` for the arguments."""
    if concepts or format is OutputFormat.omop:
        _concepts(format, concepts)
    if format is OutputFormat.omop and path and path.suffix.lower() == ".parquet":
        format = OutputFormat.parquet
    if format in COMPRESSED:
        check_table(path, format)
    elif format in _FILES:
        _check_files(path, format)


def _concepts(format: OutputFormat, concepts: Path | None) -> OmopConcepts:
    if concepts is None or format is not OutputFormat.omop:
        raise OptionError(option="--concepts", reason="the format omop needs it, and no other format takes it")
    return OmopConcepts(concepts)


def _check_files(path: Path | None, format: OutputFormat) -> Path:
    """Return the new folder for the files of documents, or the file for a single document."""
    if path is None or (path.exists() and not path.is_file() and not (path.is_dir() and not any(path.iterdir()))):
        reason = "it writes files for each document, so --output must be a new or an empty folder"
        raise OptionError(option=f"The format {format.value}", reason=reason)
    return path


def _write_files(records: Records, format: OutputFormat, path: Path | None) -> None:
    """Write the files of each document into a folder, or those of the only document to a file with the ending."""
    path, (make, ending) = _check_files(path, format), _FILES[format]
    if ending and without_gz(path).name.lower().endswith(ending):
        single = [record for record, _ in zip(records, range(2), strict=False)]
        if len(single) != 1:
            reason = f"a file {ending} has one document, but there are {'more' if single else 'none'}"
            remedy = f"Give a new folder, and --to {format.value}."
            raise OptionError(option=f"--output {path}", reason=reason, remedy=remedy)
        with open_output(path) as write:
            write("".join(make(single[0]).values()))
        return
    names: set[str] = set()
    try:
        with replacing_folder(path) as folder:
            for record in records:
                name = file_name_of(record["id"])
                while name.casefold() in names:
                    name += ".2"
                names.add(name.casefold())
                for suffix, text in make(record).items():
                    (folder / f"{name}{suffix}").write_bytes(text.encode())
            if format is OutputFormat.xmi:
                (folder / TYPE_SYSTEM).write_text(type_system(), encoding="utf-8")
    except OSError as error:
        raise CannotWriteError(path=path, reason=error.strerror or error) from error


def _json_file(value: Values) -> dict[str, str]:
    return {".json": json.dumps(value, ensure_ascii=False, indent=1) + "\n"}


_FILES: dict[OutputFormat, tuple[Callable[[Record], dict[str, str]], str]] = {
    OutputFormat.brat: (lambda record: brat_files(*document_of(record)), ""),
    OutputFormat.xmi: (lambda record: xmi_files(*document_of(record)), ".xmi"),
    OutputFormat.pubannotation: (
        lambda record: _json_file(pubannotation_document(*document_of(record))),
        ".pubannotation.json",
    ),
    OutputFormat.phenopacket: (lambda record: _json_file(phenopacket(record)), ".phenopacket.json"),
}
"""What makes the files of a document, by their endings, and the ending of a file for a single document."""
_WRITERS: dict[OutputFormat, Callable[[Records], Iterator[str]]] = {
    OutputFormat.jsonl: lambda records: map(json_line, records),
    OutputFormat.tsv: lambda records: table_pieces(records, "\t"),
    OutputFormat.csv: lambda records: table_pieces(records, ","),
    OutputFormat.pubtator: lambda records: map(_pubtator, records),
    OutputFormat.bioc: lambda records: bioc_xml(map(bioc_document, records)),
    OutputFormat.biocjson: lambda records: bioc_json(map(bioc_document, records)),
    OutputFormat.html: html_pieces,
    OutputFormat.fhir: bundle_pieces,
    OutputFormat.labelstudio: lambda records: _array(label_studio_task(*document_of(record)) for record in records),
    OutputFormat.prodigy: lambda records: (json_line(prodigy_task(*document_of(record))) for record in records),
    OutputFormat.doccano: lambda records: (json_line(doccano_example(*document_of(record))) for record in records),
}
