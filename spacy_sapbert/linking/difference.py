"""How the names of candidates differ from a text: words, letters, numbers; and what is known of their concepts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from ..text.languages import ENGLISH, LanguageRules
from ..text.words import has_same_letters, joined_letters, read_words
from ..types import SCORE_DIGITS, Candidate, Grade
from .agreement import CHECKED
from .concept_facts import Fact

FEATURES = (
    "score", "score_lead", "dense_lead", "sparse_lead", "support",
    "preferred", "preferred_lead", "popularity", "popularity_lead", "names", "main",
    "same", "added", "lacking", "words", "beginning", "alike", "same_last", "numbers_added", "numbers_lacking",
    "general_added", "length", "longer", "case", "capitals", "letters",
)  # fmt: skip
"""The names of the features, in the order of the columns. None is a word or a concept."""

DEPTH = CHECKED  # a candidate behind it may contradict the text
GAP = 0.2  # chosen on the training parts of several corpora
_MOST_POPULAR = 10  # log(1 + n) of all abstracts
_LONGEST = 30  # characters; longer texts count as equally long
_SAME_BAG, _SAME_WORDS = 1, 2


FactsOf = Callable[[Collection[str]], Mapping[str, Fact]]


def compared(candidates: Sequence[Candidate]) -> list[int]:
    """Return the positions of the candidates of a text that are compared, best first.

    They are among the first `DEPTH`, are not refused, and have scores up to `GAP` below the first. If the text is the
    name of the first one, they are the first two: no other name counts more, whatever its difference. If the text is
    another way to write its name, it is compared with none.
    """
    agreeing: list[int] = []
    least, depth = -math.inf, DEPTH
    for place, candidate in enumerate(candidates[:DEPTH]):
        if candidate.refusal is None and candidate.score >= least and len(agreeing) < depth:
            if not agreeing:
                least = candidate.score - GAP
                depth = 1 if candidate.rewrite else 2 if candidate.grade >= Grade.NEARLY_SAME else DEPTH
            agreeing.append(place)
    return agreeing


def difference_features(
    texts: Sequence[str],
    lists: Sequence[Sequence[Candidate]],
    facts_of: FactsOf,
    rules: LanguageRules = ENGLISH,
) -> np.ndarray:
    """Return the features of the compared candidates of texts.

    Args:
        lists: The compared candidates of each text. There may be none.
        facts_of: Looks up what is known of concepts.

    Returns:
        A float64 array of shape (candidates, `len(FEATURES)`). The candidates of the first text come first.
    """
    facts = facts_of([candidate.concept_id for candidates in lists for candidate in candidates])
    rows: list[tuple[float, ...]] = []
    for text, candidates in zip(texts, lists, strict=True):
        known = [facts[candidate.concept_id] for candidate in candidates]
        values = [
            # a lead is at most 1, but logarithms of counts differ by more
            (c.score, c.dense or 0.0, c.sparse or 0.0, fact.preferred == c.name, fact.popularity / _MOST_POPULAR)
            for c, fact in zip(candidates, known, strict=True)
        ]
        leads = zip(*map(_leads, zip(*values, strict=True)), strict=True)
        words = compare(text, [candidate.name for candidate in candidates], rules)
        for candidate, fact, value, lead, of_words in zip(candidates, known, values, leads, words, strict=True):
            of_concept = value[3], lead[3], fact.popularity, lead[4], fact.names, not fact.supplementary
            rows.append((candidate.score, *lead[:3], candidate.support, *of_concept, *of_words))
    # rounded, since the last digits of similarities depend on the processor
    return np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES)).round(SCORE_DIGITS)


def _leads(values: Sequence[float]) -> list[float]:
    """Return by how much each value is above the best other one: at most 1, and 1 if there is no other."""
    if len(values) < 2:
        return [1.0] * len(values)
    *_, second, highest = sorted(values)
    return [min(value - (second if value == highest else highest), 1.0) for value in values]


def compare(text: str, names: Sequence[str], rules: LanguageRules = ENGLISH) -> Iterator[tuple[float, ...]]:
    """Yield the features of a text and each of several names, from "same" on."""
    words, letters = read_words(text, rules).meanings, joined_letters(text)
    length, capitals = min(len(text), _LONGEST), text.isupper()
    of_kind, of_state = rules.words.modifiers
    for name in names:
        known, other_letters = read_words(name, rules).meanings, joined_letters(name)
        lacking, added = ([], []) if words == known else (_only_in(words, known), _only_in(known, words))
        beginning = alike = 0.0
        if lacking and added:
            beginning, ending = _shared_ends("".join(lacking), "".join(added))
            alike = min(1.0, beginning + ending)
        same = 0 if lacking or added else _SAME_WORDS if words == known else _SAME_BAG
        if not same and letters == other_letters and has_same_letters(text, name):
            same = _SAME_WORDS
        yield (
            same,
            len(added),
            len(lacking),
            len(words),
            beginning,
            alike,
            words[-1:] == known[-1:],
            len([word for word in added if len(word) == 1 or not word.isalpha()]) if added else 0,
            len([word for word in lacking if len(word) == 1 or not word.isalpha()]) if lacking else 0,
            len([word for word in added if word in of_kind or word in of_state]) if added else 0,
            length,
            max(-_LONGEST, min(len(name) - len(text), _LONGEST)),
            2 if text == name else len(text) == len(name) and text.casefold() == name.casefold(),
            capitals,
            1.0 if letters == other_letters else min(1.0, sum(_shared_ends(letters, other_letters))),
        )


def _shared_ends(first: str, second: str) -> tuple[float, float]:
    """Return which share of the longer text is the beginning of both, and which is the end of both."""
    longest = max(len(first), len(second), 1)
    return n_common(first, second) / longest, n_common(first[::-1], second[::-1]) / longest


def _only_in(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the words that a text has more often than another one, in their order."""
    if len(set(words)) == len(words):
        return [word for word in words if word not in others]
    left: dict[str, int] = {}
    for word in others:
        left[word] = left.get(word, 0) + 1
    only = []
    for word in words:
        if n := left.get(word, 0):
            left[word] = n - 1
        else:
            only.append(word)
    return only


def n_common(first: str, second: str) -> int:
    """Return the number of first characters that two texts share."""
    for n, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return n
    return min(len(first), len(second))


def describe(text: str, name: str, rules: LanguageRules = ENGLISH) -> str:
    """Say how a name differs from a text: "adds “idiopathic”"."""
    added, lacking = _shown(name, text, rules), _shown(text, name, rules)
    if added and lacking:
        shared = set(read_words(text, rules).meanings).intersection(read_words(name, rules).meanings)
        return f"has “{added}” instead of “{lacking}”" if shared else "has other words"
    if added or lacking:
        return f"adds “{added}”" if added else f"lacks “{lacking}”"
    return "has the same words"


def _shown(text: str, other: str, rules: LanguageRules) -> str:
    """Return the words that only a text has, as it writes them."""
    read = read_words(text, rules)
    only = set(_only_in(read.meanings, read_words(other, rules).meanings))
    return " ".join(word.written for word in read.words if word.key and word.meaning in only)
