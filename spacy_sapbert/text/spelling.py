"""Correct misspelled words of mentions, from a list or from the words of a vocabulary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .languages import ENGLISH
from .words import is_acronym

Corrector = Callable[[str], str]
"""Returns the text of a mention with misspelled words corrected."""

MIN_LETTERS = 5  # shorter words have too many similar words
LONG = 9  # from this length, a word may differ by two edits
CLEARLY = 10  # of several equally near words, the best must be this many times as frequent as the next

_WORD = re.compile(r"[^\W_]+")
_A, _LETTERS = ord("a"), 27  # a to z, and one column for all other characters
# These differ by a few edits, but one is never a misspelling of the other.
_OPPOSITES = (("hyper", "hypo"), ("macro", "micro"), ("inter", "intra"), ("ante", "anti"))


class CorrectionList:
    """Corrects the words of a list, as BioSyn does (Sung et al. 2020, after D'Souza and Ng 2015).

    Case is ignored, and a first capital stays. Short forms such as LE are not corrected.

    Args:
        pairs: Maps misspelled words in lower case to their corrections, which may be several words.
    """

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self.pairs = dict(pairs)

    def __call__(self, text: str) -> str:
        return _WORD.sub(lambda word: self._correct_word(word[0]), text)

    def _correct_word(self, word: str) -> str:
        correction = None if is_acronym(word) else self.pairs.get(word.lower())
        if correction is None:
            return word
        return correction[:1].upper() + correction[1:] if word[0].isupper() else correction


class KnownWords:
    """Corrects words that occur in no name of a vocabulary, if one known word is clearly nearest.

    The correction has an edit distance of 1, or of 2 for words of at least `LONG` letters. It has the same first
    letter, which misspellings seldom change (Pollock and Zamora 1984). If several words have that distance, the
    correction occurs in `CLEARLY` times as many names as the next. Plurals and British spellings of known words are
    known words.

    Words with fewer than `MIN_LETTERS` letters, with a digit or with an inner capital are not corrected. If a mention
    has several words and none is known, nothing is corrected.

    Args:
        counts: Maps each word, in lower case, to the number of names that contain it.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts
        self._keys = {_key(word) for word in counts}
        initials: dict[str, list[str]] = {}
        for word in counts:
            initials.setdefault(word[0], []).append(word)
        self._lists = {initial: _WordList.of(words, counts) for initial, words in initials.items()}

    @classmethod
    def of_names(cls, names: Iterable[str]) -> KnownWords:
        """Create a corrector from all names of a vocabulary."""
        return cls(Counter(word for name in names for word in set(_WORD.findall(name.lower())) if word.isalpha()))

    def __call__(self, text: str) -> str:
        words = _WORD.findall(text)
        if not any(map(self._is_doubtful, words)) or (
            len(words) > 1 and not any(map(self._is_known_content_word, words))
        ):
            return text
        return _WORD.sub(lambda word: self._correct_word(word[0]), text)

    def knows(self, word: str) -> bool:
        """Return whether a name contains this word, in any case, number and British or American spelling."""
        return _key(word.lower()) in self._keys

    def nearest(self, word: str) -> str | None:
        """Return the known word that corrects a lower-case word, or None if there is not exactly one."""
        limit = 2 if len(word) >= LONG else 1
        known = self._lists.get(word[0])
        if known is None:
            return None
        corrections: list[tuple[int, int, str]] = []
        for other, count in known.like(word, limit):
            distance = edit_distance(word, other, limit)
            if distance <= limit and not are_opposites(word, other):
                corrections.append((distance, -count, other))
        corrections.sort()
        if not corrections:
            return None
        distance, count, best = corrections[0]
        rivals = (-n for tied, n, other in corrections if tied == distance and _key(other) != _key(best))
        return best if -count >= CLEARLY * max(rivals, default=0) else None

    def _correct_word(self, word: str) -> str:
        correction = self.nearest(word.lower()) if self._is_doubtful(word) else None
        return word if correction is None else word[0] + correction[1:]

    def _is_doubtful(self, word: str) -> bool:
        """Return whether a word is unknown and of a kind that may be misspelled."""
        lower = word.lower()
        fits = word.isalpha() and word[1:] == lower[1:] and len(word) == len(lower) >= MIN_LETTERS
        return fits and not self.knows(word)

    def _is_known_content_word(self, word: str) -> bool:
        return self.knows(word) and word.lower() not in ENGLISH.words.function_words


class _WordList(NamedTuple):
    """Words sorted by length, with the number of names that contain each, and its letter counts."""

    words: list[str]
    lengths: np.ndarray
    counts: np.ndarray
    letters: np.ndarray

    @classmethod
    def of(cls, words: Iterable[str], counts: Mapping[str, int]) -> _WordList:
        words = sorted(words, key=lambda word: (len(word), word))
        lengths = np.array([len(word) for word in words])
        counted = np.array([counts[word] for word in words])
        return cls(words, lengths, counted, _letters(words))

    def like(self, word: str, limit: int) -> Iterator[tuple[str, int]]:
        """Yield words and counts. The result contains all words within the edit distance, and others."""
        start = np.searchsorted(self.lengths, len(word) - limit, side="left")
        end = np.searchsorted(self.lengths, len(word) + limit, side="right")
        here, searched = self.letters[start:end], _letters([word])
        # one edit changes at most two counts, each by one
        differences = (np.maximum(here, searched) - np.minimum(here, searched)).sum(axis=1, dtype=np.uint16)
        for row in start + np.flatnonzero(differences <= 2 * limit):
            yield self.words[row], int(self.counts[row])


def _letters(words: list[str]) -> np.ndarray:
    """Count how often each letter is in each word: uint8, shape (len(words), 27)."""
    codes = np.frombuffer("".join(words).encode("utf-32-le"), dtype="<u4").astype(np.int64) - _A
    columns = np.where((codes >= 0) & (codes < _LETTERS - 1), codes, _LETTERS - 1)
    rows = np.repeat(np.arange(len(words)), [len(word) for word in words])
    counts = np.bincount(rows * _LETTERS + columns, minlength=len(words) * _LETTERS)
    return np.minimum(counts, 255).astype(np.uint8).reshape(-1, _LETTERS)


def edit_distance(a: str, b: str, limit: int) -> int:
    """Count the letters to insert, delete, replace, or swap with the next (Damerau 1964), each edited once.

    Returns:
        The distance, or `limit` + 1 if it is above the limit.
    """
    previous: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        before_previous, previous, row = previous, row, [i]
        for j, other in enumerate(b, start=1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and other == a[i - 2]:
                cost = min(cost, before_previous[j - 2] + 1)
            row.append(cost)
        if min(row) > limit and min(previous) >= limit:
            return limit + 1
    return min(row[-1], limit + 1)


def is_word(text: str) -> bool:
    """Return whether a text is one word: only letters and digits."""
    return bool(_WORD.fullmatch(text))


def _key(word: str) -> str:
    return ENGLISH.words.singular(ENGLISH.words.spell(word))


def are_opposites(a: str, b: str) -> bool:
    """Return whether two words differ in a prefix that turns the meaning around: hypertension, hypotension."""
    pairs = ((first, second) for pair in _OPPOSITES for first, second in (pair, pair[::-1]))
    return any(a.startswith(first) and b.startswith(second) for first, second in pairs)
