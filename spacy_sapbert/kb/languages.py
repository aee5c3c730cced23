"""Languages of names: one tag for each, whatever code a source uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ChoiceError, Errors, SapbertError

if TYPE_CHECKING:
    from .knowledge_base import KnowledgeBase

# Codes of three letters, as in the column LAT of UMLS, with the tags of BCP 47.
_PAIRS = """
ara ar  baq eu  bul bg  cat ca  chi zh  cze cs  dan da  dut nl  eng en  est et  fin fi  fre fr  ger de  gre el
heb he  hin hi  hrv hr  hun hu  ita it  jpn ja  kor ko  lav lv  lit lt  nor no  pol pl  por pt  rum ro  rus ru
scr hr  slo sk  slv sl  spa es  swe sv  tur tr  ukr uk  vie vi
"""
_CODES = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))


def known_tag(raw: str) -> str:
    """Return the tag of a language as a file writes it, e.g. "es" for "SPA", "es-MX" and "es_MX".

    Only the language is kept, not the region or the script. A text that is not a tag gives an empty one.
    """
    code = raw.strip().replace("_", "-").partition("-")[0].lower()
    return _CODES.get(code, code) if len(code) in (2, 3) and code.isascii() and code.isalpha() else ""


def language_tag(given: str) -> str:
    """Return the tag of a language that a user gives, see `known_tag`. Empty for an empty text.

    Raises:
        SapbertError: E193 it is not a tag.
    """
    tag = known_tag(given)
    if given and not tag:
        raise SapbertError(Errors.E193.format(given=given))
    return tag


def display_tag(kb: KnowledgeBase, given: str | None) -> str:
    """Return the tag of the language in which preferred names are shown. Empty for the preferred names of the sources.

    Raises:
        ChoiceError: The vocabulary has no name in it.
        SapbertError: E193 it is not a tag.
    """
    tag = language_tag(given or "")
    if tag and tag not in (known := kb.language_counts()):
        counts = [f"{language or 'unknown'} ({count:,})" for language, count in sorted(known.items())]
        raise ChoiceError(given=tag, what=f"language of names in {kb.path}", choices=counts)
    return tag
