"""The words of a text in the form in which names are matched: case, plural, spelling and word order do not count."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .greek import spell_out_greek
from .normalize import american

# They stand inside names without telling one from another: "cancer of the breast", "breast cancer".
# "a" is none of them ("hepatitis A"), nor are "and", "or", "no" and "without", which change what is meant.
FUNCTION_WORDS = frozenset({"of", "the", "in", "on", "by", "to", "for", "with", "due", "an", "at", "from"})

_WORD = re.compile(r"([^\W_]+)(?:['’][sS](?![^\W_]))?")  # "Parkinson's" is "Parkinson"
# What ends a name between two words: the end of a sentence or clause, a bracket that does not stand in a word.
_BREAK = re.compile(r"[.;:!?][\s\"'”’)]|[\s][([{]|[)\]}][\s]|[\"“”<>=]|\n\s*\n")


class Word(NamedTuple):
    """A run of letters and digits.

    Attributes:
        key: its form without case and plural, in American spelling, with the names of Greek letters; empty for a
            function word.
        broken: between this word and the one before stands something that no name reaches across.
        comma: between this word and the one before stands a comma.
    """

    start: int
    end: int
    key: str
    broken: bool
    comma: bool


def words(text: str) -> list[Word]:
    found: list[Word] = []
    last = 0
    for match in _WORD.finditer(text):
        gap = text[last : match.start()]
        broken = len(gap) > 4 or bool(_BREAK.search(gap))
        found.append(Word(match.start(), match.end(), _key(match[1]), broken, "," in gap))
        last = match.end()
    return found


@lru_cache(maxsize=1 << 16)
def word_keys(text: str) -> tuple[str, ...]:
    """Return the keys that tell one name from another, sorted; without those of function words."""
    return tuple(sorted(word.key for word in words(text) if word.key))


@lru_cache(maxsize=1 << 16)
def _key(word: str) -> str:
    form = american(spell_out_greek(word))
    return "" if form in FUNCTION_WORDS else singular(form)


def singular(word: str) -> str:
    """Fold English and Latin plurals of a lower-case word onto one form, which need be no word itself.

    Both numbers must come out alike (diseases, disease; metastases, metastasis; biopsies, biopsy; nodes, node). Words
    of under five letters or with a digit stay as they are: among them are too many that differ in just that.
    """
    if len(word) < 5 or not word.isalpha():
        return word
    if word.endswith("ae"):  # "Haemophilus influenzae" is no influenza
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("sis"):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


def is_acronym(text: str) -> bool:
    """Whether a name is matched with its case: one short word, most of it capitals, e.g. "ALL", "AIDS" or "SAMe".

    A word with a Greek letter is none, since that may be spelled out: "TNFα" is "TNF-alpha".
    """
    text = spell_out_greek(text)
    if not 2 <= len(text) <= 5 or text[0].islower() or not text.isalnum():
        return False
    return sum(map(str.isupper, text)) > sum(map(str.islower, text))
