"""Read documents from tables with named columns: CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..errors import BadRecordError, DamagedError, MismatchError, MissingColumnError, requiring
from ..files.opening import OpenedFile, check_encoding, decoded_head, file_name, open_file, without_gz
from ..files.postgres import Database, is_postgres
from ..files.source import BrokenRecord
from ..files.tables import SUFFIX, Row, are_numbers, evened, is_workbook, likely_delimiter, split_header, split_rows
from ..types import Document
from .source import DocumentSource, Problems, ReadOptions
from .text_files import ID, TEXT, TITLE, read_numbered_names, with_title, with_whole_mention

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema
    from pyarrow.parquet import ParquetFile

MAX_CELL = 1 << 28
"""The most characters of a cell. It bounds the memory that an unbalanced quotation mark can take."""

_HEADING = re.compile(r"(?!file)(?:(?:\w{1,40}_)?(?:mention|term|text|name|label)s?|\w{1,40} names?)", re.IGNORECASE)
"""A heading of a column of names."""
_ROWS = 256
_SHOWN_COLUMNS = 50
_SHOWN_CHARACTERS = 40


class _Columns(NamedTuple):
    """The columns of a table that make up a document; id and title are None if there is no such column."""

    text: str
    doc_id: str | None
    title: str | None


def read_csv(source: DocumentSource) -> Iterator[Document]:
    """Read a table with commas, semicolons or tabs, and with quotes if needed. The first line shows the delimiter."""
    return _read(source, "," if is_workbook(source.path) else ",;\t", quoted=True)


def read_tsv(source: DocumentSource) -> Iterator[Document]:
    """Read a table with tabs. A quotation mark is part of its cell."""
    return _read(source, "\t", quoted=False)


def read_names(source: DocumentSource) -> Iterator[Document]:
    """Read a column of names. Each cell is a document and its only mention.

    The file is a table if it has a heading such as `term`, or is a .csv or .xlsx with several columns, or if the
    options name a column of its header. Lines of other files are tab-separated.
    """
    options, named, suffix = source.options, _named(source.options), without_gz(source.path).suffix.lower()
    is_table = suffix in (".csv", SUFFIX)
    if not named:
        with open_file(source.path, source.opened) as (stream, _, _):
            encoding = check_encoding(source.path, source.encoding)
            first = decoded_head(stream, encoding, 1 << 14).partition("\n")[0]
        delimiter = likely_delimiter(first, ",;\t" if is_table else "\t,;")
        cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
        if heading := min((cell for cell in cells if _HEADING.fullmatch(cell)), key=len, default=""):
            told = f"{source.file}: the first line is a header, and its column {heading} has the names"
            cast(Problems, source.report).console.print(f"{told}. For another, give --column text=NAME or its number.")
            source = replace(source, options=options._replace(text_column=heading))
            return map(with_whole_mention, _read(source, delimiter, quoted=is_table or delimiter != "\t"))
        if len(cells) == 1:  # a list of names, of which some may have commas
            is_table, named = suffix == SUFFIX, ["1"]
    if not is_table and (are_numbers(named) or not named):
        return read_numbered_names(source)
    text = options.text_column or ("1" if are_numbers(named) else None)
    return map(with_whole_mention, read_csv(replace(source, options=options._replace(text_column=text))))


def _named(options: ReadOptions) -> list[str]:
    return [*filter(None, (options.text_column, options.id_column, options.title_column))]


def _read(source: DocumentSource, marks: str, *, quoted: bool) -> Iterator[Document]:
    """Read a table whose delimiter is one of the marks."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    named, problems = _named(source.options), list[str]()
    lines = _noting(source.decoded_lines(), problems)
    first = next(lines, "")
    if problems and not are_numbers(named):
        remedy = "Without a header, nothing can be read."
        raise BadRecordError(path=source.file, line=1, reason=problems[0], remedy=remedy)
    delimiter = likely_delimiter(first, marks, is_row=are_numbers(named))
    header, rows = split_header(_rows(source, chain([first], lines), problems, delimiter, quoted), named)
    header = [cell.strip() for cell in header]
    columns = _find_columns(source, header)
    needed = [header.index(column) for column in (columns.text, columns.doc_id) if column]
    for line, cells in rows:
        row = evened(cells, len(header), needed)
        if len(row) == len(header):
            yield _document(source, columns, dict(zip(header, row, strict=True)), line, "line")
        else:
            hint = "; if cells are in quotes, give --format csv" if any('"' in cell for cell in row) else ""
            source.broken(line, f"{len(row)} cells instead of {len(header)}{'' if quoted else hint}")


def _noting(lines: Iterable[tuple[str, str]], problems: list[str]) -> Iterator[str]:
    """Yield lines, and note why they cannot be decoded."""
    for line, problem in lines:
        problems += [problem] if problem else []
        yield line


def _rows(
    source: DocumentSource, lines: Iterable[str], problems: list[str], delimiter: str, quoted: bool
) -> Iterator[Row]:
    """Yield the rows. Broken ones are reported, also those with noted problems."""

    def broken(line: int, reason: str) -> None:
        source.broken(line, reason)
        problems.clear()

    for line, cells in split_rows(lines, delimiter, broken, quoted=quoted):
        if problems:
            source.broken(line, problems[0])
            problems.clear()
        else:
            yield line, cells


def _find_columns(source: DocumentSource, header: Sequence[str]) -> _Columns:
    """Return the columns of a document."""
    options = source.options
    text = options.text_column or TEXT
    doc_id = options.id_column or (ID if ID in header else None)
    title = options.title_column or (TITLE if TITLE in header and text != TITLE else None)
    for field, column in {"text": text, "id": doc_id, "title": title}.items():
        n_columns = 1 if column is None else header.count(column)
        if n_columns != 1:
            shown = [shorten(name, _SHOWN_CHARACTERS, placeholder="…") for name in header[:_SHOWN_COLUMNS]]
            columns = [*shown, "…"] if len(header) > _SHOWN_COLUMNS else shown
            if n_columns:
                reason = f"it has the column {column} more than once. Its columns are: {', '.join(columns)}"
                raise MismatchError(path=source.file, reason=reason, remedy="Rename one of them.")
            remedy = f"Name the right one with --column {field}=NAME. Without a header, NAME is its number."
            raise MissingColumnError(path=source.file, column=column, columns=columns, remedy=remedy)
    return _Columns(text, doc_id, title)


def _document(source: DocumentSource, columns: _Columns, row: dict[str, Any], number: int, unit: str) -> Document:
    title = row[columns.title] or "" if columns.title else ""
    doc_id = row[columns.doc_id] if columns.doc_id else None
    meta = {name: value for name, value in row.items() if name not in (columns.text, columns.doc_id)}
    if isinstance(doc_id, float) and doc_id.is_integer():
        doc_id = int(doc_id)  # pandas stores whole numbers as floats if some are missing
    return Document(
        source.numbered(number) if doc_id in (None, "") else str(doc_id),
        with_title(title, row[columns.text] or ""),
        title=title,
        meta=meta,
        position=source.place(number, unit),
    )


def read_sql(source: DocumentSource) -> Iterator[Document]:
    """Read the rows of a query of PostgreSQL, a few at a time.

    The first line of the file can be `-- ADDRESS`, see `files.postgres.Database`. Otherwise, libpq's variables such as
    PGHOST and PGSERVICE say where the database is.
    """
    try:
        query = source.text()
    except BrokenRecord as reason:
        source.broken(1, reason)
        return
    first = query.partition("\n")[0].removeprefix("--").strip()
    database = Database(first if is_postgres(first) else "postgresql://", "public")
    with database.transaction() as connection:
        connection.execute("SET TRANSACTION READ ONLY")
        rows = connection.cursor(name="documents").execute(query)
        names = [column.name for column in rows.description or ()]
        columns = _find_columns(source, names)
        for number, row in enumerate(rows, start=1):
            values = {name: _json_value(value) for name, value in zip(names, row, strict=True)}
            yield _document(source, columns, values, number, "row")


def read_parquet(source: DocumentSource) -> Iterator[Document]:
    """Read a Parquet file, a few rows at a time. A column of binary data is left out."""
    with open_file(source.path, source.opened) as opened, _open_parquet(source, opened) as file:
        yield from _arrow_documents(source, file.schema_arrow, partial(_parquet_rows, source, file))


def batch_documents(batch: RecordBatch, options: ReadOptions, problems: Problems) -> Iterator[Document]:
    """Read the rows of an Arrow record batch, as those of a Parquet file."""
    source = DocumentSource(Path("batch"), name="batch", report=problems, options=options, strict=problems.strict)
    yield from _arrow_documents(source, batch.schema, lambda names: batch.select(names).to_pylist())


def _arrow_documents(
    source: DocumentSource, schema: Schema, rows: Callable[[list[str]], Iterable[dict[str, Any]]]
) -> Iterator[Document]:
    columns = _find_columns(source, schema.names)
    _check_types(source, schema, columns)
    for number, row in enumerate(rows(_readable(schema)), start=1):
        values = {name: _json_value(value) for name, value in row.items()}
        yield _document(source, columns, values, number, "row")


def _open_parquet(source: DocumentSource, opened: OpenedFile) -> ParquetFile:
    with requiring("parquet", f"Reading {source.file}"):
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    if opened.packed:
        raise _not_parquet(source.path, "it is gzipped")
    try:
        file = ParquetFile(opened.stream)
        _ = file.schema_arrow.names  # pyarrow decodes the names of the columns only now
        return file
    except (ArrowException, UnicodeDecodeError, OSError) as error:
        raise _not_parquet(source.path, error) from error


def _not_parquet(path: Path, error: object) -> DamagedError:
    remedy = "Check that the file is complete, or give its format."
    return DamagedError(path=file_name(path), reason=f"it cannot be read as Parquet: {error}", remedy=remedy)


def _parquet_rows(source: DocumentSource, file: ParquetFile, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    from pyarrow import ArrowException

    try:
        for batch in file.iter_batches(batch_size=_ROWS, columns=list(names)):
            yield from batch.to_pylist()
    except (ArrowException, OSError, ValueError, OverflowError, LookupError) as error:  # such as impossible dates
        raise _not_parquet(source.path, error) from error


def _readable(schema: Schema) -> list[str]:
    from pyarrow import types

    binary = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return [field.name for field in schema if not any(is_binary(field.type) for is_binary in binary)]


def _check_types(source: DocumentSource, schema: Schema, columns: _Columns) -> None:
    """Check that text and title are text, and that the id is text or a number."""
    from pyarrow import types

    for column in filter(None, columns):
        column_type = schema.field(column).type
        kind = column_type.value_type if types.is_dictionary(column_type) else column_type
        text_kinds = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
        is_text = any(is_kind(kind) for is_kind in text_kinds)
        if not is_text and (column != columns.doc_id or not (types.is_integer(kind) or types.is_floating(kind))):
            wrong = f"the column {column} has the type {column_type}"
            reason = f"{wrong}, but text and title must be text, and an id text or a number"
            raise MismatchError(path=source.file, reason=reason, remedy="Name another column, or convert this one.")


def _json_value(value: Any) -> Any:
    """Return a value of Parquet as a JSON value. Dates, times and decimal numbers become text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_json_value(item) for item in value]
    return str(value)
