"""Write the cells of tables, TSV and CSV, so that no spreadsheet runs one as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

# characters at the start of a cell that let a spreadsheet run it, also in their full-width forms
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_RISKY = ("'", *_FORMULA)
# characters that some programs read as the end of a line or a column; one blank each
_BLANKS = dict.fromkeys(map(ord, "\0\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_LINE_END = "\r\n"


def escaped(text: str) -> str:
    """Return a cell that no spreadsheet runs as a formula.

    An apostrophe is put before a text that starts with `=`, `+`, `-`, `@`, a tab or a line end, or with apostrophes and
    one of these. Therefore `unescaped` always gives back the text.
    """
    risky = text.startswith(_RISKY) and text.lstrip("'").startswith(_FORMULA)
    return f"'{text}" if risky else text


def unescaped(cell: str) -> str:
    """Return the text of a cell that `escaped` made."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA) else cell


def table_lines(rows: Iterable[Iterable[Any]], delimiter: str = "\t", *, quoted: bool = True) -> Iterator[str]:
    """Yield the lines of a table, with their ends.

    In CSV, cells with line ends, commas or quotes are quoted. In TSV, each tab and line end in a cell becomes a blank.

    Args:
        rows: The cells of each row. None is an empty cell. Numbers stay numbers, also negative ones.
        delimiter: A tab for TSV, a comma for CSV.
        quoted: Whether cells with quotation marks are quoted. Without it, the delimiter must be a tab.
    """
    buffer = io.StringIO(newline="")
    style: dict[str, Any] = {} if quoted else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    # the writer quotes cells with the characters of this line end
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=_LINE_END, **style)
    for row in rows:
        writer.writerow([cell(value, one_line=delimiter == "\t") for value in row])
        yield buffer.getvalue().removesuffix(_LINE_END) + "\n"
        buffer.seek(0)
        buffer.truncate()


def cell(value: Any, *, one_line: bool = True) -> Any:
    """Return the cell of a value for `table_lines`."""
    if isinstance(value, bool):
        return ("false", "true")[value]
    if not isinstance(value, str):
        return value
    text = escaped(value)
    if text.isprintable():
        return text
    return text.translate(_BLANKS) if one_line else text.replace("\0", " ")  # readers of tables refuse NUL
