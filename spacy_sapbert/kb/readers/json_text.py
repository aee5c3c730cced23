"""JSON files, read so that what is wrong in them can be told by its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from ...errors import Errors, SapbertError
from ...files import parse_json, parse_json_at
from .context import ReaderContext

_BLANK = re.compile(r"[ \t\r\n]*")
_Kind = TypeVar("_Kind")


def read_text(context: ReaderContext) -> str:
    with context.open() as file:
        return file.read()


def parse(context: ReaderContext, text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        SapbertError: E160 it is no JSON.
    """
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise _no_json(context, error.lineno, error.msg) from error


def array_entries(context: ReaderContext, text: str) -> Iterator[tuple[int, Any]]:
    """Go through a JSON array; its entries are made into objects one at a time.

    Args:
        text: a JSON text that begins with `[`.

    Yields:
        the line where an entry begins, and the entry.

    Raises:
        SapbertError: E160 from here on it is no JSON.
    """
    line, counted = 1, 0
    at = _after_blanks(text, text.index("[") + 1)
    while text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        entry, at = _entry(context, text, at)
        yield line, entry
        at = _after_blanks(text, at)
        if text[at : at + 1] == ",":
            at = _after_blanks(text, at + 1)
        elif text[at : at + 1] != "]":
            raise _no_json(context, line, "no comma and no end of the array after the entry that begins here")
    if _after_blanks(text, at + 1) != len(text):
        raise _no_json(context, line, "more text after the array")


def _entry(context: ReaderContext, text: str, at: int) -> tuple[Any, int]:
    try:
        return parse_json_at(text, at)
    except json.JSONDecodeError as error:
        raise _no_json(context, error.lineno, error.msg) from error


def field(entry: dict[str, Any], key: str, kind: type[_Kind]) -> _Kind | None:
    """Return the value of a key; None where it is missing or null.

    Raises:
        ValueError: it is of another type.
    """
    value = entry.get(key)
    if value is None or isinstance(value, kind):
        return value
    raise ValueError(f"{key} is not a {kind.__name__}")


def fields(entry: dict[str, Any], key: str, kind: type[_Kind]) -> list[_Kind]:
    """Return the values of a key that holds a list; none where it is missing or null.

    Raises:
        ValueError: it is no list, or something in it is of another type.
    """
    values: list[_Kind] = field(entry, key, list) or []
    if not all(isinstance(value, kind) for value in values):
        raise ValueError(f"{key} holds something that is not a {kind.__name__}")
    return values


def _after_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _no_json(context: ReaderContext, line: int, reason: str) -> SapbertError:
    return SapbertError(Errors.E160.format(path=context.path, line=line, reason=reason))
