"""Concept identifiers in their one canonical form, the same in vocabularies, corpora and predictions.

MeSH ids and UMLS CUIs are bare (`D009369`, `C565588`, `C0012634`), all else is a CURIE (`OMIM:145250`). SNOMED CT
has one prefix, `SNOMEDCT`: the numbers of its editions do not overlap.
"""

from __future__ import annotations

import re

NO_ID = frozenset({"", "-", "-1"})
"""What corpora write for a mention that has no concept."""

SUPPLEMENTARY = (*("C" + "[0-9]" * digits for digits in (6, 9)), "OMIM:[0-9]*")
"""Patterns of the ids that supplement MeSH's descriptors, for `re` and for SQLite's GLOB: its supplementary records, and
those of OMIM, which MEDIC has for what MeSH lacks. A UMLS CUI has seven digits, so it is none."""

_BARE_PREFIXES = re.compile(r"(?:(?:mesh|msh|umls|umls_cui)\s*:\s*)+", re.IGNORECASE)
_CURIE = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)\s*:\s*(?!//)(\S.*)", re.DOTALL)
_PREFIXES = {prefix.lower(): prefix for prefix in ("Orphanet", "NCBITaxon", "NCBIGene")}
_PREFIXES |= dict.fromkeys(("snomedct_us", "snomed_ct", "snomed", "sctid"), "SNOMEDCT")
_SEPARATORS = re.compile(r"[|+,;]")
_SUPPLEMENTARY = re.compile("|".join(SUPPLEMENTARY))


def canonical_id(raw: str, default_prefix: str | None = None) -> str:
    """Bring an identifier into its canonical form; a canonical one stays as it is.

    A bare `C` number may be a MeSH supplementary concept or a UMLS CUI: both stay bare.

    Args:
        raw: the identifier as a source writes it, e.g. "MESH:D009369", "omim:145250", " UMLS:C0012634".
        default_prefix: the prefix of bare numbers, for sources that leave it out ("OMIM" for MEDIC).

    Returns:
        the canonical form; empty if there is nothing but blanks and a prefix.
    """
    text = raw.strip()
    bare = _BARE_PREFIXES.match(text)
    if bare:
        text = text[bare.end() :]
    if default_prefix and text.isascii() and text.isdecimal():
        text = f"{default_prefix}:{text}"
    curie = _CURIE.fullmatch(text)
    if not curie:
        return text
    prefix, local = curie.groups()
    return f"{_PREFIXES.get(prefix.lower(), prefix.upper())}:{local}"


def split_ids(raw: str, default_prefix: str | None = None) -> tuple[str, ...]:
    """The canonical identifiers of a field that may hold several, joined by `|`, `+`, `,` or `;`.

    Returns:
        each identifier once, in the order of the field; empty for `-1`, `-` or blanks.
    """
    ids = (canonical_id(part, default_prefix) for part in _SEPARATORS.split(raw))
    return tuple(dict.fromkeys(concept_id for concept_id in ids if concept_id not in NO_ID))


def is_supplementary(concept_id: str) -> bool:
    """Return whether a canonical id supplements the descriptors of MeSH, as `C565588` and `OMIM:145250` do."""
    return bool(_SUPPLEMENTARY.fullmatch(concept_id))
