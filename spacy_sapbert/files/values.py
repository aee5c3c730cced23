"""Values in files: texts, numbers, JSON, arrays, hashes, and cells of tables that no spreadsheet runs as formulas."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NewerVersionError

if TYPE_CHECKING:
    import numpy as np

_MAX_DIGITS = 18  # fits into 64 bits
_DIGITS = re.compile("[0-9]+")
# characters at the start of a cell that let a spreadsheet run it, also in their full-width forms
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# characters that some programs read as the end of a line or a column; one blank each, so that offsets stay
ONE_LINE = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_NO_NUL = {0: " "}  # which readers of tables refuse
_LINE_END = "\r\n"


def hash64(text: str) -> int:
    """Return a 64-bit hash of a text, the same in every process. Collisions are practically impossible."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf8"), digest_size=8).digest(), "little")


# --- values of this package


def digest_of(content: Any) -> str:
    """Return a hash of data that JSON can hold. Other objects count by their texts."""
    return hashlib.blake2b(json.dumps(content, default=str).encode(), digest_size=16).hexdigest()


def read_sections(path: Path) -> dict[str, str]:
    """Return the texts of a data file of this package by name. A line `[name]` is before each, in SQL `-- [name]`."""
    _, *parts = re.split(r"^(?:-- )?\[(.+)\]$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text that are separated by blanks."""
    return frozenset(words.split())


def pairs(listed: str) -> dict[str, str]:
    """Return what is before and behind the colon of each word: "Ca:calcium K:potassium"."""
    parts = (word.partition(":") for word in listed.split())
    return {before: behind for before, _, behind in parts}


def read_lines(path: Path) -> list[str]:
    """Return the lines of a list. A language without it has none."""
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def languages_of(folder: Path, name: str = "") -> tuple[str, ...]:
    """Return the codes of the languages that have a file in a folder.

    Args:
        folder: The folder.
        name: What is behind the code in the name of the file, such as "_cues".
    """
    codes = (path.name.removesuffix(f"{name}.txt") for path in folder.glob(f"*{name}.txt"))
    return tuple(sorted(code for code in codes if code.isalpha()))


def read_lists(module: str) -> dict[str, str]:
    """Return the lists of a module by name, each as the text of its lines.

    A line such as "[stop_words]" names the list below it. What comes before the first one is a comment.

    Args:
        module: The `__file__` of the module. Its lists are in the text file of the same name.
    """
    return read_sections(Path(module).with_suffix(".txt"))


# --- values that others wrote


def parse_int(text: str) -> int:
    """Parse a whole number: at most 18 ASCII digits, an optional sign, and blanks around them; else a ValueError."""
    digits = text.strip()
    digits = digits[1:] if digits[:1] in ("+", "-") else digits
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS):
        raise ValueError("this is not a whole number of at most 18 digits")
    return int(text)  # `int` does not strip control characters, unlike `str.strip`


def parse_float(text: str) -> float:
    """Parse a number that is finite and written in ASCII; else a ValueError."""
    number = float(text)
    if not text.isascii() or "_" in text or not math.isfinite(number):
        raise ValueError("this is not a finite number")
    return number


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; else a `json.JSONDecodeError` with the line, even if Python cannot hold it."""
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", text, 0) from error
    except ValueError as error:  # Python refuses integers of thousands of digits
        longest = max(_DIGITS.finditer(text), key=lambda digits: digits.end() - digits.start())
        raise json.JSONDecodeError("a number with too many digits", text, longest.start()) from error


def read_array(path: Path) -> np.ndarray:
    """Open an array, memory-mapped. A damaged file is a ValueError."""
    import numpy as np  # imported here, because importing the package loads nothing heavy

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)  # without the cost of np.memmap
    except (OSError, ValueError):
        raise
    except EOFError as error:
        raise ValueError(f"{path.name} is empty") from error
    except Exception as error:  # numpy reads the header as Python code, which fails in many ways
        raise ValueError(f"{path.name} has a damaged header") from error


def array_header(dtype: Any, shape: tuple[int, ...]) -> bytes:
    """Return the beginning of a NumPy file, before its numbers. It is padded, so that `shape` may change later."""
    import numpy as np

    file, descr = io.BytesIO(), np.lib.format.dtype_to_descr(np.dtype(dtype))
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def check_not_newer(path: Any, found: Any, known: int) -> None:
    """Check that no newer version wrote a file. An older format, or a number that is none, is left to the caller.

    Args:
        path: The file, for the message.
        found: The number of its format.
        known: The newest format that this version reads.
    """
    if type(found) is int and found > known:
        raise NewerVersionError(path=path, found=found, known=known)


def check_writable(value: Any, *, allow_nan: bool = True) -> None:
    """Check that a value of a JSON text can be written again, which half a surrogate pair cannot; else a ValueError."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=allow_nan).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def json_values(content: bytes) -> list[Any]:
    """Return the value of a JSON text, or those of its lines if each has one; else a `JSONDecodeError`."""
    try:
        return [parse_json(content)]
    except json.JSONDecodeError:
        lines = [line for line in content.splitlines() if line.strip()]
        if len(lines) < 2 or not all(line.rstrip().endswith(b"}") for line in lines):
            raise
    return [parse_json(line) for line in lines]


def json_list(head: str, values: Iterable[Any], tail: str) -> Iterator[str]:
    """Yield a JSON text with a list between its head and its tail, a value at a time."""
    yield head
    for number, value in enumerate(values):
        yield ("," if number else "") + "\n" + json.dumps(value, ensure_ascii=False)
    yield tail


# --- cells of tables


def escaped(text: str) -> str:
    """Return a cell that no spreadsheet runs as a formula.

    An apostrophe is put before a text that starts with `=`, `+`, `-`, `@`, a tab or a line end, or with apostrophes and
    one of these. Therefore `unescaped` always gives back the text.
    """
    risky = text.startswith(("'", *_FORMULA)) and text.lstrip("'").startswith(_FORMULA)
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
    return text if text.isprintable() else text.translate(ONE_LINE | _NO_NUL if one_line else _NO_NUL)
