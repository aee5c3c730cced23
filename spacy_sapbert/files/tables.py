"""Read tables: the rows and columns of text. Also read the first sheet of an Excel workbook as CSV, and write one."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import CannotWriteError, DamagedError, LimitError, requiring
from .output import replacing
from .values import cell

SUFFIX = ".xlsx"
EXTRA = "records"
MOST_CELLS = 1 << 26
"""The most cells, with the empty ones between others. A sheet can have a million rows."""
MOST_ROWS = 1 << 20
_FREE, _MOST_EMPTY = 1 << 21, 400  # a sheet with more cells may have so many for each that is filled
Row = tuple[int, list[str]]
"""The line at which a row starts, and its cells."""
_NOT_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF], " ")
_REMEDY = "Open it in a spreadsheet program, and save it again, as .xlsx or .csv."


# --- text


def split_rows(
    lines: Iterable[str],
    delimiter: str,
    broken: Callable[[int, str], object],
    *,
    quoted: bool,
    n_before: int = 0,
) -> Iterator[Row]:
    """Split lines into cells. Rows without any text are skipped.

    Args:
        lines: Lines with their ends.
        broken: Takes the first line of a row that cannot be split, and the reason.
        quoted: Whether cells may be in double quotes. If not, a quotation mark is part of its cell.
        n_before: Number of lines of the file before these.
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
            last, reason = n_before + rows.line_num, str(error)
            if last > line or "end of data" in reason:
                reason = f"its quotation mark is not closed, so lines {line} to {last} are lost; close or double it"
            broken(line, reason)
            continue
        if any(cells):
            yield line, cells


def likely_delimiter(line: str, marks: str, *, is_row: bool = False) -> str:
    """Return the delimiter of a header, or of a first row, whose cells can be sentences. The first mark comes first."""
    return max(marks, key=line.__contains__ if is_row else line.count)


def are_numbers(columns: Iterable[str]) -> bool:
    """Return whether all columns are named by numbers. Their table then has no header."""
    named = list(columns)
    return bool(named) and all(column.isascii() and column.isdecimal() for column in named)


def split_header(rows: Iterator[Row], used: Iterable[str]) -> tuple[list[str], Iterator[Row]]:
    """Return the columns, and the rows below them. If all used columns are numbers, so are all columns, from 1."""
    first = next(rows, (1, []))
    if are_numbers(used):
        return [str(number) for number, _ in enumerate(first[1], start=1)], chain([first], rows)
    return first[1], rows


def evened(cells: list[str], width: int, needed: Iterable[int]) -> list[str]:
    """Return a row of a width, if the needed cells have text, and only empty cells at its end are missing or too many.

    Other rows stay, since a delimiter or a line end in a cell may have split it.
    """
    row = [*cells[:width], *[""] * (width - len(cells))]
    return cells if any(cells[width:]) or not all(row[column].strip() for column in needed) else row


# --- workbooks


def is_workbook(path: Path) -> bool:
    """Return whether the name of a file is that of a workbook."""
    return path.suffix.lower() == SUFFIX


def sheet_lines(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield the rows of the first sheet as lines of CSV in UTF-8, as a stream. All rows are as long as the first one.

    Cells with a line end are in quotes. Empty rows before others are blank lines. Formulas count as their saved values.

    Args:
        path: The file, for messages.

    Raises:
        DamagedError: It is not a workbook, or a part is damaged.
        LimitError: It has too many cells, or a part is too large.
        MissingExtraError: openpyxl is not installed.
    """
    with requiring(EXTRA, f"Reading {path}"):
        from openpyxl import load_workbook
    with _translated(path):
        _check_parts(path, file)
        sheets = load_workbook(file, read_only=True, data_only=True, keep_links=False).worksheets
        if not sheets:
            raise ValueError("it has no sheet")
        sheets[0].reset_dimensions()  # a file can give any
        n_columns = n_cells = n_filled = n_empty_rows = 0
        for number, cells in enumerate(sheets[0].values, start=1):
            n_cells += len(cells)
            n_filled += len(cells) - cells.count(None)
            most = min(MOST_CELLS, max(_FREE, _MOST_EMPTY * n_filled))  # a cell far to the right costs all before it
            if n_cells > most or number > MOST_ROWS:
                raise LimitError(_REMEDY, path=path, reason="has too many cells")
            row = [*map(_text, cells)]
            while row and not row[-1]:
                row.pop()
            if not row:
                n_empty_rows += 1
                continue
            n_columns = n_columns or len(row)
            yield b"\n" * n_empty_rows + _csv_line(row + [""] * (n_columns - len(row)))
            n_empty_rows = 0


def write_sheet(rows: Iterable[Iterable[Any]], path: Path) -> None:
    """Write a header and rows to the only sheet of a workbook, as a stream. The header stays in view, and has filters.

    Texts are cells that no spreadsheet runs, see `cell`. A text that is too long for a cell ends with an ellipsis.
    """
    from openpyxl import Workbook
    from openpyxl.utils import get_column_letter

    book, most = Workbook(write_only=True), 32_767  # openpyxl drops the rest
    with closing(book.create_sheet()) as sheet:
        sheet.freeze_panes = "A2"
        for number, row in enumerate(rows, start=1):
            if number > MOST_ROWS:
                raise CannotWriteError("Write a .csv.", path=path, reason=f"a sheet has at most {MOST_ROWS:,} rows")
            cells = (value if isinstance(value, bool) else cell(value, one_line=False) for value in row)
            texts = [one.translate(_NOT_XML) if isinstance(one, str) else one for one in cells]
            sheet.append([f"{one[: most - 1]}…" if isinstance(one, str) and len(one) > most else one for one in texts])
            sheet.auto_filter.ref = f"A1:{get_column_letter(len(texts))}{number}"
    with replacing(path) as temporary:
        book.save(temporary)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (DamagedError, LimitError):
        raise
    except Exception as error:  # openpyxl raises what it meets in a damaged file
        raise DamagedError(_REMEDY, path=path, reason=f"it cannot be read as a workbook: {error}") from error


def _check_parts(path: Path, file: BinaryIO) -> None:
    """Check the sizes of the parts, which zipfile does not exceed when it unpacks them."""
    from .opening import check_length, check_ratio

    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
    check_ratio(path, sum(part.file_size for part in parts), sum(part.compress_size for part in parts))
    for part in parts:
        check_length(path, part.file_size)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _csv_line(cells: Iterable[str]) -> bytes:
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().encode("utf-8", "replace")
