"""What readers of ontologies share: CURIEs of IRIs, ids of obsolete terms, relations to other vocabularies."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..ids import canonical_prefix, curie

if TYPE_CHECKING:
    from .context import ReaderContext

# --- ids

# DOID writes the release of the vocabulary into the prefix: SNOMEDCT_US_2018_03_01, NCI2009_04D, CSP2005
_RELEASE = re.compile(r"^(\s*[A-Za-z]\w*?)_?(?:19|20)\d\d(?:_\d\d(?:_\d\d|[A-Z])?)?(?=\s*:)")
# In ORDO and in OWL made from OBO 1.2, obsolete classes are subclasses of a class with this name.
OBSOLETE_CLASS = re.compile(r".*[#/]ObsoleteClass")


def add_prefix(concept_id: str, prefix: str) -> str:
    """Return an id with this prefix, unless it has one already or the prefix is empty."""
    return f"{prefix}:{concept_id}" if prefix and ":" not in concept_id else concept_id


def without_release(xref: str) -> str:
    """Remove the release from the prefix of a cross-reference, so that it names only the vocabulary."""
    return _RELEASE.sub(r"\1", xref)


def has_prefix(concept_id: str, prefixes: Iterable[str]) -> bool:
    """Return whether a canonical id has one of these prefixes, in any spelling."""
    return concept_id.partition(":")[0] in {canonical_prefix(prefix) for prefix in prefixes}


# --- obsolete terms


def replaced_ids(context: ReaderContext, terms: Iterable[tuple[Iterable[str], Iterable[str]]]) -> dict[str, list[str]]:
    """Map each term that is not obsolete to the ids that it replaces, which become its alternative ids.

    An obsolete term gives no concept and no names, since what its names mean today is unknown. But corpora and older
    links contain its id, and `replaced_by` names its replacement. `consider` needs a person's judgment, so it is
    ignored. A term with several replacements is ignored as well.

    Args:
        context: Gives ids their canonical form.
        terms: For each obsolete term, its ids, the primary one first, and those of its replacements. One may replace
            another. Terms without an id are left out.
    """
    obsolete: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for ids, replacements in terms:
        if canonical := context.ids(ids):
            obsolete[canonical[0]] = canonical, context.ids(replacements)
    followed_by = {concept_id: replacements for concept_id, (_, replacements) in obsolete.items()}
    replaced: dict[str, list[str]] = defaultdict(list)
    known: dict[str, str | None] = {}
    for concept_id, (own, _) in obsolete.items():
        replacement = _current_replacement(concept_id, followed_by, known)
        if replacement:
            replaced[replacement] += own
    return dict(replaced)


def _current_replacement(
    concept_id: str, obsolete: Mapping[str, tuple[str, ...]], known: dict[str, str | None]
) -> str | None:
    """Return the term at the end of a chain of replacements, and note it in `known` for each term of the chain."""
    chain: list[str] = []
    current: str | None = concept_id
    while current is not None and current in obsolete and current not in known:
        chain.append(current)
        known[current] = None  # so a circle has no end
        following = obsolete[current]
        current = following[0] if len(following) == 1 else None
    end = None if current is None else known.get(current, current)
    known.update((term, end) for term in chain)
    return end


# --- relations to other vocabularies
#
# A cross-reference alone can lead to the same concept, or to a broader, narrower or similar one. Three places in an OBO
# file say more:
#
# - the header `treat-xrefs-as-equivalent: PREFIX` (OBO format 1.4);
# - a `property_value` with a predicate of SKOS (`property_value: skos:exactMatch MESH:D001943`);
# - the qualifiers of Mondo (`xref: MESH:D001943 {source="MONDO:equivalentTo"}`).

EQUIVALENT = "owl:equivalentClass"
_MONDO = {
    "MONDO:equivalentTo": "skos:exactMatch",
    "MONDO:equivalentObsolete": "skos:exactMatch",
    "MONDO:relatedTo": "skos:relatedMatch",
    "MONDO:mondoIsNarrowerThanSource": "skos:broadMatch",
    "MONDO:mondoIsBroaderThanSource": "skos:narrowMatch",
}
_MATCHES = frozenset({"exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch"})


def obo_predicates(
    xrefs: Iterable[str], property_values: Iterable[str], equivalent: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the related ids of an OBO term whose predicate the file gives.

    Args:
        equivalent: The values of `treat-xrefs-as-equivalent` in the header.

    Yields:
        The id and its predicate. Ids without a predicate are left out.
    """
    for value in xrefs:
        written, _, rest = value.partition(" ")
        xref = without_release(curie(written))
        predicates = [predicate for qualifier, predicate in _MONDO.items() if f'"{qualifier}"' in rest]
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
    name = relation.removeprefix("http://www.w3.org/2004/02/skos/core#").removeprefix("skos:")
    return f"skos:{name}" if name in _MATCHES and name != relation else None
