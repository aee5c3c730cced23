"""Read scispaCy's knowledge bases: JSON lines with concept_id, canonical_name, aliases, types and definition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...files.values import parse_json
from ...types import Record
from .context import ReaderContext

# The type of each field in scispaCy, and whether it may be missing or null.
_FIELDS: dict[str, tuple[type, bool]] = {
    "concept_id": (str, False),
    "canonical_name": (str, False),
    "aliases": (list, True),
    "types": (list, True),
    "definition": (str, True),
}


def read_scispacy(context: ReaderContext) -> Iterator[Record]:
    """Yield one record per line. Keys that scispaCy does not know are ignored."""
    with context.open() as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            context.report.rows_read += 1
            try:
                entity = _entity(line)
            except ValueError as error:
                context.drop_broken(number, str(error))
                continue
            names = [(entity["canonical_name"], "preferred"), *((alias, "exact") for alias in entity["aliases"] or ())]
            yield from context.record(
                number, entity["concept_id"], names, types=entity["types"] or (), definition=entity["definition"]
            )


def _entity(line: str) -> dict[str, Any]:
    """Return the checked fields of the entity.

    Raises:
        ValueError: If the line is not JSON, or a field is missing or has the wrong type.
    """
    try:
        entity = parse_json(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON ({error.msg})") from error
    if not isinstance(entity, dict):
        raise ValueError("not a JSON object")
    fields = {key: entity.get(key) for key in _FIELDS}
    for key, value in fields.items():
        wanted, optional = _FIELDS[key]
        if not (isinstance(value, wanted) or (optional and value is None)):
            raise ValueError(f"{key} is not a {wanted.__name__}")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise ValueError(f"{key} holds something that is not a str")
    return fields
