"""Words and phrases that name the same: "renal" and "kidney", "low calcium" and hypocalcemia, "anemic" and anemia.

The lists are in the folder `synonyms`, and the endings of words in phrases.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product, repeat
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from ..files.values import pairs, read_lines, read_lists
from .languages import LanguageRules

FOLDER = Path(__file__).parent / "synonyms"
_LONGEST, _MOST_WORDS = 3, 8  # words of an entry, and of a text in which one is exchanged
_OF_FORMS = "of in impaired"  # words of texts that have another form, see rewriting.txt
_DIRECTIONS = {"low": (0, False), "high": (1, False), "small": (0, True), "large": (1, True)}
"""The value, 0 for low, and whether it is a size."""
_FEWEST_IN_FINDING, _MOST_IN_FINDING = 2, 12  # words
_MOST_DIRECTIONS, _MOST_PLACES, _MOST_LEVELS, _MOST_QUANTITIES = 4, 3, 2, 3
_SHORTEST_STEM, _SHORTEST_DERIVED = 3, 4  # letters
# what ends like this is a noun already; it saves time
_NOUNS = (
    "sis", "itis", "ia", "oma", "omas", "ism", "tion", "sion", "ment", "ness", "ity", "disease", "diseases", "disorder",
    "disorders", "syndrome", "pathy", "tumor", "tumors", "cancer", "deficiency", "ure", "age",
)  # fmt: skip
_STRESSED = str.maketrans("áéíóú", "aeiou")

_Keys = tuple[str, ...]


class OtherWords(NamedTuple):
    """A text in other words, where the first of them end, and the reason."""

    text: str
    end: int
    reason: str


_Quantity = tuple[_Keys, list[list[str]], bool]
"""The names of a quantity, those of its low and its high values, and whether it is a size."""


class _Lists(NamedTuple):
    """The lists of a language.

    Attributes:
        exchanged: For the keys of some words, other words, and where they are exchanged: "=" marks a whole text, "*" a
            whole text or a part, and nothing a part.
        longest: The length of the longest of these entries, by their first keys.
        words: The words for each direction, for where a quantity is measured ("before") and for its level ("after").
        kinds: The kinds of these words, by their keys.
        quantities: The quantities, by the keys of their names.
    """

    exchanged: Mapping[_Keys, list[tuple[str, str]]]
    longest: Mapping[str, int]
    words: Mapping[str, _Keys]
    kinds: Mapping[str, set[str]]
    quantities: Mapping[_Keys, _Quantity]


def may_have(text: str, language: LanguageRules) -> tuple[bool, bool]:
    """Return quickly whether a text may have `findings`, and whether it may have `exchanges`."""
    lists, keys = _lists(language), _keys(text, language)
    has_exchanges = not lists.longest.keys().isdisjoint(keys) or "ological" in text
    return not lists.kinds.keys().isdisjoint(keys), has_exchanges


def has_other_words(word: str, language: LanguageRules) -> bool:
    return (word_key(word, language),) in _lists(language).exchanged


def exchanges(text: str, language: LanguageRules, start: int = 0) -> Iterator[OtherWords]:
    """Yield a text with other words for one part from a position on."""
    words = list(language.words.pattern.finditer(text, start))
    if not words or len(words) > _MOST_WORDS:
        return
    lists, keys = _lists(language), tuple(map(word_key, map(itemgetter(0), words), repeat(language)))
    for first, key in enumerate(keys):
        for last in range(min(first + lists.longest.get(key, 0), len(words)), first, -1):
            for other, mark in lists.exchanged.get(keys[first:last], ()):
                begin, end = words[first].start(), words[last - 1].end()
                if mark == "*" or (mark == "=") == (begin == 0 and end == len(text)):
                    yield _exchange(text, begin, end, other)


def _exchange(text: str, start: int, end: int, other: str) -> OtherWords:
    return OtherWords(text[:start] + other + text[end:], start + len(other), f"“{text[start:end]}” is “{other}”")


def findings(match: re.Match[str], language: LanguageRules) -> Iterator[OtherWords]:
    """Yield names of a finding that a text says with a direction and a quantity."""
    text = match[0]
    lists, keys = _lists(language), _keys(text, language)
    if not _FEWEST_IN_FINDING <= len(keys) <= _MOST_IN_FINDING:
        return
    words = list(language.words.pattern.finditer(text))
    for direction in _DIRECTIONS:
        marked = [place for place, key in enumerate(keys) if direction in lists.kinds.get(key, ())]
        if marked and (len(marked) == 1 or not marked[0]):
            place = marked[0]
            for other in lists.words[direction][:_MOST_DIRECTIONS]:
                yield _exchange(text, *words[place].span(), other)
            rest = [(word[0], key) for word, key in zip(words, keys, strict=True) if word is not words[place]]
            rest = [pair for pair in rest if pair[0].lower() not in language.words.function_words]
            for name in _names(lists, rest, direction, is_first=not place):
                yield OtherWords(name, len(name), f"“{text}” is {name}")


def _names(lists: _Lists, rest: list[tuple[str, str]], direction: str, *, is_first: bool) -> Iterator[str]:
    value, of_size = _DIRECTIONS[direction]
    plain = [(word, key) for word, key in rest if lists.kinds.get(key, set()).isdisjoint(("before", "after"))]
    known = (lists.quantities.get(tuple(key for _, key in pairs)) for pairs in (rest, plain))
    quantities, names, is_size = next(filter(None, known), ((), [[], []], False))
    if is_size or not of_size:
        yield from names[value]
    if is_first and not of_size and plain:
        written = dict.fromkeys((" ".join(word for word, _ in plain), *quantities))
        places, levels = lists.words["before"][:_MOST_PLACES], lists.words["after"][:_MOST_LEVELS]
        directions = lists.words[direction][:_MOST_DIRECTIONS]
        for parts in product(directions, ("", *places), list(written)[:_MOST_QUANTITIES], ("", *levels)):
            yield " ".join(filter(None, parts))


def derived_nouns(match: re.Match[str], language: LanguageRules) -> Iterator[str]:
    """Yield a text with a noun for the adjective or verb at its end."""
    text = match[0].lower()
    last = text.split(" ")[-1]
    if len(last) < _SHORTEST_DERIVED or not last.isalpha() or last.endswith(_NOUNS):
        return
    endings = endings_of(language.code)
    longest = min(len(last) - _SHORTEST_STEM, len(next(iter(endings), "")))
    for place in range(len(text) - longest, len(text) + 1):
        if nouns := endings.get(text[place:]):
            stem = text[:place].translate(_STRESSED) if language.code == "es" else text[:place]  # isquémico, isquemia
            for noun in nouns:
                yield stem + noun


@lru_cache(maxsize=8)
def endings_of(code: str) -> dict[str, list[str]]:
    """Return the endings of adjectives and verbs of a language, each with those of nouns with the same stem."""
    rules = pairs(read_lists(__file__).get(code, ""))
    return {ending: rules[ending].split(",") for ending in sorted(rules, key=len, reverse=True)}


@lru_cache(maxsize=1 << 14)
def word_key(word: str, language: LanguageRules) -> str:
    """Return the key of a word, as in `spacy_sapbert.text.words`, also of a function word."""
    return language.words.singular(language.words.spell(word))


@lru_cache(maxsize=1 << 6)
def _keys(text: str, language: LanguageRules) -> _Keys:
    return tuple(map(word_key, language.words.pattern.findall(text), repeat(language)))


@lru_cache(maxsize=8)
def _lists(language: LanguageRules) -> _Lists:
    exchanged: dict[_Keys, list[tuple[str, str]]] = {}
    for line in read_lines(FOLDER / f"{language.code}_own.txt") + read_lines(FOLDER / f"{language.code}.txt"):
        before, _, behind = line.lstrip("=*").rpartition(">")  # what is before ">" is not proposed
        phrases = behind.split("|")
        mark = line[0] if line[0] in "=*" else ""
        for phrase in before.split("|") if before else phrases:
            others = exchanged.setdefault(_keys(phrase, language), [])
            others.extend((other, mark) for other in phrases if other != phrase)
    words: dict[str, _Keys] = {}
    kinds: dict[str, set[str]] = {}
    quantities: dict[_Keys, _Quantity] = {}
    for line in read_lines(FOLDER / f"{language.code}_findings.txt"):
        names, equals, values = line.removeprefix("#").partition("=")
        if equals:
            sides = [list(filter(None, side.split("|"))) for side in values.split("/")]
            quantity = tuple(names.split("|")), sides, line.startswith("#")
            quantities |= {_keys(name, language): quantity for name in quantity[0]}
        else:
            kind, *listed = line.split()
            words[kind] = tuple(listed)
            for word in listed:
                kinds.setdefault(word_key(word, language), set()).add(kind)
    longest = dict.fromkeys(_keys(_OF_FORMS, language), 0)
    for keys in filter(None, exchanged):
        longest[keys[0]] = max(longest.get(keys[0], 0), min(len(keys), _LONGEST))
    return _Lists(exchanged, longest, words, kinds, quantities)
