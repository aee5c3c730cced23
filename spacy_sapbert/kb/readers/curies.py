"""Convert IRIs of ids to CURIEs. `kb.ids` then brings CURIEs into canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..ids import canonical_prefix
from ..prefixes import prefixes

_IRI = re.compile(r"https?://(?:www\.)?(?P<rest>\S+)", re.IGNORECASE)

# identifiers.org/mesh/D009369, identifiers.org/hgnc/HGNC:5, bioregistry.io/mesh:D009369
_RESOLVER = re.compile(
    r"(?:identifiers\.org|bioregistry\.io|bio2rdf\.org|n2t\.net|purl\.bioontology\.org/ontology)/"
    r"(?P<prefix>[A-Za-z][\w.-]*)[/:](?P<local>[^/#?]+)"
)
# The OBO Foundry's scheme, which Orphanet and EFO follow with their own bases: …/DOID_1612, …/Orphanet_124
_OBO = re.compile(r"\S*[/#](?P<prefix>[A-Za-z][A-Za-z0-9.-]*(?:_[A-Za-z]+)*)_(?P<local>[^_/#?:\d]*\d[^_/#?:]*)")

# DOID writes the release of the vocabulary into the prefix: SNOMEDCT_US_2018_03_01, NCI2009_04D, CSP2005
_RELEASE = re.compile(r"^(\s*[A-Za-z]\w*?)_?(?:19|20)\d\d(?:_\d\d(?:_\d\d|[A-Z])?)?(?=\s*:)")


def curie(text: str) -> str:
    """Return the CURIE of an IRI. Any other text is returned unchanged.

    Args:
        text: An id, possibly in angle brackets.
    """
    text = text.strip()
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    iri = _IRI.fullmatch(text)
    if not iri:
        return text
    rest = iri["rest"]
    if known := prefixes().of_address(rest):
        return known
    if found := _RESOLVER.fullmatch(rest):
        return found["local"] if ":" in found["local"] else f"{found['prefix']}:{found['local']}"
    if found := _OBO.fullmatch(rest):
        return f"{found['prefix']}:{found['local']}"
    return text


def without_release(xref: str) -> str:
    """Remove the release from the prefix of a cross-reference, so that it names only the vocabulary."""
    return _RELEASE.sub(r"\1", xref)


def has_prefix(concept_id: str, wanted: Iterable[str]) -> bool:
    """Return whether a canonical id has one of these prefixes, in any spelling."""
    return concept_id.partition(":")[0] in {canonical_prefix(prefix) for prefix in wanted}
