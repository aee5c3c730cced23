"""Read scispaCy's knowledge bases: JSON lines with concept_id, canonical_name, aliases, types and definition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...files.values import parse_json
from ...types import Record
from .context import ReaderContext
from .json_text import field, fields


def read_scispacy(context: ReaderContext) -> Iterator[Record]:
    """Yield one record per line. Keys that scispaCy does not know are ignored."""
    for number, line in context.filled_lines():
        context.report.rows_read += 1
        try:
            entity = _entity(line)
        except ValueError as error:
            context.drop_broken(number, str(error))
        else:
            yield from context.record(number, **entity)


def _entity(line: str) -> dict[str, Any]:
    """Return the arguments of `ReaderContext.record`."""
    try:
        entity = parse_json(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON ({error.msg})") from error
    if not isinstance(entity, dict):
        raise ValueError("not a JSON object")
    for key in ("concept_id", "canonical_name"):
        if field(entity, key, str) is None:
            raise ValueError(f"{key} is not a str")
    aliases = fields(entity, "aliases", str)
    return {
        "concept_id": entity["concept_id"],
        "names": [(entity["canonical_name"], "preferred"), *((alias, "exact") for alias in aliases)],
        "types": fields(entity, "types", str),
        "definition": field(entity, "definition", str),
    }
