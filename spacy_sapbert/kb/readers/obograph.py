"""Read ontologies in OBO Graphs JSON (https://github.com/geneontology/obographs), node by node.

The whole document is held in memory, because edges come after their nodes. This takes about four times the size of the
file: 115 MB for the 29 MB of the NCI Thesaurus' disease branch.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ...types import Record
from .context import ReaderContext
from .json_files import field, fields, other_content, parse
from .ontology import OBSOLETE_CLASS, Obsolete, curie, has_prefix, replaced_ids, skos_match, without_release

_SCOPE = re.compile(r"has(Exact|Narrow|Broad|Related)Synonym$")


class _Graph(NamedTuple):
    """A graph of the document."""

    nodes: list[dict[str, Any]]  # as parsed
    parents: dict[str, list[str]]  # the is_a parents of each class, by id as written
    replaced: dict[str, list[str]]  # the ids that a class replaces, by canonical id
    types: tuple[str, ...]  # of classes without their own namespace


def read_obograph(context: ReaderContext, *, prefixes: Sequence[str] = (), imports: bool = False) -> Iterator[Record]:
    """Read the classes that are not obsolete and have a label. Their OBO namespace is their type.

    Args:
        prefixes: Read only classes with these id prefixes, since many files contain classes of other ontologies.
        imports: Read the graphs after the first as well. They hold what the ontology imports.
    """
    for number, graph in enumerate(_graphs(context)):
        for node in graph.nodes:
            context.report.rows_read += 1
            if number and not imports:
                context.drop("imported")
                continue
            try:
                reason = _reason_to_drop(context, graph, node, prefixes)
                class_ = {} if reason else _record_arguments(context, graph, node)
            except ValueError as error:
                context.drop_broken(1, f"node {node.get('id') or node.get('lbl')}: {error}")
                continue
            if reason:
                context.drop(reason)
            else:
                # only a missing id would be reported with a line, and `_record_arguments` has checked the id
                yield from context.record(1, **class_)


def _reason_to_drop(context: ReaderContext, graph: _Graph, node: dict[str, Any], prefixes: Sequence[str]) -> str | None:
    if node.get("type") != "CLASS":
        return str(node.get("type") or "no type").lower()
    if _is_obsolete(graph.parents, node):
        return "obsolete"
    if prefixes and not has_prefix(_id(context, node), prefixes):
        return "other prefix"
    return None if field(node, "lbl", str) else "no name"


def _record_arguments(context: ReaderContext, graph: _Graph, node: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `ReaderContext.record`."""
    concept_id, meta = _id(context, node), _meta(node)
    names = [(node["lbl"], "preferred")]
    for synonym in fields(meta, "synonyms", dict):
        scope = _SCOPE.search(field(synonym, "pred", str) or "")
        names.append((field(synonym, "val", str) or "", scope[1].lower() if scope else "related"))
    xrefs = [field(xref, "val", str) or "" for xref in fields(meta, "xrefs", dict)]
    return {
        "concept_id": concept_id,
        "names": names,
        "alternative_ids": [*_property_values(meta, "hasAlternativeId"), *graph.replaced.get(concept_id, ())],
        "types": _property_values(meta, "hasOBONamespace") or graph.types,
        "definition": field(field(meta, "definition", dict) or {}, "val", str),
        "parents": map(curie, graph.parents.get(node["id"], ())),
        "xrefs": map(without_release, xrefs),
        "xref_predicates": list(_matches(meta)),
    }


def _graphs(context: ReaderContext) -> Iterator[_Graph]:
    document = parse(context)
    try:
        if not isinstance(document, dict) or "graphs" not in document:
            raise ValueError("there is no key graphs")
        for graph in fields(document, "graphs", dict):
            nodes, parents = fields(graph, "nodes", dict), _parents(graph)
            default = _property_values(_meta(graph), "default-namespace")
            yield _Graph(nodes, parents, _replaced_ids(context, nodes, parents), context.types or tuple(default))
    except ValueError as error:
        raise other_content(context, "obograph", error, "json") from error


def _parents(graph: dict[str, Any]) -> dict[str, list[str]]:
    parents = defaultdict(list)
    for edge in fields(graph, "edges", dict):
        child, parent = field(edge, "sub", str), field(edge, "obj", str)
        if edge.get("pred") == "is_a" and child and parent:
            parents[child].append(parent)
    return dict(parents)


def _replaced_ids(
    context: ReaderContext, nodes: list[dict[str, Any]], parents: dict[str, list[str]]
) -> dict[str, list[str]]:
    obsolete = {}
    for node in nodes:
        # `read_obograph` reports broken nodes
        with suppress(ValueError):
            if _is_obsolete(parents, node):
                concept_id, meta = _id(context, node), _meta(node)
                ids = context.ids([concept_id, *_property_values(meta, "hasAlternativeId")])
                obsolete[concept_id] = Obsolete(ids, context.ids(_property_values(meta, "IAO_0100001")))
    return replaced_ids(obsolete)


def _is_obsolete(parents: dict[str, list[str]], node: dict[str, Any]) -> bool:
    lineage = [node.get("id"), *parents.get(str(node.get("id")), ())]
    return _meta(node).get("deprecated") is True or any(OBSOLETE_CLASS.fullmatch(str(iri)) for iri in lineage)


def _id(context: ReaderContext, node: dict[str, Any]) -> str:
    ids = context.ids([curie(field(node, "id", str) or "")])
    if not ids:
        raise ValueError("no id")
    return ids[0]


def _meta(item: dict[str, Any]) -> dict[str, Any]:
    return field(item, "meta", dict) or {}


def _property_values(meta: dict[str, Any], name: str) -> list[str]:
    """Return the values of the property with an IRI that ends in this name. Ids among them become CURIEs."""
    properties = fields(meta, "basicPropertyValues", dict)
    named = [item for item in properties if re.search(rf"[#/:]{name}$", field(item, "pred", str) or "")]
    return [curie(field(item, "val", str) or "") for item in named]


def _matches(meta: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the ids that SKOS matches lead to, with their predicates."""
    for item in fields(meta, "basicPropertyValues", dict):
        predicate = skos_match(field(item, "pred", str) or "")
        if predicate:
            yield without_release(curie(field(item, "val", str) or "")), predicate
