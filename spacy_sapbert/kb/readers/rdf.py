"""Read OWL ontologies and SKOS vocabularies in RDF: RDF/XML, Turtle, N-Triples, N-Quads and TriG.

The library `pyoxigraph` parses the file. The values of all classes are held in memory, because RDF has no order. A
class with four texts takes about 2 KB.

OWL classes have the annotations of OBO ontologies (oboInOwl, IAO), of the NCI Thesaurus and of EFO. Classes of
BioPortal have SKOS labels. So all properties are read from classes and concepts alike.
"""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

from ...errors import BadRecordError, Errors, SapbertError, requiring
from ...files.opening import Pieces, without_gz
from ...files.xml import RootFound, malformed_xml
from ...types import Record
from ..ids import curie
from .context import NameParts, ReaderContext, preferred_by_language
from .json_files import OTHER_FORMAT
from .ontology import OBSOLETE_CLASS, has_prefix, replaced_ids, without_release

if TYPE_CHECKING:
    from pyoxigraph import Quad

_CHUNK = 1 << 16
_MAX_ENTITY = 300  # characters; the entities of ontologies are namespaces

_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
_KINDS: dict[str, str] = _TABLES["kinds"]
"""What a resource is, by its type. Any other, such as the metadata of the ontology, is not a row."""
_FIELDS: dict[str, str] = _TABLES["fields"]
"""What a property says."""
_LABELS = ("pref_label", "label")  # the first has precedence
_SCOPES = ("exact", "narrow", "broad", "related")
_NAMES = frozenset({*_LABELS, *_SCOPES})
_SYNTAXES = {".nt": "N_TRIPLES", ".nq": "N_QUADS", ".trig": "TRIG"}
_OTHER_SYNTAXES: dict[str, str] = _TABLES["other syntaxes"]
"""Syntaxes that cannot be read, by how a file begins."""


class _Value(NamedTuple):
    """The object of a triple: a literal or an IRI."""

    text: str
    is_literal: bool
    language: str = ""  # the primary tag of a literal in lower case


class _Resource:
    """The triples of a subject."""

    __slots__ = ("kinds", "values")

    def __init__(self) -> None:
        self.kinds: set[str] = set()  # values of `_KINDS`
        self.values: dict[str, list[_Value]] = {}  # by field, in the order of the file

    def texts(self, field: str) -> list[str]:
        """Return literals and IRIs of a field."""
        return [value.text for value in self.values.get(field, ())]

    def iris(self, field: str) -> list[str]:
        return [value.text for value in self.values.get(field, ()) if not value.is_literal]


_Resources = dict[str, _Resource]
"""Resources by IRI."""


def read_rdf(
    context: ReaderContext, *, prefixes: Sequence[str] = (), languages: Sequence[str] = ("en",)
) -> Iterator[Record]:
    """Read the classes of an ontology and the concepts of a SKOS vocabulary, unless they are obsolete.

    `skos:prefLabel` has precedence over `rdfs:label`. Parents are named superclasses and broader concepts. The
    ontologies that a file imports are not read. Their number is reported.

    Args:
        prefixes: Read only classes with these id prefixes, since many files contain classes of other ontologies.
        languages: Languages of names and definitions, such as "en". The first one has precedence. Texts without a
            language are always read. If empty, all languages are read, and English has precedence.

    Yields:
        One record per class or concept, in the order of the file.
    """
    languages = [language.lower().partition("-")[0] for language in languages]
    resources = _collect(context, languages)
    obsolete = ((iri, resource) for iri, resource in resources.items() if _is_obsolete(iri, resource))
    terms = (
        (map(curie, [iri, *resource.texts("alt_id")]), map(curie, resource.texts("replaced_by")))
        for iri, resource in obsolete
    )
    replaced = replaced_ids(context, terms)
    parents = _inverse_parents(resources)
    for iri, resource in resources.items():
        if not resource.kinds:
            continue
        context.report.rows_read += 1
        (concept_id,) = context.ids([curie(iri)])[:1] or ("",)
        if resource.kinds.isdisjoint(("class", "obsolete")):
            context.drop(min(resource.kinds))
            continue
        if _is_obsolete(iri, resource):
            context.drop("obsolete")
            continue
        if prefixes and concept_id and not has_prefix(concept_id, prefixes):
            context.drop("other prefix")
            continue
        yield from context.record(
            1,
            concept_id,
            _names(resource, languages),
            alternative_ids=[*map(curie, resource.texts("alt_id")), *replaced.get(concept_id, ())],
            # BioPortal writes semantic types of UMLS as IRIs that end in a TUI
            types=[text.rpartition("/")[2] if text.startswith("http") else text for text in resource.texts("type")],
            definition=next(iter(resource.texts("definition")), None),
            parents=map(curie, [*resource.iris("parent"), *parents.get(iri, ())]),
            xrefs=(without_release(curie(text)) for text in resource.texts("xref")),
        )


def _names(resource: _Resource, languages: Sequence[str]) -> list[NameParts]:
    """Return the names. The first label in each language is preferred there, and the first of all comes first."""
    precedence = {language: order for order, language in enumerate(languages or ("en", ""))}
    labels = [value for field in _LABELS for value in resource.values.get(field, ())]
    labels.sort(key=lambda value: precedence.get(value.language, len(precedence)))
    names = preferred_by_language((value.text, value.language) for value in labels)
    others = ((value, scope) for scope in _SCOPES for value in resource.values.get(scope, ()))
    return names + [(value.text, scope, value.language) for value, scope in others]


def _is_obsolete(iri: str, resource: _Resource) -> bool:
    lineage = [iri, *resource.iris("parent")]
    is_deprecated = any(text in ("true", "1") for text in resource.texts("deprecated"))
    return "obsolete" in resource.kinds or is_deprecated or any(map(OBSOLETE_CLASS.fullmatch, lineage))


def _inverse_parents(resources: _Resources) -> dict[str, list[str]]:
    """Return the parents that only a parent states, by the IRI of the child."""
    parents: defaultdict[str, list[str]] = defaultdict(list)
    for iri, resource in resources.items():
        for child in resource.iris("child"):
            parents[child].append(iri)
    return parents


# --- triples


def _collect(context: ReaderContext, languages: Sequence[str]) -> _Resources:
    """Read the triples of the fields. Texts in other languages are counted and skipped."""
    resources: _Resources = {}
    for quad in _quads(context):
        field = _FIELDS.get(quad.predicate.value)
        if not field and quad.predicate.value != _RDF_TYPE:
            continue
        subject, value = _value(quad.subject), _value(quad.object)
        if value is None or subject is None:
            continue
        if not field:
            if kind := _KINDS.get(value.text):
                resources.setdefault(subject.text, _Resource()).kinds.add(kind)
        elif value.language and languages and value.language not in languages:
            context.report.names_dropped["language"] += field != "definition"
        elif field == "imports":
            context.report.notes["imported ontologies that are not read"] += 1
        elif field in _NAMES and not value.is_literal:
            context.broken(1, f"the label {value.text} of <{subject.text}> is not a text")
        else:
            resources.setdefault(subject.text, _Resource()).values.setdefault(field, []).append(value)
    return resources


def _value(term: Any) -> _Value | None:
    """Return a value of our own for a term. A blank node and a triple within a triple have none."""
    kind = type(term).__name__
    if kind == "NamedNode":
        return _Value(term.value, is_literal=False)
    return _Value(term.value, True, (term.language or "").lower().partition("-")[0]) if kind == "Literal" else None


def _quads(context: ReaderContext) -> Iterator[Quad]:
    """Parse the file."""
    syntax = _syntax(context)
    with requiring("ontologies", f"Reading {context.file}"):
        import pyoxigraph
    with context.open() as file:
        chunks: Iterator[bytes] = (text.encode() for text in iter(lambda: file.read(_CHUNK), ""))
        chunks = _with_checked_head(context, chunks) if syntax == "RDF_XML" else chunks
        format = getattr(pyoxigraph.RdfFormat, syntax)
        try:
            source = io.BufferedReader(Pieces(filter(None, chunks)), _CHUNK)
            # relative IRIs need a base; `lenient` accepts the blanks and brackets in the IRIs of real ontologies
            yield from pyoxigraph.parse(source, format=format, base_iri="file:///", lenient=True)
        except SyntaxError as error:
            reason = f"this is not valid {format.name} ({error.msg})"
            position = context.place(error.lineno) if error.lineno else context.file
            raise BadRecordError(position=position, reason=reason, remedy=OTHER_FORMAT) from error


def _syntax(context: ReaderContext) -> str:
    """Return the name of the syntax, as `pyoxigraph.RdfFormat` has it."""
    with context.open() as file:
        head = file.read(_CHUNK)
    lines = (line.strip() for line in head.split("\n"))
    start = next((line for line in lines if line and not line.startswith("#")), "")
    other = next((name for beginning, name in _OTHER_SYNTAXES.items() if start.startswith(beginning)), None)
    if start.startswith(("<?xml", "<!", "<rdf:RDF", "<Ontology")):
        if re.search(r"<(?:\w+:)?RDF\b", head):
            return "RDF_XML"
        other = "OWL/XML" if "<Ontology" in head else "XML, but not RDF/XML"
    if other:
        raise SapbertError(Errors.E163.format(path=context.path, syntax=other))
    return _SYNTAXES.get(without_gz(context.path).suffix.lower(), "TURTLE")


# --- the head of an XML file


def _with_checked_head(context: ReaderContext, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Replace what comes before the root element by declarations of short entities without nesting.

    Ontologies abbreviate namespaces by entities, so these must work. But nested entities could expand without bound.
    """
    entities: dict[str, str] = {}
    parser = expat.ParserCreate("utf-8")
    n_bytes = n_lines = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal n_bytes, n_lines
        n_bytes, n_lines = parser.CurrentByteIndex, parser.CurrentLineNumber - 1
        raise RootFound

    def declare(name: str, is_parameter: int, value: str | None, *_: object) -> None:
        is_plain = value is not None and len(value) <= _MAX_ENTITY and not set(value) & {"&", "<", '"', "%"}
        if is_parameter or value is None or not is_plain:
            what = f"the entity {name}, which is long, nested or outside the file,"
            raise SapbertError(Errors.E206.format(path=context.path, line=parser.CurrentLineNumber, what=what))
        entities.setdefault(name, value)

    parser.StartElementHandler = start
    parser.EntityDeclHandler = declare
    before = b""
    try:
        for chunk in chain(chunks, [b""]):
            before += chunk
            parser.Parse(chunk, not chunk)
    except RootFound:
        pass
    except expat.ExpatError as error:
        raise malformed_xml(context.path, error) from error
    declared = "".join(f'<!ENTITY {name} "{value}">' for name, value in entities.items())
    yield (f"<!DOCTYPE r [{declared}]>" if declared else "").encode() + b"\n" * n_lines
    yield before[n_bytes:]
    yield from chunks
