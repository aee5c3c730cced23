"""Misspelt words of mentions: corrected by a list, or by the words that a vocabulary knows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .normalize import american
from .words import FUNCTION_WORDS, is_acronym, singular

Corrector = Callable[[str], str]
"""Gives the text of a mention with its misspelt words corrected, or the same text."""

MIN_LETTERS = 5  # shorter words have too many neighbours
LONG = 9  # letters from which a word may differ by two edits
CLEARLY = 10  # how many times as frequent the best of several equally near words must be

_WORD = re.compile(r"[^\W_]+")
_A, _LETTERS = ord("a"), 27  # a to z, and all others
# A few edits from one another, but never a misspelling.
_OPPOSITES = (("hyper", "hypo"), ("macro", "micro"), ("inter", "intra"), ("ante", "anti"))


class CorrectionList:
    """Corrects the words of a list, as BioSyn does it (Sung et al. 2020, after D'Souza and Ng 2015).

    Words are compared without case; a first capital stays. Short forms such as LE are left as they are.

    Args:
        pairs: misspelt words, lower-case, and what stands for each; that may be several words.
    """

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self.pairs = dict(pairs)

    def __call__(self, text: str) -> str:
        return _WORD.sub(lambda found: self._right(found[0]), text)

    def _right(self, word: str) -> str:
        right = None if is_acronym(word) else self.pairs.get(word.lower())
        if right is None:
            return word
        return right[:1].upper() + right[1:] if word[0].isupper() else right


class KnownWords:
    """Corrects words that no name of a vocabulary has, where one known word is nearest.

    That one is at an edit distance of 1, or of 2 for words of `LONG` letters, and has the same first letter, which
    misspellings seldom change (Pollock and Zamora 1984); of several at that distance, it is in `CLEARLY` times as many
    names as the next. Plurals and British spelling of known words are known. Left as they are: words of under
    `MIN_LETTERS` letters, with a digit or an inner capital; all, where the mention has several words and none is known.

    Args:
        counts: in how many names each word is, in lower case.
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
        """
        Args:
            names: all names of the vocabulary.
        """
        return cls(Counter(word for name in names for word in set(_WORD.findall(name.lower())) if word.isalpha()))

    def __call__(self, text: str) -> str:
        words = _WORD.findall(text)
        if not any(map(self._is_doubtful, words)) or (len(words) > 1 and not any(map(self._is_telling, words))):
            return text
        return _WORD.sub(lambda found: self._right(found[0]), text)

    def knows(self, word: str) -> bool:
        """Whether a name has this word, in any case, number and British or American spelling."""
        return _key(word.lower()) in self._keys

    def nearest(self, word: str) -> str | None:
        """Return the known word that a lower-case word must be, where there is just one."""
        limit = 2 if len(word) >= LONG else 1
        known = self._lists.get(word[0])
        if known is None:
            return None
        found: list[tuple[int, int, str]] = []
        for other, count in known.like(word, limit):
            distance = edit_distance(word, other, limit)
            if distance <= limit and not _are_opposites(word, other):
                found.append((distance, -count, other))
        found.sort()
        if not found:
            return None
        distance, count, best = found[0]
        rivals = (-other for at, other, rival in found if at == distance and _key(rival) != _key(best))
        return best if -count >= CLEARLY * max(rivals, default=0) else None

    def _right(self, word: str) -> str:
        right = self.nearest(word.lower()) if self._is_doubtful(word) else None
        return word if right is None else word[0] + right[1:]

    def _is_doubtful(self, word: str) -> bool:
        """Whether a word is unknown, and of the kind that may be misspelt."""
        lower = word.lower()
        fits = word.isalpha() and word[1:] == lower[1:] and len(word) == len(lower) >= MIN_LETTERS
        return fits and not self.knows(word)

    def _is_telling(self, word: str) -> bool:
        return self.knows(word) and word.lower() not in FUNCTION_WORDS


class _WordList(NamedTuple):
    """Words in order of their length, with the number of names that have each and how often each letter is in it."""

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
        """Yield words and counts, among them all within an edit distance."""
        start = np.searchsorted(self.lengths, len(word) - limit, side="left")
        end = np.searchsorted(self.lengths, len(word) + limit, side="right")
        here, wanted = self.letters[start:end], _letters([word])
        # an edit changes two counts by one at most
        differences = (np.maximum(here, wanted) - np.minimum(here, wanted)).sum(axis=1, dtype=np.uint16)
        for place in start + np.flatnonzero(differences <= 2 * limit):
            yield self.words[place], int(self.counts[place])


def _letters(words: list[str]) -> np.ndarray:
    """Return `uint8, shape (len(words), 27)`: how often each letter is in each word."""
    codes = np.frombuffer("".join(words).encode("utf-32-le"), dtype="<u4").astype(np.int64) - _A
    columns = np.where((codes >= 0) & (codes < _LETTERS - 1), codes, _LETTERS - 1)
    rows = np.repeat(np.arange(len(words)), [len(word) for word in words])
    counts = np.bincount(rows * _LETTERS + columns, minlength=len(words) * _LETTERS)
    return np.minimum(counts, 255).astype(np.uint8).reshape(-1, _LETTERS)


def edit_distance(a: str, b: str, limit: int) -> int:
    """Count the letters to insert, delete, replace, or swap with the next (Damerau 1964), each touched once.

    Returns:
        the distance, or `limit` + 1 where it is above the limit.
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        last, before, row = before, row, [i]
        for j, other in enumerate(b, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and other == a[i - 2]:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > limit and min(before) >= limit:
            return limit + 1
    return min(row[-1], limit + 1)


def is_word(text: str) -> bool:
    """Whether a text is one word, as corrected here: letters and digits without anything between them."""
    return bool(_WORD.fullmatch(text))


def _key(word: str) -> str:
    return singular(american(word))


def _are_opposites(a: str, b: str) -> bool:
    pairs = ((one, other) for pair in _OPPOSITES for one, other in (pair, pair[::-1]))
    return any(a.startswith(one) and b.startswith(other) for one, other in pairs)
