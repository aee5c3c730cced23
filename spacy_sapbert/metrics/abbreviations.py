"""Compare found and gold abbreviation pairs (short form, long form), exactly or leniently."""

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
    """Count the pairs that are equal or similar.

    Two pairs are similar if both conditions hold. Their short forms have the same letters and digits. Their long forms
    are equal without punctuation and leading stop words, or share at least half of their words (Jaccard overlap ≥ 0.5).
    Each gold pair is found at most once.

    Args:
        gold: Gold pairs from `fold_pairs`.
        found: Found pairs from `fold_pairs`.
        stop_words: Words that do not count at the start of a long form.
    """
    exact = compare_sets(gold, found)
    return exact._replace(hits=exact.hits + _count_similar(gold - found, found - gold, stop_words))


def _count_similar(gold: Iterable[Pair], found: Iterable[Pair], stop_words: Collection[str]) -> int:
    """Return the number of gold pairs with a similar found pair; each found pair counts once."""
    left, count = sorted(found), 0
    for pair in sorted(gold):
        similar = next((other for other in left if _is_similar(pair, other, stop_words)), None)
        if similar is not None:
            left.remove(similar)
            count += 1
    return count


def _is_similar(a: Pair, b: Pair, stop_words: Collection[str]) -> bool:
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
