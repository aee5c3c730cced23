"""Names of findings that are too high or too low: "low calcium" is hypocalcemia, "big head" macrocephaly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from .languages import ENGLISH, LanguageRules
from .lists import read_lines

FOLDER = Path(__file__).parent / "synonyms"
_DIRECTIONS = {"low": (0, False), "high": (1, False), "small": (0, True), "large": (1, True)}
"""The value, 0 for low, and whether it is a size."""
_MEASURED = frozenset(("before", "after"))
_FEWEST_WORDS, _MOST_WORDS = 2, 12
_MOST_DIRECTIONS, _MOST_PLACES, _MOST_LEVELS, _MOST_QUANTITIES = 4, 3, 2, 3

_Keys = tuple[str, ...]


class _Quantity(NamedTuple):
    """A quantity: its names, the names of its low and its high values, and whether it is a size."""

    names: tuple[str, ...]
    findings: tuple[tuple[str, ...], ...]
    is_size: bool


class _Findings(NamedTuple):
    """The findings of a language.

    Attributes:
        words: The words for each direction, for where a quantity is measured ("before") and for its level ("after").
        quantities: The quantities, by the keys of their names.
        kinds: The kinds of a word, by its key.
    """

    words: Mapping[str, tuple[str, ...]]
    quantities: Mapping[_Keys, _Quantity]
    kinds: Mapping[str, frozenset[str]]


def findings(text: str, rules: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    """Yield names of a finding that a text says with a direction and a quantity, each with the reason."""
    table = _findings(rules)
    matches = list(rules.words.pattern.finditer(text))
    if not table.words or not _FEWEST_WORDS <= len(matches) <= _MOST_WORDS:
        return
    words = [match[0] for match in matches]
    keys = [word_key(word, rules) for word in words]
    for direction in _DIRECTIONS:
        marked = [place for place, key in enumerate(keys) if direction in table.kinds.get(key, ())]
        if marked and (len(marked) == 1 or not marked[0]):
            function_words = rules.words.function_words
            rest = [
                (word, key)
                for place, (word, key) in enumerate(zip(words, keys, strict=True))
                if place != marked[0] and word.lower() not in function_words
            ]
            start, end = matches[marked[0]].span()
            for other in table.words[direction][:_MOST_DIRECTIONS]:
                yield text[:start] + other + text[end:], f"“{text[start:end]}” is “{other}”"
            for name in _names(table, rest, direction, is_first=marked[0] == 0):
                yield name, f"“{text}” is {name}"


def _names(table: _Findings, rest: list[tuple[str, str]], direction: str, *, is_first: bool) -> Iterator[str]:
    value, of_size = _DIRECTIONS[direction]
    plain = [(word, key) for word, key in rest if not table.kinds.get(key, frozenset()) & _MEASURED]
    known = (table.quantities.get(tuple(key for _, key in pairs)) for pairs in (rest, plain))
    quantity = next(filter(None, known), None)
    if quantity and (quantity.is_size or not of_size):
        yield from quantity.findings[value]
    if not is_first or of_size or not plain:
        return
    directions = table.words[direction][:_MOST_DIRECTIONS]
    written = " ".join(word for word, _ in plain)
    quantities = dict.fromkeys((written, *(quantity.names if quantity else ())))
    places = ("", *table.words["before"][:_MOST_PLACES])
    levels = ("", *table.words["after"][:_MOST_LEVELS])
    for parts in product(directions, places, list(quantities)[:_MOST_QUANTITIES], levels):
        yield " ".join(filter(None, parts))


@lru_cache(maxsize=1 << 14)
def word_key(word: str, rules: LanguageRules) -> str:
    """Return the key of a word, as in `spacy_sapbert.text.words`, also of a function word."""
    return rules.words.singular(rules.words.spell(word))


@lru_cache(maxsize=8)
def _findings(rules: LanguageRules) -> _Findings:
    words: dict[str, tuple[str, ...]] = {}
    quantities: dict[_Keys, _Quantity] = {}
    kinds: dict[str, set[str]] = {}
    for line in read_lines(FOLDER / f"{rules.code}_findings.txt"):
        names, equals, values = line.removeprefix("#").partition("=")
        if equals:
            sides = tuple(tuple(filter(None, side.split("|"))) for side in values.split("/"))
            quantity = _Quantity(tuple(names.split("|")), sides, line.startswith("#"))
            for name in quantity.names:
                quantities[tuple(word_key(word, rules) for word in rules.words.pattern.findall(name))] = quantity
        else:
            kind, *listed = line.split()
            words[kind] = tuple(listed)
            for word in listed:
                kinds.setdefault(word_key(word, rules), set()).add(kind)
    return _Findings(words, quantities, {key: frozenset(of_key) for key, of_key in kinds.items()})
