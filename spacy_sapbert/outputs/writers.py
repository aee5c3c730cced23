"""Write records of linked documents as a stream, in every output format."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import copyfile
from typing import Any

from ..documents.annotation_tools import file_name_of
from ..documents.bioc import bioc_json, bioc_xml
from ..documents.formats import FORMATS, OUTPUT_FORMATS, TYPE_SYSTEM, Format, format_named, import_function
from ..documents.pubtator import pubtator_record
from ..documents.uima import TYPE_SYSTEM_FILE
from ..errors import OptionError
from ..files.opening import without_gz
from ..files.output import open_output, replacing_folder, writing
from ..files.postgres import Database
from ..files.values import json_list
from ..types import Document, Mention
from .health_records import COLUMNS, OmopConcepts, note_nlp_lines, note_nlp_rows, write_note_nlp
from .tables import PassageOffsets, Record, check_table, joined_ids, linked_ids, table_rows, write_parquet_rows

# JSON allows these characters, but some programs read them as the end of a line
_JSON_LINE = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
# the columns of the table that an annotation of BioC has as fields of its own
_ELSEWHERE = frozenset({"doc_id", "start", "end", "offsets", "passage", "text", "label", "snippet", "concept_id"})

Records = Iterable[Record]
Values = dict[str, Any]


def write_records(records: Records, format: str, path: Path | str | None, *, concepts: str | None = None) -> None:
    """Write an output as a stream. The file appears when it is complete.

    Args:
        records: Records of `record_of`, or of the JSON lines that this function wrote.
        format: One of `OUTPUT_FORMATS`.
        path: The file, gzipped if its name ends in `.gz`. None for standard output. See `check_output` for folders. Or
            the address of a database with a table NOTE_NLP.
        concepts: The table CONCEPT of OMOP or the address of a database, for the format omop.

    Raises:
        SapbertError: E507 the file cannot be written, E542 a package is not installed, E533 there is no file for a
            Parquet table or a workbook.
    """
    kind = check_output(path, format, concepts)
    if isinstance(path, str):
        write_note_nlp(records, Database(path, "public"), OmopConcepts.open(concepts or path))
    elif kind.needs:
        import_function(kind.write)(records, path)
    elif path and kind.shape.startswith("file"):
        _write_files(records, kind, path)
    elif concepts and path and path.suffix.lower() == ".parquet":
        write_parquet_rows(note_nlp_rows(records, OmopConcepts.open(concepts)), COLUMNS, path)
    else:
        with open_output(path) as write:
            for piece in note_nlp_lines(records, concepts) if concepts else text_pieces(records, kind.name):
                write(piece)


def text_pieces(records: Records, format: str) -> Iterator[str]:
    """Yield an output in a text format in pieces, at least one per record."""
    kind = FORMATS[format]
    if kind.write:
        pieces: Iterator[str] = import_function(kind.write)(records)
        return pieces
    values = (_value(record, kind) for record in records)
    return json_list("[", values, "\n]\n") if kind.shape == "list" else map(json_line, values)


def _value(record: Record, format: Format) -> Any:
    """Return what a format makes of a record."""
    if format.document:
        return import_function(format.document)(*document_of(record))
    return import_function(format.record)(record) if format.record else record


def json_line(record: Record) -> str:
    """Return the line of a record in the JSON lines output."""
    return json.dumps(record, ensure_ascii=False).translate(_JSON_LINE) + "\n"


def pubtator(records: Records) -> Iterator[str]:
    """Yield the records of PubTator."""
    return map(_pubtator, records)


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


def bioc(records: Records) -> Iterator[str]:
    """Yield the pieces of a collection of BioC in XML."""
    return bioc_xml(map(bioc_document, records))


def biocjson(records: Records) -> Iterator[str]:
    """Yield the pieces of a collection of BioC in JSON."""
    return bioc_json(map(bioc_document, records))


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


def check_output(path: Path | str | None, format: str, concepts: str | None = None) -> Format:
    """Check before hours of work that an output can be written, and return its format. See `write_records`."""
    kind = FORMATS[format_named(format, OUTPUT_FORMATS, "format of links")]
    if (format == "omop") != (concepts is not None):
        raise OptionError(option="--concepts", reason="the format omop needs it, and no other format takes it")
    if concepts:
        OmopConcepts.open(concepts)
    if isinstance(path, str):
        if format != "omop":
            raise OptionError(option=f"--to {format}", reason="a database takes the format omop alone")
        with Database(path, "public").transaction() as connection:
            connection.execute("SELECT note_nlp_id FROM note_nlp LIMIT 0")
        return kind
    if kind.needs or (format == "omop" and path and path.suffix.lower() == ".parquet"):
        check_table(path, format if kind.needs else "parquet")
    if kind.shape.startswith("file") and not (path and (_is_single(path, kind) or _is_new(path))):
        reason = "it writes files for each document, so --output must be a new or an empty folder"
        raise OptionError(option=f"The format {format}", reason=reason)
    return kind


def _is_single(path: Path, format: Format) -> bool:
    """Return whether a path is that of a file for one document, such as note.xmi."""
    return bool(format.written) and format.name in without_gz(path).name.lower().split(".")[1:] and not path.is_dir()


def _is_new(path: Path) -> bool:
    return not any(path.iterdir()) if path.is_dir() else not path.exists()


def _write_files(records: Records, format: Format, path: Path) -> None:
    """Write the files of each document into a folder, or that of the only document to a file of the format."""
    if _is_single(path, format):
        single = [record for record, _ in zip(records, range(2), strict=False)]
        if len(single) != 1:
            reason = f"it has one document, but there are {'more' if single else 'none'}"
            remedy = f"Give a new folder, and --to {format.name}."
            raise OptionError(option=f"--output {path}", reason=reason, remedy=remedy)
        with open_output(path) as write:
            write("".join(_files(single[0], format).values()))
        return
    names: Counter[str] = Counter()
    with writing(path), replacing_folder(path) as folder:
        for record in records:
            name = file_name_of(record["id"])
            names[key := name.casefold()] += 1
            name += f"~{names[key]}" if names[key] > 1 else ""
            for suffix, text in _files(record, format).items():
                (folder / f"{name}{suffix}").write_bytes(text.encode())
        if format.name == "xmi":
            copyfile(TYPE_SYSTEM_FILE, folder / TYPE_SYSTEM)


def _files(record: Record, format: Format) -> dict[str, str]:
    """Return the files of a document, by their endings."""
    value: dict[str, Any] = _value(record, format)
    return value if format.shape == "files" else {".json": json.dumps(value, ensure_ascii=False, indent=1) + "\n"}
