"""Inflections of a text: its plural, its spelling with a hyphen, and the nouns and adjectives of its last word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from .languages import ENGLISH, LanguageRules
from .phrases import endings_of
from .words import CACHED_NAMES, acronym_of, read_words

SAME_START = 3
"""Letters of a word, in which no inflections differ. A word that is written together with another one has as many."""
_SHORTEST_STEM = 4  # letters: "manic" is not "many"
_ADDED = frozenset(("ness", "ful"))
"""Endings that make a word of an adjective or noun. Others make the name of a process: "oxygenation" is not oxygen."""


class Inflections(NamedTuple):
    """The other forms of a text.

    Attributes:
        key: What a text, its plural and its spellings with a hyphen or a blank have in common. A short form keeps its
            case, and has a plural only.
        adjectives: The keys of the adjectives with the stem of its noun. They may be no words.
        derived: These, and the keys of the nouns with the stem of its adjective.
    """

    key: str
    adjectives: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()


@lru_cache(maxsize=CACHED_NAMES)
def inflections(text: str, rules: LanguageRules = ENGLISH) -> Inflections:
    """Return the other forms of a text."""
    words = read_words(text, rules).written
    key = inflection_key(words, rules) if words else text
    if not words or key.startswith("="):
        return Inflections(key)
    forms = (_derived(words[-1].lower(), endings) for endings in _endings(rules.code))
    nouns, adjectives = (frozenset(inflection_key([*words[:-1], form], rules) for form in kind) for kind in forms)
    return Inflections(key, adjectives - {key}, (adjectives | nouns) - {key})


def inflection_key(words: Sequence[str], rules: LanguageRules = ENGLISH) -> str:
    """Return the key of a text from its words as they are written, see `Inflections`."""
    if len(words) == 1 and (acronym := acronym_of(words[0])):
        return f"={acronym}"
    folded = list(map(str.casefold, words))
    singular = rules.words.singular(folded[-1])
    last = singular if singular[:SAME_START] == folded[-1][:SAME_START] else folded[-1]  # "flies" keeps its beginning
    joints = ("" if min(map(len, pair)) >= SAME_START and "".join(pair).isalpha() else " " for pair in pairwise(folded))
    return "".join(part + joint for part, joint in zip([*folded[:-1], last], [*joints, ""], strict=True))


def same_start(text: str, rules: LanguageRules = ENGLISH) -> str:
    """Return with what a text begins, in lower case, in which its inflections do not differ."""
    words = read_words(text, rules).written
    return (words[0] if words else text).casefold()[:SAME_START]


def _derived(word: str, endings: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the words with the same stem and another ending."""
    for length in range(_SHORTEST_STEM, len(word) + 1) if word.isalpha() else ():
        yield from (word[:length] + ending for ending in endings.get(word[length:], ()))


@lru_cache(maxsize=8)
def _endings(code: str) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
    """Return the endings of adjectives, each with those of nouns with the same stem, and the reverse."""
    nouns: dict[str, list[str]] = {}
    adjectives: dict[str, list[str]] = {}
    for adjective, of_nouns in endings_of(code).items():
        for noun in of_nouns:
            if (adjective and noun) or not _ADDED.isdisjoint((adjective, noun)):
                nouns.setdefault(adjective, []).append(noun)
                adjectives.setdefault(noun, []).append(adjective)
    return nouns, adjectives
