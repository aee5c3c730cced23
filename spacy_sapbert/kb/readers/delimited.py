"""Split delimited text (TSV, CSV) into rows and cells, for readers of formats with columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from .context import ReaderContext


def read_cells(
    context: ReaderContext, lines: Iterable[str], delimiter: str, quoted: bool, n_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Split lines into cells. A row that cannot be split is reported; empty rows are skipped.

    Args:
        context: The file and the settings.
        lines: Lines of a file opened with `newline=""`.
        delimiter: The character between cells.
        quoted: Whether cells may be in double quotes. If not, a quotation mark is part of its cell.
        n_before: Number of lines of the file before these.

    Yields:
        The line at which a row starts, and its cells.
    """
    # without `strict`, an unbalanced quotation mark would silently swallow the rows after it
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
    """Count the rows and map cells to columns. A row with too many or too few cells is reported.

    Yields:
        The line at which a row starts, and its cells by column.
    """
    for line, cells in rows:
        context.report.rows_read += 1
        if len(cells) == len(columns):
            yield line, dict(zip(columns, cells, strict=True))
        else:
            context.drop_broken(line, f"{len(cells)} cells instead of {len(columns)}")
