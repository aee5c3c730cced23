"""Parse JSON files so that an error can report its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from ...errors import BadRecordError, DamagedError
from ...files.values import parse_json, parse_json_at
from .context import ReaderContext

OTHER_FORMAT = "If the file is incomplete, download it again. Otherwise, give its format."
_BLANK = re.compile(r"[ \t\r\n]*")
_Kind = TypeVar("_Kind")


def parse(context: ReaderContext, text: str) -> Any:
    """Parse a JSON text."""
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise _syntax_error(context, error.lineno, error.msg) from error


def array_entries(context: ReaderContext, text: str) -> Iterator[tuple[int, Any]]:
    """Iterate over a JSON array. Entries become objects one at a time.

    Args:
        context: The file and the settings.
        text: A JSON text that begins with `[`.

    Yields:
        The line at which an entry begins, and the entry.
    """
    line, scanned = 1, 0
    position = _skip_whitespace(text, text.index("[") + 1)
    while text[position : position + 1] != "]":
        line, scanned = line + text.count("\n", scanned, position), position
        try:
            entry, position = parse_json_at(text, position)
        except json.JSONDecodeError as error:
            raise _syntax_error(context, error.lineno, error.msg) from error
        yield line, entry
        position = _skip_whitespace(text, position)
        if text[position : position + 1] == ",":
            position = _skip_whitespace(text, position + 1)
        elif text[position : position + 1] != "]":
            raise _syntax_error(context, line, "no comma and no end of the array after the entry that begins here")
    if _skip_whitespace(text, position + 1) != len(text):
        raise _syntax_error(context, line, "more text after the array")


def other_content(context: ReaderContext, format: str, reason: object, other: str) -> DamagedError:
    """Return the error for a JSON file with other content than its format has."""
    remedy = f"Give the format of the file, perhaps {other}."
    return DamagedError(path=context.file, reason=f"it is not in the format {format}: {reason}", remedy=remedy)


def field(entry: dict[str, Any], key: str, kind: type[_Kind]) -> _Kind | None:
    """Return the value of a key, or None if it is missing or null. A value of another type is a ValueError."""
    value = entry.get(key)
    if value is None or isinstance(value, kind):
        return value
    raise ValueError(f"{key} is not a {kind.__name__}")


def fields(entry: dict[str, Any], key: str, kind: type[_Kind]) -> list[_Kind]:
    """Return the items of a list, none if it is missing or null. One of another type is a ValueError."""
    values: list[_Kind] = field(entry, key, list) or []
    if not all(isinstance(value, kind) for value in values):
        raise ValueError(f"{key} holds something that is not a {kind.__name__}")
    return values


def _skip_whitespace(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _syntax_error(context: ReaderContext, line: int, reason: str) -> BadRecordError:
    reason = f"this is not valid JSON ({reason})"
    return BadRecordError(path=context.file, line=line, reason=reason, remedy=OTHER_FORMAT)
