"""Write records as tables with one row per link: TSV, CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, SapbertError
from ..files.opening import without_gz
from ..files.output import replacing
from ..files.tables import table_lines
from ..types import NIL, SCORE_DIGITS
from .passages import PassagePlaces

if TYPE_CHECKING:
    import pyarrow

COLUMNS: dict[str, type] = {
    "doc_id": str,
    "start": int,
    "end": int,
    "offsets": str,
    "passage": int,
    "text": str,
    "label": str,
    "snippet": str,
    "concept_id": str,
    "preferred_name": str,
    "types": str,
    "score": float,
    "probability": float,
    "assertion": str,
    "matched_name": str,
    "linked_text": str,
    "long_form": str,
    "split": bool,
    "reason": str,
    "tie": str,
    "reasons": str,
    "runner_up_id": str,
    "runner_up_name": str,
    "runner_up_score": float,
    "runner_up_probability": float,
    "rejected_id": str,
    "rejected_name": str,
    "rejected_score": float,
}
"""The columns of every table and their types."""
CODES = "codes_"
"""The beginning of the column with the codes of a code system: "codes_ICD10CM"."""

NOT_LOOKED_UP = "the linker did not look up this mention"
ROWS_PER_GROUP = 20_000
_SEPARATOR = "|"
Row = dict[str, Any]


def table_rows(records: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the rows of records: one for each link, and one for a mention without links.

    If several records of a file are one document, offsets are those in the record of the mention, as in the file.

    Yields:
        The value of each of the `COLUMNS`, then the codes of each code system of the record. A missing value is None.
    """
    for record in records:
        systems = record.get("code_systems", ())
        places = PassagePlaces(record)
        for entity in record["entities"]:
            number = places.number(entity["start"])
            passage = number + 1 if record.get("passages") else None
            for link in entity["links"] or [_no_link(entity)]:
                row = _row(record["id"], entity, link, passage, places.starts[number])
                yield row | _code_cells(link, systems)


def columns_of(records: Iterable[Mapping[str, Any]]) -> tuple[dict[str, type], Iterator[Mapping[str, Any]]]:
    """Return the columns of a table and their types, and the records again.

    The first record decides which code systems have a column.
    """
    rest = iter(records)
    first = next(rest, None)
    if first is None:
        return COLUMNS, rest
    return COLUMNS | {f"{CODES}{system}": str for system in first.get("code_systems", ())}, chain([first], rest)


def unique_codes(link: Mapping[str, Any], system: str) -> list[str]:
    """Return the codes of a link in a code system, each once, the most exact first."""
    return list(dict.fromkeys(code["code"] for code in link.get("codes", ()) if code["system"] == system))


def _code_cells(link: Mapping[str, Any], systems: Iterable[str]) -> Row:
    return {f"{CODES}{system}": _SEPARATOR.join(unique_codes(link, system)) or None for system in systems}


def csv_pieces(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a CSV table. Cells with line ends, commas or quotes are quoted."""
    return _pieces(records, ",")


def tsv_pieces(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a TSV table. Each tab and line end in a cell becomes a blank."""
    return _pieces(records, "\t")


def write_parquet(records: Iterable[Mapping[str, Any]], path: Path | None) -> None:
    """Write a Parquet table in groups of rows, so that memory does not grow with the number of records.

    Raises:
        SapbertError: E507 the file cannot be written, E542 pyarrow is not installed, E552 there is no file, or its name
            ends in `.gz`.
    """
    path = check_parquet(path)
    import pyarrow
    from pyarrow import parquet

    columns, records = columns_of(records)
    schema = arrow_schema(columns)
    rows = table_rows(records)
    with replacing(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
        while group := list(islice(rows, ROWS_PER_GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema))


def check_parquet(path: Path | None) -> Path:
    """Return the path of a Parquet table that can be written.

    Raises:
        SapbertError: E542 pyarrow is not installed, E552 there is no file, or its name ends in `.gz`.
    """
    if path is None:
        raise SapbertError(Errors.E552.format(reason="it cannot be written to standard output"))
    if path != without_gz(path):
        raise SapbertError(Errors.E552.format(reason=f"{path} cannot be gzipped, since the table is compressed itself"))
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise SapbertError(Errors.E542.format(module="pyarrow", extra="parquet")) from error
    return path


def arrow_schema(columns: Mapping[str, type]) -> pyarrow.Schema:
    """Return the Arrow schema of columns, given by their types in Python."""
    import pyarrow

    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    return pyarrow.schema([(name, types[of_column]) for name, of_column in columns.items()])


def _pieces(records: Iterable[Mapping[str, Any]], delimiter: str) -> Iterator[str]:
    columns, records = columns_of(records)
    rows = (map(row.get, columns) for row in table_rows(records))
    return table_lines(chain([columns], rows), delimiter)


def _row(doc_id: str, entity: Mapping[str, Any], link: Mapping[str, Any], passage: int | None, shift: int) -> Row:
    runner_up, rejected = link["runner_up"] or {}, link["rejected"] or {}
    offsets = link.get("offsets") or entity.get("offsets")
    values = (
        doc_id,
        entity["start"] - shift,
        entity["end"] - shift,
        ";".join(f"{start - shift} {end - shift}" for start, end in offsets) if offsets else None,
        passage,
        entity["text"],
        entity["label"],
        entity["snippet"],
        link["concept_id"] or NIL,
        link["preferred_name"],
        _SEPARATOR.join(link["types"]) or None,
        _rounded(link["score"]),
        _rounded(link["probability"]),
        _SEPARATOR.join(entity.get("assertion", ())) or None,  # records of an earlier version have none
        link["name"],
        link["text"],
        link["long_form"],
        link["split"],
        link["reason"],
        link["tie"],
        _SEPARATOR.join(link.get("reasons", ())) or None,
        runner_up.get("concept_id"),
        runner_up.get("preferred_name"),
        _rounded(runner_up.get("score")),
        _rounded(runner_up.get("probability")),
        rejected.get("concept_id"),
        rejected.get("preferred_name"),
        _rounded(rejected.get("score")),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _no_link(entity: Mapping[str, Any]) -> Row:
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


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, SCORE_DIGITS)
