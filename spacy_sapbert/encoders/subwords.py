"""The words and character n-grams of names as rows of a table, by hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..text.characters import code_points

_BLANK = 32
_BASE = np.uint64(0x9E3779B97F4A7C15)
# finalizer of MurmurHash3, 64 bits (Austin Appleby, public domain)
_MIX = ((np.uint64(33), np.uint64(0xFF51AFD7ED558CCD)), (np.uint64(33), np.uint64(0xC4CEB9FE1A85EC53)))
_MASK = 2**64 - 1
_NUMBERS = tuple((int(shift), int(factor)) for shift, factor in _MIX)
_FEW = 128  # characters, for which plain Python is faster than NumPy
_CACHED = 1 << 12  # words


class Subwords(NamedTuple):
    """Finds the rows of the words and the character n-grams of texts.

    A word is one row of the first part of the table. Its n-grams are rows of the second part. They see the start and
    the end of the word as a blank, so that "ache" at the end of a word differs from "ache" inside. Texts with equal
    words in another order have equal rows.

    Attributes:
        words: The number of rows for words.
        ngrams: The number of rows for n-grams.
        sizes: The numbers of characters of the n-grams, each at least 2.
    """

    words: int
    ngrams: int
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return self.words + self.ngrams

    def __call__(self, forms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of each text, in time linear in its length.

        Args:
            forms: Texts in normal form. Line ends and runs of blanks count as one blank.

        Returns:
            The rows, text by text, and where each text starts, with the end of the last one, both int64. A text without
            words has no rows.
        """
        if sum(map(len, forms)) <= _FEW:
            return self._few(forms)
        codes, starts = code_points([f" {' '.join(form.split())} " for form in forms])
        owners = np.repeat(np.arange(len(forms)), np.diff(starts))
        kinds = [(rows, owners[places]) for rows, places in self._kinds(codes.astype(np.uint64))]
        return _join(kinds, len(forms))

    def _few(self, forms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Do the same word by word, which is faster for a short text."""
        rows: list[int] = []
        starts = [0]
        for form in forms:
            of_words = [_word_rows(self, word) for word in form.split()]
            rows += chain.from_iterable(chain.from_iterable(zip(*of_words, strict=True)))
            starts.append(len(rows))
        return np.array(rows, dtype=np.int64), np.array(starts, dtype=np.int64)

    def _kinds(self, codes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of the words, and of the n-grams of each size, with the place where each begins."""
        is_blank = codes == _BLANK
        word_starts = np.flatnonzero(is_blank[:-1] & ~is_blank[1:]) + 1
        yield _mixed(_word_hashes(codes, is_blank, word_starts), 1) % self.words, word_starts
        blanks = np.concatenate([[0], np.cumsum(is_blank)])
        for size in self.sizes:
            n_windows = max(len(codes) - size + 1, 0)
            hashes = np.zeros(n_windows, dtype=np.uint64)
            for place in range(size):
                hashes = hashes * _BASE + codes[place : place + n_windows]
            inside = blanks[size - 1 : size - 1 + n_windows] - blanks[1 : 1 + n_windows]
            places = np.flatnonzero((inside == 0) & ~(is_blank[:n_windows] & is_blank[1 : 1 + n_windows]))
            yield self.words + _mixed(hashes[places], size) % self.ngrams, places


@lru_cache(maxsize=_CACHED)
def _word_rows(subwords: Subwords, word: str) -> list[list[int]]:
    """Return the row of a word, and the rows of its n-grams of each size, by the hashes of the functions below."""
    base, codes = int(_BASE), [_BLANK, *map(ord, word), _BLANK]
    whole, of_size = 0, {1: codes}
    for code in reversed(codes[1:-1]):
        whole = (whole + code) * base & _MASK
    for size in range(2, max(subwords.sizes) + 1):  # each n-gram goes on from a shorter one
        shorter = zip(of_size[size - 1], codes[size - 1 :], strict=False)
        of_size[size] = [number * base + code & _MASK for number, code in shorter]
    ngrams = [_mixed_numbers(of_size[size], size) for size in subwords.sizes]
    rows = [[subwords.words + number % subwords.ngrams for number in numbers] for numbers in ngrams]
    return [[_mixed_numbers([whole], 1)[0] % subwords.words], *rows]


def _mixed_numbers(hashes: list[int], salt: int) -> list[int]:
    """Return what `_mixed` does, without NumPy."""
    mixed, start = [], salt * int(_BASE)
    (shift, factor), (other_shift, other_factor) = _NUMBERS
    for number in hashes:
        number = number + start & _MASK
        number = (number ^ number >> shift) * factor & _MASK
        number = (number ^ number >> other_shift) * other_factor & _MASK
        mixed.append(number ^ number >> 33)
    return mixed


def _word_hashes(codes: np.ndarray, is_blank: np.ndarray, word_starts: np.ndarray) -> np.ndarray:
    """Return a hash of each word: the sum of its characters times powers of a number."""
    if not len(word_starts):
        return np.zeros(0, dtype=np.uint64)
    begins = np.zeros(len(codes), dtype=np.int64)
    begins[word_starts] = word_starts
    places = np.arange(len(codes)) - np.maximum.accumulate(begins)
    powers = np.cumprod(np.full(int(places[~is_blank].max()) + 1, _BASE))
    terms = np.where(is_blank, 0, codes * powers[np.minimum(places, len(powers) - 1)]).astype(np.uint64)
    return np.add.reduceat(terms, word_starts)


def _mixed(hashes: np.ndarray, salt: int) -> np.ndarray:
    """Return hashes of which all bits depend on all bits."""
    hashes = hashes + np.array([salt], dtype=np.uint64) * _BASE
    for shift, factor in _MIX:
        hashes = (hashes ^ (hashes >> shift)) * factor
    return hashes ^ (hashes >> np.uint64(33))


def _join(kinds: list[tuple[np.ndarray, np.ndarray]], n_texts: int) -> tuple[np.ndarray, np.ndarray]:
    """Put the rows of several kinds, each sorted by text, side by side for each text."""
    counts = [np.bincount(owners, minlength=n_texts) for _, owners in kinds]
    starts = np.concatenate([[0], np.cumsum(sum(counts))]).astype(np.int64)
    rows = np.empty(int(starts[-1]), dtype=np.int64)
    begins = starts[:-1].copy()
    for (found, owners), number in zip(kinds, counts, strict=True):
        firsts = np.cumsum(number) - number
        rows[np.arange(len(found)) + (begins - firsts)[owners]] = found
        begins += number
    return rows, starts
