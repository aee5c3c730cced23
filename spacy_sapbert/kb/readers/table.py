"""Tables with named columns: TSV, CSV or any other delimiter; one row a concept, or one row a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice

from ...errors import Errors, SapbertError
from ...files import without_gz
from ...types import Record
from .context import ReaderContext
from .curies import curie, without_release
from .delimited import name_cells, read_cells

FIELDS = ("id", "name", "synonyms", "alternative_ids", "types", "definition", "parents", "xrefs", "source")
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}

# SPARQL 1.1 Query Results TSV: variables head the columns, terms are written as in Turtle
_LITERAL = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"(?:@[A-Za-z0-9-]+|\^\^\S+)?')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r"}

_Row = tuple[int, list[str]]


def read_table(
    context: ReaderContext,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    header: Sequence[str] | None = None,
    where: Mapping[str, str] | None = None,
    separator: str = "|",
    delimiter: str | None = None,
    quoted: bool | None = None,
    skip: int = 0,
) -> Iterator[Record]:
    """Read a table. Ids may be IRIs, and the table may be a SPARQL result: `?term` heads a column, `<…>` is an IRI.

    Args:
        columns: for a field of `FIELDS`, the column or columns that hold it; a field that is not named here is in the
            column of its own name, if there is one. A cell of `id`, `name` or `source` holds one value (the first
            column the primary id, the preferred name), a cell of `synonyms`, `alternative_ids`, `types`, `parents` or
            `xrefs` any number. Columns may be given by number instead, counted from 1: then no row names them.
        header: the columns, for a file whose first row does not name them.
        where: columns and the cell that they must have; other rows are left out and counted.
        separator: what joins the values of a cell; empty where each cell is one value.
        delimiter: what stands between cells, by default as the file's name tells; a tab may be written `\\t`.
        quoted: whether cells may stand in double quotes; by default only with commas between them, as names hold
            quotation marks of their own.
        skip: lines before the table.

    Yields:
        one a row. A name is "preferred" where the table sets it apart from others, else "exact".

    Raises:
        SapbertError: E128 a column is missing, E129 there is no such field, E130 the delimiter is not plain, E132 it is
            not one character.
    """
    delimiter = (delimiter or _delimiter(context)).replace("\\t", "\t")
    if len(delimiter) != 1:
        raise SapbertError(Errors.E132.format(delimiter=delimiter))
    chosen = {field: [names] if isinstance(names, str) else list(names) for field, names in (columns or {}).items()}
    where = dict(where or {})
    with context.open(newline="") as lines:
        n_skipped = sum(1 for _ in islice(lines, skip))
        rows = read_cells(context, lines, delimiter, delimiter == "," if quoted is None else quoted, n_skipped)
        found, rows = _header(rows, header, [*chain(*chosen.values()), *where])
        fields = _fields(context, chosen, found)
        _require(context, {"where": list(where)}, found)
        for line, row in name_cells(context, rows, found):
            if all(row[column] == cell for column, cell in where.items()):
                yield from _record(context, line, row, fields, separator)
            else:
                context.drop("not selected")


def _header(
    rows: Iterator[_Row], header: Sequence[str] | None, wanted: Sequence[str]
) -> tuple[list[str], Iterator[_Row]]:
    """Return the columns, and the rows below them."""
    if header:
        return list(header), rows
    line, cells = next(rows, (0, []))
    if wanted and all(column.isascii() and column.isdecimal() for column in wanted):
        return [str(number) for number in range(1, len(cells) + 1)], chain([(line, cells)], rows)
    if cells and all(cell.startswith("?") for cell in cells):
        return [cell[1:] for cell in cells], ((line, list(map(_term, cells))) for line, cells in rows)
    return cells, rows


def _term(cell: str) -> str:
    """Return what a term of a SPARQL result stands for, without the marks of its kind."""
    literal = _LITERAL.fullmatch(cell)
    if literal:
        return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), literal["text"])
    return cell[1:-1] if cell.startswith("<") and cell.endswith(">") else cell


def _record(
    context: ReaderContext, line: int, row: Mapping[str, str], fields: Mapping[str, Sequence[str]], separator: str
) -> Iterator[Record]:
    def cells(field: str) -> list[str]:
        return [row[column] for column in fields.get(field, ())]

    def split(cell: str) -> list[str]:
        return cell.split(separator) if separator else [cell]

    def values(field: str) -> list[str]:
        return [value.strip() for cell in cells(field) for value in split(cell) if value.strip()]

    texts = [cell for cell in cells("name") if cell.strip()] + values("synonyms")
    tells_preferred = "synonyms" in fields or len(fields["name"]) > 1
    names = [(text, "exact" if index or not tells_preferred else "preferred") for index, text in enumerate(texts)]
    concept_id, *alternatives = map(curie, cells("id"))
    source = "".join(cells("source")).strip()
    return (replace(context, source=source) if source else context).record(
        line,
        concept_id,
        names,
        alternative_ids=alternatives + list(map(curie, values("alternative_ids"))),
        types=values("types"),
        definition=" ".join(cells("definition")),
        parents=map(curie, values("parents")),
        xrefs=(without_release(curie(xref)) for xref in values("xrefs")),
    )


def _fields(context: ReaderContext, columns: Mapping[str, list[str]], header: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that hold each field."""
    for field in columns:
        if field not in FIELDS:
            raise SapbertError(Errors.E129.format(field=field, fields=", ".join(FIELDS)))
    fields = {field: [field] for field in FIELDS if field in header or field in ("id", "name")}
    fields |= {field: names for field, names in columns.items() if names}
    _require(context, fields, header)
    return fields


def _require(context: ReaderContext, fields: Mapping[str, Sequence[str]], header: Sequence[str]) -> None:
    for field, columns in fields.items():
        for column in columns:
            if column not in header:
                names = ", ".join(header)
                message = Errors.E128.format(path=context.path, column=column, field=field, columns=names)
                raise SapbertError(message)


def _delimiter(context: ReaderContext) -> str:
    delimiter = _DELIMITERS.get(without_gz(context.path).suffix.lower())
    if not delimiter:
        raise SapbertError(Errors.E130.format(path=context.path))
    return delimiter
