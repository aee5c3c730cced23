"""What must agree between a text and a name: numbers, single letters, opposites and negations.

"MPS II" is not "MPS III", and "decreased heart rate" not "increased heart rate". Such names are more similar than most
synonyms, so no similarity tells them apart.

Only what both have can differ: "diabetes mellitus" does not contradict "diabetes mellitus type 2".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from .languages import ENGLISH, LanguageRules
from .normalize import spell_out_greek

_RUN = re.compile(r"\d+|[^\W\d_]+")
_GREEK_RUN = re.compile("[\u0370-\u03ff\u00b5]+")
_ROMAN = re.compile(r"(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10}
_GREEK = {"alpha": "a", "beta": "b", "gamma": "g", "delta": "d", "epsilon": "e", "kappa": "k", "omega": "o"}
_LOCANTS = re.compile(r"\d[a-z]?['′]?-[a-z(\[]", re.IGNORECASE)
_MOST_ENDING = 3  # letters after what is negated: "sleepy" after "sleepless"
_MOST_CACHED = 64  # characters of a text in the cache, which bounds its memory
_CACHED = 1 << 15


class CriticalParts(NamedTuple):
    """The parts of a text that must agree.

    Attributes:
        numbers: The numbers, without zeros in front, each as often as the text has it. Roman and written ones count.
        letters: The single letters. A Greek one counts as the Latin one that stands for it.
        values: The words for each property, such as "left" for a side, by the property and its value.
        negated: What is negated: "small" in "non-small".
        words: The keys of the other words.
        systematic: Whether the text has a locant, as names of chemicals have.
    """

    numbers: tuple[str, ...]
    letters: frozenset[str]
    values: dict[tuple[int, int], str]
    negated: frozenset[str]
    words: tuple[str, ...]
    systematic: bool

    def __bool__(self) -> bool:
        """Return whether the text has something that must agree."""
        return bool(self.numbers or self.letters or self.values or self.negated)

    def include(self, other: CriticalParts) -> bool:
        """Return whether a text has all numbers and letters of another one, and the same values of its properties."""
        has_numbers = not other.numbers or not Counter(other.numbers) - Counter(self.numbers)
        kinds = {kind for kind, _ in other.values}
        same_values = {value for value in self.values if value[0] in kinds} == other.values.keys()
        return has_numbers and same_values and other.letters <= self.letters


def critical_parts(text: str, rules: LanguageRules = ENGLISH) -> CriticalParts:
    """Return the critical parts of a text."""
    return _cached(text, rules) if len(text) <= _MOST_CACHED else _parse(text, rules)


def may_negate(text: str, rules: LanguageRules = ENGLISH) -> bool:
    """Return whether a text may negate something. This is quick, and may say so of other texts."""
    return rules.opposites.any_negation.search(text) is not None


def contradictions(text: CriticalParts, name: CriticalParts) -> Iterator[str]:
    """Yield why a name cannot mean a text, such as "3 is not 2".

    Names of chemicals may number the same atoms in several ways. So their numbers differ only if they share none.
    """
    if text.numbers and name.numbers and text.numbers != name.numbers:
        text_only, name_only = (
            Counter(text.numbers) - Counter(name.numbers),
            Counter(name.numbers) - Counter(text.numbers),
        )
        share_some = not set(text.numbers).isdisjoint(name.numbers)
        if text_only and name_only and not (name.systematic and share_some):
            yield _differ(sorted(text_only), sorted(name_only))
    if not (text.letters <= name.letters or name.letters <= text.letters):
        yield _differ(sorted(text.letters - name.letters), sorted(name.letters - text.letters))
    yield from _opposites(text, name)
    yield from (f"only the name negates “{word}”" for word in _negated_only_by(name, text))
    yield from (f"the name does not negate “{word}”" for word in _negated_only_by(text, name))


def _opposites(text: CriticalParts, name: CriticalParts) -> Iterator[str]:
    for kind in sorted({kind for kind, _ in text.values} & {kind for kind, _ in name.values}):
        said, meant = (
            {value: word for (of, value), word in parts.values.items() if of == kind} for parts in (text, name)
        )
        if said.keys().isdisjoint(meant):
            yield _differ(sorted(said.values()), sorted(meant.values()))


def _negated_only_by(parts: CriticalParts, other: CriticalParts) -> Iterator[str]:
    for word in sorted(parts.negated):
        is_said = any(key.startswith(word) and len(key) <= len(word) + _MOST_ENDING for key in other.words)
        if is_said and not any(key.startswith(word) or word.startswith(key) for key in other.negated):
            yield word


def _differ(said: Sequence[str], meant: Sequence[str]) -> str:
    return f"{' '.join(meant)} is not {' '.join(said)}"


class _Word(NamedTuple):
    """What a word adds to the critical parts of its text.

    Attributes:
        key: Its key; empty if it is no plain word.
        negates: Whether it negates the next word.
        numbers, letters, negated: See `CriticalParts`.
        value: The property and the value that it stands for.
    """

    key: str = ""
    negates: bool = False
    numbers: tuple[str, ...] = ()
    letters: tuple[str, ...] = ()
    value: tuple[int, int] | None = None
    negated: str | None = None


def _parse(text: str, rules: LanguageRules) -> CriticalParts:
    spelled = text if text.isascii() else _GREEK_RUN.sub(lambda run: f" {spell_out_greek(run[0])} ", text)
    written = rules.words.pattern.findall(spelled)
    words = [_word(word, rules) for word in written]
    pairs = list(zip(words, written, strict=True))
    return CriticalParts(
        tuple(sorted(number for word in words for number in word.numbers)),
        frozenset(letter for word in words for letter in word.letters),
        {word.value: form.lower() for word, form in pairs if word.value},
        frozenset(
            [word.negated for word in words if word.negated]
            + [word.key for before, word in pairwise(words) if before.negates and word.key]
        ),
        tuple(word.key for word in words if word.key),
        bool(_LOCANTS.search(text)),
    )


@lru_cache(maxsize=_CACHED)
def _word(written: str, rules: LanguageRules) -> _Word:
    possessives = rules.words.possessives
    runs = _RUN.findall((written[:-2] if possessives and written.endswith(possessives) else written).lower())
    numbers = tuple(run.lstrip("0") or "0" for run in runs if run.isdecimal())
    letters = tuple(_GREEK.get(run, run) for run in runs if run in _GREEK or (len(run) == 1 and not run.isdecimal()))
    if len(runs) != 1 or numbers:
        return _Word(numbers=numbers, letters=letters)
    opposites = rules.opposites
    key = rules.words.singular(rules.words.spell(runs[0]))
    if number := opposites.numerals.get(key) or _roman(runs[0]):
        return _Word(numbers=(number,))
    if letters:
        return _Word(letters=letters)
    return _Word(key, key in opposites.negations, (), (), opposites.value_of(key), opposites.negated_in(key))


_cached = lru_cache(maxsize=_CACHED)(_parse)


def _roman(word: str) -> str | None:
    """Return a Roman numeral up to 39 in digits. Only whole words are numerals."""
    if not _ROMAN.fullmatch(word):
        return None
    values = [_ROMAN_VALUES[letter] for letter in word]
    following = [*values[1:], 0]
    return str(sum(-value if value < after else value for value, after in zip(values, following, strict=True)))
