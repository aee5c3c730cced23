"""Rows of delimited text, for the readers whose files have columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from .context import ReaderContext


def read_cells(
    context: ReaderContext, lines: Iterable[str], delimiter: str, quoted: bool, n_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Split lines into cells; a row that cannot be split is reported. Empty rows are passed over.

    Args:
        lines: from a file opened with `newline=""`.
        quoted: whether cells may stand in double quotes. Without, a quotation mark is part of its cell.
        n_before: lines of the file that come before these.

    Yields:
        the line where a row starts, and its cells.
    """
    # strict: else an unbalanced quotation mark would swallow the rows after it without a word
    rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=True)
    while True:
        line = n_before + rows.line_num + 1
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            context.report.rows_read += 1
            context.drop_broken(line, str(error))
            continue
        if any(cells):
            yield line, cells


def name_cells(
    context: ReaderContext, rows: Iterable[tuple[int, list[str]]], columns: list[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Count the rows and put the cells under their columns; a row with more or fewer cells is reported.

    Yields:
        the line where a row starts, and its cells by column.
    """
    for line, cells in rows:
        context.report.rows_read += 1
        if len(cells) == len(columns):
            yield line, dict(zip(columns, cells, strict=True))
        else:
            context.drop_broken(line, f"{len(cells)} cells instead of {len(columns)}")
