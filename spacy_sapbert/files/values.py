"""Parse and check values that others wrote: numbers, JSON and arrays."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NewerVersionError

if TYPE_CHECKING:
    import numpy as np

_MAX_DIGITS = 18  # fits into 64 bits
_DIGITS = re.compile("[0-9]+")


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
    with _translate_json_errors(text):
        return json.loads(text)


def parse_json_at(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a position of a text, and its end."""
    with _translate_json_errors(text, at):
        return json.JSONDecoder().raw_decode(text, at)


@contextmanager
def _translate_json_errors(text: str, at: int = 0) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", text, at) from error
    except ValueError as error:  # Python refuses integers of thousands of digits
        longest = max(_DIGITS.finditer(text, at), key=lambda digits: digits.end() - digits.start())
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
