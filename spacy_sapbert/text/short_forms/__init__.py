"""Short forms of clinical notes that no document defines, such as "HTN". The words around choose between senses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, repeat
from pathlib import Path
from typing import NamedTuple

from ..languages import ENGLISH, LanguageRules
from ..words import is_general, word_keys

_FILE = Path(__file__).with_name("en.txt")
CONTEXTS = Path(__file__).with_name("en_contexts.txt")
EVERYDAY = 5  # letters; shorter forms in lower case are short forms
MOST_WORDS = 14  # words on each side of a short form that can decide its sense
REACH = 120  # characters that are read on each side for them
WIDE = 400  # characters on each side whose words count, as learned from abstracts
CAPITALS = 40  # characters on each side that show whether a text is in capitals
LITTLE_WORDS = frozenset({"an", "as", "at", "be", "he", "or", "us"})
"""Short forms that are rather these words where a text is in capitals."""
CLEAR = 0.8
"""The least probability of a sense. Below it, a short form stays without one."""
WEIGHT, NEIGHBOR, IN_TEXT = math.log(10), math.log(30), math.log(20)
"""How much a word around, a word directly beside it, and the long form elsewhere in the text raise a sense."""
_SHARE = re.compile(r" (\d+)(?:: (.*))?$")
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_CAPITALS = re.compile(r"(?<![^\W_])[A-Z]{3,}(?![^\W_])")


class Sense(NamedTuple):
    """What a short form can stand for.

    Attributes:
        names: The long form, and other names of the same thing, as vocabularies write them.
        share: How many of its occurrences in notes have this sense, from 0 to 1.
        context: Words around it in this sense. "on_" stands directly before it, "_:" directly after it. "#" is any
            number, and "^" the start of a line.
    """

    names: tuple[str, ...]
    share: float = 1.0
    context: frozenset[str] = frozenset()


class ShortForm(NamedTuple):
    """An occurrence of a short form: its characters `start:end`, and its sense.

    Attributes:
        names: The names of its sense. If it is not clear, the long form of each sense.
        is_clear: Whether the text decides for one sense.
    """

    start: int
    end: int
    names: tuple[str, ...]
    is_clear: bool


@lru_cache(maxsize=1)
def short_forms() -> Mapping[str, Sequence[Sense]]:
    """Return the senses of each short form, the most frequent first.

    One of three capitals or more is also written in lower case, or with one capital, if that is no word. Everyday
    names, such as "heart attack", may begin with a capital.
    """
    table: dict[str, Sequence[Sense]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        forms, _, *senses = line.split("\t")
        table |= dict.fromkeys(forms.split(","), tuple(map(_sense, senses)))
    for form, found in [*table.items()]:
        if form.islower() and len(form) >= EVERYDAY:
            table.setdefault(form.capitalize(), found)
        elif form.isupper() and sum(map(str.isalpha, form)) > 2 and not is_general(form):
            for variant in (form.lower(), form.capitalize()):
                table.setdefault(variant, found)
    return table


@lru_cache(maxsize=1)
def _learned() -> Mapping[str, Mapping[str, float]]:
    """Return how much each word of a text speaks for a sense, by the first name of the sense.

    `scripts/context_words.py` learns the weights, which are logarithms, from abstracts with a name of the sense.
    """
    senses: dict[str, Mapping[str, float]] = {}
    for line in CONTEXTS.read_text(encoding="utf-8").splitlines():
        name, *groups = line.split("\t")
        words = (group.split() for group in groups)
        senses[name] = {word: float(weight) for weight, *some in words for word in some}
    return senses


@lru_cache(maxsize=1)
def _by_first_word() -> Mapping[str, Sequence[str]]:
    """Return the short forms by the word at which they start, the longest first."""
    by_word: dict[str, list[str]] = {}
    for form in sorted(short_forms(), key=len, reverse=True):
        by_word.setdefault(_WORD.findall(form)[0], []).append(form)
    return by_word


def find_short_forms(text: str) -> Iterator[ShortForm]:
    """Find the short forms of clinical notes in a text. They do not overlap.

    A word in capitals that is a general word, such as "PLAN", has this word as its only sense, which is not clear.
    """
    by_word, lowered, end = _by_first_word(), text.lower(), 0
    named: dict[str, list[bool]] = {}  # whether the text has a name of each sense of a form
    for word in _WORD.finditer(text):
        start = word.start()
        if start < end:
            continue
        written = word[0]
        forms = by_word.get(written) or by_word.get(written.removesuffix("s"), ())
        form = next((form for form in forms if _stands_alone(text, start, form)), None)
        if form is not None:
            end = _end(text, start, form)
            is_word = is_general(form) or form.lower() in LITTLE_WORDS
            if not (is_word and _is_in_capitals(text, start, end)):
                senses = short_forms()[form]
                names, is_clear = senses[0].names, True
                if len(senses) > 1:
                    if form not in named:
                        named[form] = [any(name.lower() in lowered for name in sense.names) for sense in senses]
                    around = _words_around(text, start, end)
                    nearby = words_of(text[max(0, start - WIDE) : start] + " " + text[end : end + WIDE])
                    names, is_clear = _names(senses, named[form], around, nearby)
                yield ShortForm(start, end, names, is_clear)
        elif _CAPITALS.fullmatch(written) and is_general(written):
            yield ShortForm(start, word.end(), (written.lower(),), False)


def is_sense(name: str, senses: Sequence[str], rules: LanguageRules = ENGLISH) -> bool:
    """Return whether a name is the only sense of a word in capitals: Fever is for "FEVER", but no acronym PLAN is."""
    return len(senses) == 1 and not name.isupper() and word_keys(name, rules) == word_keys(senses[0], rules)


def _sense(text: str) -> Sense:
    share = _SHARE.search(text)
    names = tuple((text[: share.start()] if share else text).split("="))
    context = frozenset(map(_singular, (share[2] or "").split() if share else ()))
    return Sense(names, int(share[1]) / 100 if share else 1.0, context)


def _stands_alone(text: str, start: int, form: str) -> bool:
    """Return whether a form is a whole word here. One of two letters does not stand in a compound: "ST-elevation"."""
    if not text.startswith(form, start):
        return False
    end = _end(text, start, form)
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    return not (before.isalnum() or after.isalnum() or (len(form) < 3 and "-" in (before, after)))


def _end(text: str, start: int, form: str) -> int:
    """Return the position after a form and the "s" of its plural."""
    end = start + len(form)
    return end + (form[-1].isupper() and text[end : end + 1] == "s")


def _is_in_capitals(text: str, start: int, end: int) -> bool:
    """Return whether the words around are in capitals, so that "AS" may just be a word."""
    around = text[max(0, start - CAPITALS) : start] + text[end : end + CAPITALS]
    return around.upper() == around and any(map(str.isalpha, around))


def _names(
    senses: Sequence[Sense], named: Sequence[bool], around: frozenset[str], nearby: frozenset[str]
) -> tuple[tuple[str, ...], bool]:
    """Return the names of the sense, or the long forms of all senses, and whether it is one sense.

    The probability of a sense is its share, times a factor for each word around that belongs to it, and for each word
    nearby that abstracts with this sense have more or less often.
    """
    weights = list(map(_weight, senses, named, repeat(around), repeat(nearby)))
    best = max(range(len(senses)), key=weights.__getitem__)
    if 1 / sum(math.exp(weight - weights[best]) for weight in weights) >= CLEAR:
        return senses[best].names, True
    return tuple(sense.names[0] for sense in senses), False


def _weight(sense: Sense, is_named: bool, around: frozenset[str], nearby: frozenset[str]) -> float:
    """Return the logarithm of how probable a sense is, but for a constant."""
    hits = [NEIGHBOR if "_" in word else WEIGHT for word in sense.context & around]
    learned = _learned().get(sense.names[0], {})
    from_nearby = math.fsum(learned[word] for word in nearby & learned.keys())
    return math.log(sense.share) + sum(hits) + IN_TEXT * is_named + from_nearby


def _words_around(text: str, start: int, end: int) -> frozenset[str]:
    """Return the words around characters `start:end`, with "_" for those directly beside them."""
    first = max(0, start - REACH)
    before, after = _tokens(text[first:start].lower()), _tokens(text[end : end + REACH].lower())
    line = text.rfind("\n", first, start) + 1 or first
    beside = [f"{before[-1]}_"] if before else []
    beside += [f"_{after[0]}"] if after else []
    beside += ["^_"] if not text[line:start].strip(" \t-*•#") else []
    return frozenset([*before[-MOST_WORDS:], *islice(after, MOST_WORDS), *beside])


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case and the singular."""
    return frozenset(_tokens(text.lower()))


def _tokens(text: str) -> list[str]:
    return ["#" if word.isdigit() else _singular(word) for word in _WORD.findall(text)]


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word
