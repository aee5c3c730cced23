"""Pairs of a short and a long form, found and gold, compared exactly or leniently."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import dropwhile

from .counts import SetCounts, compare_sets

Pair = tuple[str, str]

MIN_OVERLAP = 0.5


def fold_pairs(pairs: Iterable[Pair]) -> set[Pair]:
    """Return the pairs with case and blanks folded."""
    return {(fold(short), fold(long)) for short, long in pairs}


def fold(text: str) -> str:
    """Return a text with case and blanks folded."""
    return " ".join(text.lower().split())


def compare_leniently(gold: set[Pair], found: set[Pair], stop_words: Collection[str]) -> SetCounts:
    """Count pairs that are the same, or alike.

    Pairs are alike whose short forms are the same letters and digits, and whose long forms are the same without
    punctuation and stop words at their start, or have a Jaccard overlap of words of at least 0.5. Each gold pair is
    found once.

    Args:
        gold: as `fold_pairs` gives them.
        found: as `fold_pairs` gives them.
    """
    exact = compare_sets(gold, found)
    return exact._replace(hits=exact.hits + _count_alike(gold - found, found - gold, stop_words))


def _count_alike(gold: Iterable[Pair], found: Iterable[Pair], stop_words: Collection[str]) -> int:
    """Return how many of the gold pairs are leniently found, each by another of the pairs found."""
    left, count = sorted(found), 0
    for pair in sorted(gold):
        alike = next((other for other in left if _alike(pair, other, stop_words)), None)
        if alike is not None:
            left.remove(alike)
            count += 1
    return count


def _alike(a: Pair, b: Pair, stop_words: Collection[str]) -> bool:
    if letters(a[0]) != letters(b[0]):
        return False
    words_a, words_b = _words(a[1], stop_words), _words(b[1], stop_words)
    shared, all_words = set(words_a) & set(words_b), set(words_a) | set(words_b)
    return words_a == words_b or len(shared) >= MIN_OVERLAP * len(all_words)


def letters(short: str) -> str:
    """Return the letters and digits of a short form."""
    return "".join(filter(str.isalnum, short))


def _words(long: str, stop_words: Collection[str]) -> Sequence[str]:
    return list(dropwhile(stop_words.__contains__, re.findall(r"[^\W_]+", long)))
