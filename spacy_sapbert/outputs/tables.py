"""Write records as tables with one row per link: TSV, CSV, Parquet and Excel."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from functools import partial
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..documents.formats import FORMATS
from ..errors import OptionError, requiring
from ..files.opening import without_gz
from ..files.output import replacing
from ..files.tables import write_sheet
from ..files.values import ONE_LINE, table_lines
from ..kb.ids import encode_id, split_ids
from ..types import NIL, SCORE_DIGITS

if TYPE_CHECKING:
    import pyarrow

_KINDS: dict[str, type] = {kind.__name__: kind for kind in (str, int, float, bool)}
_TABLE: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
"""The type of each column, and which value of which part of a record it has. `_row` adds the others."""
COLUMNS = {column: _KINDS[kind] for column, (kind, *_) in _TABLE.items()}
"""The columns of every table and their types."""
CODES = "codes_"
"""The beginning of the column with the codes of a code system: "codes_ICD10CM"."""

NOT_LOOKED_UP = "the linker did not look up this mention"
ROWS_PER_GROUP = 20_000
_SEPARATOR = "|"
Row = dict[str, Any]
Record = Mapping[str, Any]


class PassageOffsets:
    """The passages of a record.

    Args:
        record: A record of `record_of`. One without passages is a single passage that starts at 0.

    Attributes:
        starts: The first character of each passage in the text.
        ends: The position after its last character.
        titles: Its title; may be empty.
    """

    def __init__(self, record: Record) -> None:
        whole = {"start": 0, "end": len(record.get("text", "")), "title": record.get("title", "")}  # rows need no text
        passages = record.get("passages") or [whole]
        self.starts = [passage["start"] for passage in passages]
        self.ends = [passage["end"] for passage in passages]
        self.titles = [passage["title"] for passage in passages]

    def number(self, start: int) -> int:
        """Return the number, from 0, of the passage in which a mention begins."""
        return max(0, bisect_right(self.starts, start) - 1)


def linked_ids(entity: Record) -> tuple[str, ...]:
    """Return the ids of a mention. The id that another component set may itself be a list."""
    if entity["links"] or entity["kb_id"] in ("", NIL):
        return tuple(dict.fromkeys(link["concept_id"] for link in entity["links"] if link["concept_id"]))
    return split_ids(entity["kb_id"])


def joined_ids(entity: Record) -> str:
    """Return the ids of a mention as corpora have them: joined by `|`, or `-` if there are none.

    Separators inside an id become codes (see `encode_id`), but not in what another component set.
    """
    if entity["links"] or entity["kb_id"] in ("", NIL):
        return "|".join(map(encode_id, linked_ids(entity))) or "-"
    return str(entity["kb_id"]).translate(ONE_LINE)


def table_rows(records: Iterable[Record]) -> Iterator[Row]:
    """Yield the rows of records: one for each link, and one for a mention without links.

    If several records of a file are one document, offsets are those in the record of the mention, as in the file.

    Yields:
        The value of each of the `COLUMNS`, then the codes of each code system of the record, then the candidates that
        are listed. A missing value is None.
    """
    for record in records:
        systems = record.get("code_systems", ())
        passages = PassageOffsets(record)
        for entity in record["entities"]:
            number = passages.number(entity["start"])
            passage = number + 1 if record.get("passages") else None
            for link in entity["links"] or [_no_link(entity)]:
                codes = {f"{CODES}{system}": _codes(link, system) for system in systems}
                yield _row(record["id"], entity, link, passage, passages.starts[number]) | codes | _listed(link)


def _columns(records: Iterable[Record]) -> tuple[dict[str, type], Iterator[Record]]:
    """Return the columns of a table and their types, and the records again. The first one has the code systems."""
    rest = iter(records)
    first = next(rest, None)
    if first is None:
        return COLUMNS, rest
    codes, listed = code_columns(first.get("code_systems", ())), candidate_columns(first.get("candidates", 0))
    return COLUMNS | codes | listed, chain([first], rest)


def code_columns(systems: Iterable[str]) -> dict[str, type]:
    """Return the columns of code systems and their types."""
    return {f"{CODES}{system}": str for system in systems}


def candidate_columns(n: int) -> dict[str, type]:
    """Return the columns of the first candidates of each link and their types."""
    fields = {"id": str, "name": str, "score": float, "probability": float}
    return {f"candidate_{rank}_{field}": kind for rank in range(1, n + 1) for field, kind in fields.items()}


def _listed(link: Record) -> Row:
    """Return the values of the columns of candidates."""
    listed = link.get("candidates", ())
    values = (
        map(_cell, (other["concept_id"], other["preferred_name"], other["score"], other["probability"]))
        for other in listed
    )
    return dict(zip(candidate_columns(len(listed)), chain.from_iterable(values), strict=True))


def _codes(link: Record, system: str) -> str | None:
    """Return the codes of a link in a code system, each once, the most exact first."""
    codes = (code["code"] for code in link.get("codes", ()) if code["system"] == system)
    return _SEPARATOR.join(dict.fromkeys(codes)) or None


def table_pieces(records: Iterable[Record], delimiter: str) -> Iterator[str]:
    """Yield the lines of a table with a tab or a comma between cells, see `table_lines`."""
    columns, records = _columns(records)
    rows = (map(row.get, columns) for row in table_rows(records))
    return table_lines(chain([columns], rows), delimiter)


csv_lines, tsv_lines = partial(table_pieces, delimiter=","), partial(table_pieces, delimiter="\t")


def write_parquet(records: Iterable[Record], path: Path | None) -> None:
    """Write a Parquet table in groups of rows, so that memory does not grow with the number of records."""
    path = check_table(path, "parquet")
    columns, records = _columns(records)
    write_parquet_rows(table_rows(records), columns, path)


def write_parquet_rows(rows: Iterator[Row], columns: Mapping[str, type], path: Path) -> None:
    """Write rows as a Parquet table in groups."""
    import pyarrow
    from pyarrow import parquet

    schema = arrow_schema(columns)
    with replacing(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
        while group := list(islice(rows, ROWS_PER_GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema))


def write_workbook(records: Iterable[Record], path: Path | None) -> None:
    """Write the table as the only sheet of a workbook, as a stream."""
    path = check_table(path, "xlsx")
    columns, records = _columns(records)
    write_sheet(chain([columns], (map(row.get, columns) for row in table_rows(records))), path)


def check_table(path: Path | None, format: str) -> Path:
    """Return the path of a Parquet table or a workbook that can be written."""
    option, remedy = f"The format {format}", f"Give --output with a name that ends in .{format}."
    if path is None:
        raise OptionError(option=option, reason="the table cannot be written to standard output", remedy=remedy)
    if path != without_gz(path):
        reason = f"{path} cannot be gzipped, since the table is compressed itself"
        raise OptionError(option=option, reason=reason, remedy=remedy)
    extra, package = FORMATS[format].needs
    with requiring(extra, f"A table of the format {format}"):
        import_module(package)
    return path


def arrow_schema(columns: Mapping[str, type]) -> pyarrow.Schema:
    """Return the Arrow schema of columns, given by their types in Python."""
    import pyarrow

    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    types |= {date: pyarrow.date32(), datetime: pyarrow.timestamp("s")}
    return pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])


def _row(doc_id: str, entity: Record, link: Record, passage: int | None, shift: int) -> Row:
    parts = {"entity": entity, "link": link, "runner_up": link["runner_up"] or {}, "rejected": link["rejected"] or {}}
    # records of an earlier version lack some values
    row = {column: _cell(parts[place[0]].get(place[1])) if place else None for column, (_, *place) in _TABLE.items()}
    offsets = link.get("offsets") or entity.get("offsets") or ()
    return row | {
        "doc_id": doc_id,
        "start": entity["start"] - shift,
        "end": entity["end"] - shift,
        "offsets": ";".join(f"{start - shift} {end - shift}" for start, end in offsets) or None,
        "passage": passage,
        "concept_id": link["concept_id"] or NIL,
    }


def _no_link(entity: Record) -> Row:
    """Return the link of a mention that no linker looked up. Another component may have set an id."""
    concept_id = None if entity["kb_id"] in ("", NIL) else entity["kb_id"]
    names = ("preferred_name", "score", "probability", "name", "long_form", "tie", "runner_up", "rejected")
    reason = None if concept_id else NOT_LOOKED_UP
    return {
        **dict.fromkeys(names),
        "text": entity["text"],
        "concept_id": concept_id,
        "types": [],
        "split": False,
        "reason": reason,
    }


def _cell(value: Any) -> Any:
    """Return a value as a cell has it: a list as one text, and a number with few digits."""
    if isinstance(value, list | tuple):
        return _SEPARATOR.join(value) or None
    return round(value, SCORE_DIGITS) if isinstance(value, float) else value
