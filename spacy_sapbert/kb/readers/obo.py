"""Read ontologies in OBO format 1.2 and 1.4, and in OBO Graphs JSON.

The formats are described at http://owlcollab.github.io/oboformat/doc/obo-syntax.html and
https://github.com/geneontology/obographs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from ...types import Record
from ..ids import curie
from .context import ReaderContext, ReadReport, preferred_first
from .json_files import field, fields, other_content, parse
from .ontology import (
    OBSOLETE_CLASS,
    has_prefix,
    obo_predicates,
    replaced_ids,
    skos_match,
    without_release,
)

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "W": " ", "t": "\t"}

# An identifier ends at whitespace, modifiers or a comment.
_ID = re.compile(r"(?:\\.|[^\s\\{!])+")
_START = r"(?:^|(?<!\s)\s+)"  # the lookbehind makes a run of spaces match in linear time
_COMMENT = re.compile(rf"{_START}!(?:\s.*)?$")
_MODIFIER = r'[A-Za-z][\w.:/#-]*\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s,{}"]+)'
_MODIFIERS = re.compile(rf"{_START}\{{\s*{_MODIFIER}(?:\s*,\s*{_MODIFIER})*\s*\}}\s*(?:!.*)?$")

# "text" SCOPE TYPE [xrefs] {modifiers} ! comment: everything but the text is optional
_QUOTED = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"(?:\s+(?P<scope>EXACT|NARROW|BROAD|RELATED)\b)?'
    r'(?:\s+[^\s\[{!"]+)?\s*(?:\[.*)?(?:\{.*)?(?:!.*)?$'
)
# OBO 1.0 had one tag per scope, and OBO 1.2 still allows it.
_SYNONYM_TAGS = {
    "synonym": None,
    "exact_synonym": "exact",
    "narrow_synonym": "narrow",
    "broad_synonym": "broad",
    "related_synonym": "related",
}


class _Stanza(NamedTuple):
    """A stanza of the file."""

    kind: str  # "Term", "Typedef", "Instance", or empty for the header
    line: int  # at which it starts
    tags: dict[str, list[tuple[int, str]]]  # line and value of each occurrence of a tag

    def values(self, tag: str) -> list[str]:
        """Return the values of a tag."""
        return [value for _, value in self.tags[tag]]


def read_obo(
    context: ReaderContext, *, default_scope: str = "related", prefixes: Sequence[str] = ()
) -> Iterator[Record]:
    """Read the terms that are not obsolete and have a name. Their namespace is their type.

    The header's `default-namespace` applies to terms without a namespace, unless `context.types` is set. The file is
    read twice, because an obsolete term may come after the term that replaces it.

    Args:
        default_scope: Scope of a synonym without one. The specification says "related".
        prefixes: Read only terms with these id prefixes, since many files contain terms of other ontologies.
    """
    replaced = _replaced_ids(context)
    default_type: tuple[str, ...] = ()
    equivalent: set[str] = set()
    for stanza in _stanzas(context):
        if not stanza.kind:
            default_type = context.types or tuple(map(_value, stanza.values("default-namespace")))
            equivalent = set(map(_value, stanza.values("treat-xrefs-as-equivalent")))
            continue
        context.report.rows_read += 1
        reason = _reason_to_drop(context, stanza, prefixes)
        if reason:
            context.drop(reason)
        elif not stanza.tags["name"]:
            context.broken(stanza.line, "a term without a name")
            context.drop("no name")
        else:
            yield from _term(context, stanza, default_type, default_scope, replaced, equivalent)


def _reason_to_drop(context: ReaderContext, stanza: _Stanza, prefixes: Sequence[str]) -> str | None:
    if stanza.kind != "Term":
        return stanza.kind
    if _is_obsolete(stanza):
        return "obsolete"
    ids = context.ids(_ids(stanza, "id"))
    if prefixes and ids and not has_prefix(ids[0], prefixes):
        return "other prefix"
    return None


def _replaced_ids(context: ReaderContext) -> dict[str, list[str]]:
    """Map each term that is not obsolete to the ids of the obsolete terms that it replaces."""
    silent = replace(context, strict=False, report=ReadReport())
    obsolete = (stanza for stanza in _stanzas(silent) if stanza.kind == "Term" and _is_obsolete(stanza))
    terms = ((chain(_ids(term, "id"), _ids(term, "alt_id")), _ids(term, "replaced_by")) for term in obsolete)
    return replaced_ids(silent, terms)


def _term(
    context: ReaderContext,
    stanza: _Stanza,
    default_type: tuple[str, ...],
    default_scope: str,
    replaced: dict[str, list[str]],
    equivalent: Collection[str],
) -> Iterator[Record]:
    concept_id = next(_ids(stanza, "id"), "")
    names = preferred_first(map(_value, stanza.values("name")))
    definitions = [text for text, _ in _quoted_values(context, stanza, "def")]
    types = list(map(_value, stanza.values("namespace")))
    for tag, scope in _SYNONYM_TAGS.items():
        names += [(text, scope or written or default_scope) for text, written in _quoted_values(context, stanza, tag)]
    old_ids = (old_id for canonical in context.ids([concept_id]) for old_id in replaced.get(canonical, ()))
    return context.record(
        stanza.line,
        concept_id,
        names,
        alternative_ids=chain(_ids(stanza, "alt_id"), old_ids),
        types=types or default_type,
        definition=" ".join(definitions),
        parents=_ids(stanza, "is_a"),
        xrefs=map(without_release, _ids(stanza, "xref")),
        xref_predicates=obo_predicates(stanza.values("xref"), stanza.values("property_value"), equivalent),
    )


def _is_obsolete(stanza: _Stanza) -> bool:
    return "true" in map(_value, stanza.values("is_obsolete"))


def _stanzas(context: ReaderContext) -> Iterator[_Stanza]:
    """Yield the header, then every stanza."""
    stanza = _Stanza("", 1, defaultdict(list))
    for number, line in _logical_lines(context):
        if line.startswith("[") and line.endswith("]"):
            yield stanza
            stanza = _Stanza(line[1:-1].strip(), number, defaultdict(list))
            continue
        tag, colon, value = line.partition(":")
        if colon:
            stanza.tags[tag.strip()].append((number, value.strip()))
        elif line and not line.startswith("!"):
            context.broken(number, "no tag")
    yield stanza


def _logical_lines(context: ReaderContext) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each line. A line that ends in a backslash continues on the next one."""
    pieces: list[str] = []
    for number, line in chain(context.lines(), [(0, "")]):
        if (len(line) - len(line.rstrip("\\"))) % 2 == 1:
            pieces.append(line[:-1])
        else:
            yield number, "".join([*pieces, line]).strip()
            pieces = []


def _quoted_values(context: ReaderContext, stanza: _Stanza, tag: str) -> Iterator[tuple[str, str | None]]:
    """Yield text and scope of each value of a tag with quoted values."""
    for line, value in stanza.tags[tag]:
        match = _QUOTED.match(value)
        if match:
            yield _unescape(match["text"]), (match["scope"] or "").lower() or None
        else:
            context.broken(line, f"{tag} without a text in quotation marks")


def _ids(stanza: _Stanza, tag: str) -> Iterator[str]:
    for value in stanza.values(tag):
        if match := _ID.match(value):
            yield curie(_unescape(match[0]))


def _value(value: str) -> str:
    """Return a value without quotation marks, trailing modifiers and comment."""
    return _unescape(_COMMENT.sub("", _MODIFIERS.sub("", value)))


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)


# --- OBO Graphs JSON, node by node
#
# The whole document is held in memory, because edges come after their nodes. This takes about four times the size of
# the file: 115 MB for the 29 MB of the NCI Thesaurus' disease branch.

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
                reason = _reason_to_drop_node(context, graph, node, prefixes)
                class_ = {} if reason else _record_arguments(context, graph, node)
            except ValueError as error:
                context.drop_broken(1, f"node {node.get('id') or node.get('lbl')}: {error}")
                continue
            if reason:
                context.drop(reason)
            else:
                # only a missing id would be reported with a line, and `_record_arguments` has checked the id
                yield from context.record(1, **class_)


def _reason_to_drop_node(
    context: ReaderContext, graph: _Graph, node: dict[str, Any], prefixes: Sequence[str]
) -> str | None:
    if node.get("type") != "CLASS":
        return str(node.get("type") or "no type").lower()
    if _is_obsolete_node(graph.parents, node):
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
            replaced = replaced_ids(context, _obsolete_nodes(context, nodes, parents))
            yield _Graph(nodes, parents, replaced, context.types or tuple(default))
    except ValueError as error:
        raise other_content(context, "obograph", error, "json") from error


def _parents(graph: dict[str, Any]) -> dict[str, list[str]]:
    parents = defaultdict(list)
    for edge in fields(graph, "edges", dict):
        child, parent = field(edge, "sub", str), field(edge, "obj", str)
        if edge.get("pred") == "is_a" and child and parent:
            parents[child].append(parent)
    return dict(parents)


def _obsolete_nodes(
    context: ReaderContext, nodes: list[dict[str, Any]], parents: dict[str, list[str]]
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the ids of each obsolete class, and of its replacements."""
    for node in nodes:
        # `read_obograph` reports broken nodes
        with suppress(ValueError):
            if _is_obsolete_node(parents, node):
                ids, meta = [_id(context, node)], _meta(node)
                yield ids + _property_values(meta, "hasAlternativeId"), _property_values(meta, "IAO_0100001")


def _is_obsolete_node(parents: dict[str, list[str]], node: dict[str, Any]) -> bool:
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
