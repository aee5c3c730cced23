"""Read the first sheet of an Excel workbook (.xlsx) as CSV, and write one. Formulas count as their saved values."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
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
_MOST_CHARACTERS = 32_767  # of a cell; openpyxl drops the rest
_REMEDY = "Open it in a spreadsheet program, and save it again, as .xlsx or .csv."


def is_workbook(path: Path) -> bool:
    """Return whether the name of a file is that of a workbook."""
    return path.suffix.lower() == SUFFIX


def sheet_lines(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield the rows of the first sheet as lines of CSV in UTF-8, as a stream. All rows are as long as the first one.

    Cells with a line end are in quotes. Empty rows are blank lines.

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
        n_columns = n_cells = 0
        for number, cells in enumerate(sheets[0].values, start=1):
            n_cells += len(cells)
            if n_cells > MOST_CELLS or number > MOST_ROWS:
                raise LimitError(_REMEDY, path=path, reason="has too many cells")
            row = [*map(_text, cells)]
            while row and not row[-1]:
                row.pop()
            n_columns = n_columns or len(row)
            yield _csv_line(row + [""] * (n_columns - len(row)) if row else [])


def write_sheet(rows: Iterable[Iterable[Any]], path: Path) -> None:
    """Write rows to the only sheet of a workbook, as a stream. Texts are cells that no spreadsheet runs, see `cell`.

    A text that is too long for a cell ends with an ellipsis.
    """
    from openpyxl import Workbook
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    with closing(book.create_sheet()) as sheet:
        for number, row in enumerate(rows, start=1):
            if number > MOST_ROWS:
                raise CannotWriteError("Write a .csv.", path=path, reason=f"a sheet has at most {MOST_ROWS:,} rows")
            cells = (value if isinstance(value, bool) else cell(value, one_line=False) for value in row)
            texts = (ILLEGAL_CHARACTERS_RE.sub(" ", one) if isinstance(one, str) else one for one in cells)
            sheet.append([_fitting(one) if isinstance(one, str) else one for one in texts])
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


def _fitting(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


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
