"""Read tables with named columns (TSV, CSV or another delimiter), with one row per concept or one row per name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import itemgetter
from shlex import quote

from ...errors import CannotReadError, ChoiceError, MissingColumnError, OptionError
from ...files.opening import without_gz
from ...files.tables import Row, evened, is_workbook, likely_delimiter, split_header
from ...types import Record
from ..ids import curie
from .classification_names import with_complete_names
from .context import ReaderContext
from .ontology import add_prefix, without_release

FIELDS = ("id", "name", "synonyms", "alternative_ids", "types", "definition", "parents", "xrefs", "source", "language")
_PLURALS = {field.rstrip("s"): field for field in FIELDS}
_PREFERRED = "preferred"  # the field that says which row has the preferred name of a concept
_YES = frozenset({"1", "p", "pt", "preferred", "t", "true", "x", "y", "yes"})
_PREFIXED = ("alternative_ids", "parents", "xrefs")
_DELIMITERS = {".csv": ",", ".xlsx": ",", ".tsv": "\t", ".tab": "\t"}
_QUOTED = frozenset(",;")  # spreadsheets quote cells of such tables; in others, a quotation mark belongs to a name
_PLACEHOLDERS = frozenset({"n/a", "#n/a", "null", "none"})

# SPARQL 1.1 Query Results TSV: the headings are variables, and terms have Turtle syntax.
_LITERAL = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"(?:@[A-Za-z0-9-]+|\^\^\S+)?')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r"}


def read_table(
    context: ReaderContext,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    where: Mapping[str, str] | None = None,
    separator: str = "|",
    delimiter: str | None = None,
    quoted: bool | None = None,
    skip: int = 0,
) -> Iterator[Record]:
    """Read a table. Ids may be IRIs.

    The table may be a SPARQL result: a heading is then `?term`, and an IRI is `<…>`.

    Args:
        columns: Maps a field of `FIELDS` to the column or columns that hold it. A field that is missing here is read
            from the column of the same name, if there is one. Both may be in the singular, such as `type`. A cell of
            `id`, `name`, `source` or `language` holds one value. The first column of `id` holds the primary id, and the
            first column of `name` the preferred name. A cell of `synonyms`, `alternative_ids`, `types`, `parents` or
            `xrefs` may hold several values. Columns may be numbers instead, counted from 1. Then the file has no
            header. A field of ids may have a prefix for ids without one, as in `xrefs:NCBIGene`. Case makes no
            difference, unless two columns differ by it alone. The field `preferred` is a flag of rows: a row with y,
            yes, true, 1, x, p, PT or preferred has the preferred name of its concept, and the others have synonyms.
        where: Columns and the value that they must have. Other rows are counted and skipped.
        separator: Joins the values of a cell. If empty, each cell is one value.
        delimiter: The character between cells. A tab may be written `\\t`. Default: a tab in a .tsv with a tab in its
            first line, else the most frequent one of comma, semicolon and tab there.
        quoted: Whether cells may be in double quotes. Default: only if the delimiter is a comma or a semicolon, since
            names contain quotation marks.
        skip: Number of lines before the table.

    Yields:
        One record per row. A name is "preferred" if the table distinguishes it from other names, else "exact". Codes of
        an ICD-10 get further names, see `complete_names`.
    """
    records = _records(context, columns, where, separator, delimiter, quoted=quoted, skip=skip)
    yield from with_complete_names(records, context.report.names_dropped)


def _records(
    context: ReaderContext,
    columns: Mapping[str, str | Sequence[str]] | None,
    where: Mapping[str, str] | None,
    separator: str,
    delimiter: str | None,
    *,
    quoted: bool | None,
    skip: int,
) -> Iterator[Record]:
    given = (delimiter or _delimiter(context)).replace("\\t", "\t")
    if len(given) != 1:
        raise OptionError(option=f"The delimiter {delimiter!r}", reason="it must be one character, such as , or \\t")
    chosen: defaultdict[str, list[str]] = defaultdict(list)
    for field, names in (columns or {}).items():
        name, colon, prefix = field.partition(":")
        chosen[_PLURALS.get(name, name) + colon + prefix] += [names] if isinstance(names, str) else names
    where = dict(where or {})
    with context.open(newline="") as lines:
        n_skipped = sum(1 for _ in islice(lines, skip))
        first = next(lines, "")
        # a name may have commas, and no tab
        sure = delimiter or (given == "\t" and given in first) or is_workbook(context.path)
        delimiter = given if sure else likely_delimiter(first, f"{given},\t;")
        quoted = delimiter in _QUOTED if quoted is None else quoted
        rows = context.cells(chain([first], lines), delimiter, quoted=quoted, n_before=n_skipped)
        header, rows = _without_syntax(*split_header(rows, [*chain(*chosen.values()), *where]))
        fields = _fields(context, chosen, header)
        where = {_column(column, header): cell for column, cell in where.items()}
        needed = [header.index(fields[field][0]) for field in ("id", "name")]
        whole = ((line, _evened(context, cells, len(header), needed)) for line, cells in rows)
        for line, row in context.named_cells(whole, header, where):
            if all(row[column] == cell for column, cell in where.items()):
                yield from _record(context, line, row, fields, separator)
            else:
                context.drop("not selected")


def _evened(context: ReaderContext, cells: list[str], width: int, needed: list[int]) -> list[str]:
    row = evened(cells, width, needed)
    if len(cells) < len(row):
        context.report.notes["rows that lacked cells at their end, kept"] += 1
    return row


def _without_syntax(header: list[str], rows: Iterator[Row]) -> tuple[list[str], Iterator[Row]]:
    """Return the columns and rows of a table. If it is a SPARQL result, they are without its syntax."""
    if not all(cell.startswith("?") for cell in header):
        return header, rows
    return [cell[1:] for cell in header], ((line, list(map(_parse_term, cells))) for line, cells in rows)


def _parse_term(cell: str) -> str:
    """Return the value of a term of a SPARQL result, without the Turtle syntax."""
    literal = _LITERAL.fullmatch(cell)
    if literal:
        return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), literal["text"])
    return cell[1:-1] if cell.startswith("<") and cell.endswith(">") else cell


def _record(
    context: ReaderContext, line: int, row: Mapping[str, str], fields: Mapping[str, Sequence[str]], separator: str
) -> Iterator[Record]:
    cells = {field: [_filled(context, row[column]) for column in columns] for field, columns in fields.items()}

    def values(field: str) -> list[str]:
        split = [part for cell in cells.get(field, ()) for part in (cell.split(separator) if separator else [cell])]
        return [*filter(None, (_filled(context, part).strip() for part in split))]

    def ids(name: str) -> Iterator[str]:
        for field in fields:
            if field.startswith(name):
                yield from (add_prefix(curie(value), field.partition(":")[2]) for value in values(field))

    texts = [*filter(str.strip, cells["name"]), *values("synonyms")]
    has_preferred = "synonyms" in fields or len(fields["name"]) > 1
    if flag := cells.get(_PREFERRED):
        has_preferred = flag[0].strip().lower() in _YES
    source, language = ("".join(cells.get(field, ())).strip() for field in ("source", "language"))
    names = [
        (text, "exact" if index or not has_preferred else "preferred", language) for index, text in enumerate(texts)
    ]
    concept_id, *alternatives = map(curie, cells["id"])
    if source:
        context = replace(context, source=source)
    return context.record(
        line,
        concept_id,
        names,
        alternative_ids=[*alternatives, *ids("alternative_ids")],
        types=values("types"),
        definition=" ".join(cells.get("definition", ())),
        parents=ids("parents"),
        xrefs=map(without_release, ids("xrefs")),
    )


def _fields(context: ReaderContext, columns: Mapping[str, list[str]], header: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that hold each field."""
    for field in columns:
        name, colon, prefix = field.partition(":")
        if name not in (*FIELDS, _PREFERRED) or (colon and not (name in _PREFIXED and prefix)):
            remedy = f"Only {', '.join(_PREFIXED)} can have a prefix, as in xrefs:NCBIGene."
            raise ChoiceError(
                given=field, what="field of a vocabulary table", choices=[*FIELDS, _PREFERRED], remedy=remedy
            )
    spellings = [
        (field, name) for field in (*FIELDS, _PREFERRED) for name in (field.rstrip("s"), field)
    ]  # the plural overrules
    fields = {"id": ["id"], "name": ["name"]}
    fields |= {field: [name] for field, name in spellings if _column(name, header) in header}
    fields |= filter(itemgetter(1), columns.items())
    fields = {field: [_column(name, header) for name in names] for field, names in fields.items()}
    for field, names in fields.items():
        for column in names:
            if column not in header:
                likely = next(
                    (name for name in header[::-1] if field in name.lower().split()), (header or ["COLUMN"])[-1]
                )
                remedy = f"Name the one that contains the {field}, as in --column {quote(f'{field}={likely}')}."
                raise MissingColumnError(path=context.file, column=column, columns=header, remedy=remedy)
    return fields


def _column(name: str, header: Sequence[str]) -> str:
    """Return the column with a name, or else the only one that differs from it by case and blanks around it."""
    alike = [column for column in header if column.strip().lower() == name.strip().lower()]
    return alike[0] if len(alike) == 1 else name


def _filled(context: ReaderContext, cell: str) -> str:
    """Return a value, or "" for a placeholder such as N/A, which is counted."""
    if cell.strip().lower() not in _PLACEHOLDERS:
        return cell
    context.report.notes["placeholders such as N/A left out"] += 1
    return ""


def _delimiter(context: ReaderContext) -> str:
    delimiter = _DELIMITERS.get(without_gz(context.path).suffix.lower())
    if not delimiter:
        reason = "its name shows no delimiter, as .csv, .tsv and .tab do"
        remedy = "Give the delimiter, such as --delimiter '\\t' for a tab."
        raise CannotReadError(path=context.file, reason=reason, remedy=remedy)
    return delimiter
