"""The words of a text as keys for matching names: case, plural, spelling and word order are ignored."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .greek import spell_out_greek
from .normalize import american

# These words do not distinguish names: "cancer of the breast", "breast cancer". Not among them are "a" ("hepatitis A"),
# and "and", "or", "no" and "without", since they change the meaning.
FUNCTION_WORDS = frozenset({"of", "the", "in", "on", "by", "to", "for", "with", "due", "an", "at", "from"})

_WORD = re.compile(r"([^\W_]+)(?:['’][sS](?![^\W_]))?")  # "Parkinson's" counts as "Parkinson"
# No name crosses these: the end of a sentence or clause, or a bracket outside a word.
_BREAK = re.compile(r"[.;:!?][\s\"'”’)]|[\s][([{]|[)\]}][\s]|[\"“”<>=]|\n\s*\n")


class Word(NamedTuple):
    """A run of letters and digits.

    Attributes:
        start: First character.
        end: Position after the last character.
        key: The word in American spelling, without case and plural, with Greek letters spelled out. Empty for a
            function word.
        broken: Whether something that no name crosses comes between the previous word and this one.
        comma: Whether a comma comes between the previous word and this one.
    """

    start: int
    end: int
    key: str
    broken: bool
    comma: bool


def words(text: str) -> list[Word]:
    """Split a text into words."""
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
    """Return the sorted keys of the words that distinguish names, without function words."""
    return tuple(sorted(word.key for word in words(text) if word.key))


@lru_cache(maxsize=1 << 16)
def _key(word: str) -> str:
    form = american(spell_out_greek(word))
    return "" if form in FUNCTION_WORDS else singular(form)


def singular(word: str) -> str:
    """Fold the singular and the English or Latin plural of a lower-case word to one form, which may not be a word.

    Both numbers give the same form (diseases, disease; metastases, metastasis; biopsies, biopsy; nodes, node). Words of
    fewer than five letters, and words with a digit, stay as they are. Too many of those differ only in such an ending.
    """
    if len(word) < 5 or not word.isalpha():
        return word
    if word.endswith("ae"):  # "Haemophilus influenzae" is not influenza
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("sis"):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


def is_acronym(text: str) -> bool:
    """Return whether a name is matched with its case: one short word, mostly capitals, e.g. "ALL", "AIDS" or "SAMe".

    A word with a Greek letter does not count, since the letter may be spelled out: "TNFα" is "TNF-alpha".
    """
    text = spell_out_greek(text)
    if not 2 <= len(text) <= 5 or text[0].islower() or not text.isalnum():
        return False
    return sum(map(str.isupper, text)) > sum(map(str.islower, text))
