"""Find out how a term of an ontology and its cross-reference are related, where the file says so.

A cross-reference alone can lead to the same concept, or to a broader, narrower or similar one. Three places in an OBO
file say more:

- the header `treat-xrefs-as-equivalent: PREFIX` (OBO format 1.4);
- a `property_value` with a predicate of SKOS (`property_value: skos:exactMatch MESH:D001943`);
- the qualifiers of Mondo (`xref: MESH:D001943 {source="MONDO:equivalentTo"}`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from .curies import curie, without_release

EQUIVALENT = "owl:equivalentClass"
_OF_MONDO = {
    "MONDO:equivalentTo": "skos:exactMatch",
    "MONDO:equivalentObsolete": "skos:exactMatch",
    "MONDO:relatedTo": "skos:relatedMatch",
    "MONDO:mondoIsNarrowerThanSource": "skos:broadMatch",
    "MONDO:mondoIsBroaderThanSource": "skos:narrowMatch",
}
_SKOS = ("http://www.w3.org/2004/02/skos/core#", "skos:")
_MATCHES = frozenset({"exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch"})


def obo_predicates(
    xrefs: Iterable[str], property_values: Iterable[str], equivalent: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the related ids of an OBO term whose predicate the file gives.

    Args:
        xrefs: The values of `xref`.
        property_values: The values of `property_value`.
        equivalent: The values of `treat-xrefs-as-equivalent` in the header.

    Yields:
        The id and its predicate. Ids without a predicate are left out.
    """
    for value in xrefs:
        written, _, rest = value.partition(" ")
        xref = without_release(curie(written))
        predicates = [predicate for qualifier, predicate in _OF_MONDO.items() if f'"{qualifier}"' in rest]
        if xref.partition(":")[0] in equivalent:
            predicates.append(EQUIVALENT)
        yield from ((xref, predicate) for predicate in predicates)
    for value in property_values:
        relation, _, rest = value.partition(" ")
        predicate = skos_match(relation)
        target = rest.strip().removeprefix('"').partition(" ")[0].rstrip('"')
        if predicate and target:
            yield without_release(curie(target)), predicate


def skos_match(relation: str) -> str | None:
    """Return a SKOS match as a CURIE ("skos:closeMatch"); None for any other relation, which may be an IRI."""
    name = relation
    for base in _SKOS:
        name = name.removeprefix(base)
    return f"skos:{name}" if name in _MATCHES and name != relation else None
