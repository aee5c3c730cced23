"""Compute the exact n-gram similarity of texts and names, from the stored characters of the names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encoders.ngrams import NgramEncoder
from ..text.characters import code_points, slices

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

CHARACTERS_AT_ONCE = 2**20
MAX_TABLE = 2**22  # entries; a binary search replaces larger tables


class NgramQueries(NamedTuple):
    """Texts to be compared with names.

    Attributes:
        forms: The texts in the normal form of the n-grams.
        vectors: Their sparse vectors, csr_matrix, float32, shape (texts, n-grams).
    """

    forms: list[str]
    vectors: csr_matrix


class NameNgrams:
    """The characters of all names, from which the n-grams of a few names are counted when a text asks for them.

    Args:
        ngrams: The encoder of the sparse score.
        alphabet: The characters of its n-grams, sorted.
        characters: For each character of all names its place in the alphabet, from 1; 0 for any other character.
        starts: Where each name starts in `characters`, and the end of the last one.
        lengths: The length of the vector of each name, float32, shape (names,).
    """

    def __init__(
        self, ngrams: NgramEncoder, alphabet: str, characters: np.ndarray, starts: np.ndarray, lengths: np.ndarray
    ) -> None:
        self.ngrams = ngrams
        self._alphabet = alphabet
        self._characters = characters
        self._starts = starts
        self._lengths = lengths

    def products(self, queries: NgramQueries, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the cosines of pairs of a text and a name.

        Args:
            which: The index of the text of each pair, int64, shape (m,).
            rows: The row of the name of each pair, int64, shape (m,).

        Returns:
            float32, shape (m,).
        """
        weights = np.zeros((len(queries.forms), len(self.ngrams.ngrams) + 1), dtype=np.float32)
        weights[:, :-1] = queries.vectors.toarray()
        weights[:, :-1] *= self.ngrams.idf.astype(np.float32)
        starts = self._starts[rows]
        sizes = (self._starts[rows + 1] - starts).astype(np.int64)
        products = np.empty(len(rows), dtype=np.float32)
        for part in _parts(sizes, CHARACTERS_AT_ONCE):
            sums = self._sums(weights, which[part], starts[part], sizes[part])
            products[part] = sums / self._lengths[rows[part]].clip(min=np.finfo(np.float32).tiny)
        return products

    def _sums(self, weights: np.ndarray, which: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return for each pair of a text and a name the sum of the weights of all n-grams of the name, float32.

        Args:
            weights: The weight of each n-gram in each text.
            which: The text of each pair.
            starts: Where the name of each pair starts.
            sizes: The length of the name of each pair.
        """
        codes = self._characters[slices(starts, sizes)].astype(np.int32)
        offsets = np.repeat((which * weights.shape[1]).astype(np.int32), sizes)
        ends = np.cumsum(sizes)
        summed = np.zeros(len(codes), dtype=np.float32)
        for size in self.ngrams.sizes:
            columns = self._tables.columns(codes, size)
            for place in range(1, size):  # n-grams that reach into the next name
                columns[(ends - place)[ends >= place]] = len(self.ngrams.ngrams)
            summed += weights.ravel()[columns + offsets]
        sums = np.zeros(len(sizes), dtype=np.float32)
        filled = sizes > 0
        if filled.any():
            sums[filled] = np.add.reduceat(summed, (ends - sizes)[filled])
        return sums

    @cached_property
    def _tables(self) -> _NgramTables:
        return _NgramTables(self.ngrams, self._alphabet)


class _NgramTables:
    """Finds the columns of n-grams of characters that are given by their place in an alphabet.

    Args:
        alphabet: Their characters, sorted. The code of the first is 1; 0 is any other character.
    """

    def __init__(self, ngrams: NgramEncoder, alphabet: str) -> None:
        self._base = len(alphabet) + 1
        self._none = len(ngrams.ngrams)
        self._tables: dict[int, np.ndarray] = {}
        """The column of each possible n-gram, by size."""
        self._sorted: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        """The n-grams and their columns, for the sizes of which a table would be too large."""
        points = code_points([alphabet])[0]
        for size in ngrams.sizes:
            columns = np.array([i for i, ngram in enumerate(ngrams.ngrams) if len(ngram) == size], dtype=np.int32)
            characters = code_points([ngrams.ngrams[i] for i in columns])[0].reshape(-1, size)
            keys = (np.searchsorted(points, characters) + 1) @ self._base ** np.arange(size - 1, -1, -1)
            if self._base**size <= MAX_TABLE:
                self._tables[size] = np.full(self._base**size, self._none, dtype=np.int32)
                self._tables[size][keys] = columns
            else:
                order = np.argsort(keys)
                self._sorted[size] = keys[order], columns[order]

    def columns(self, codes: np.ndarray, size: int) -> np.ndarray:
        """Return the column of the n-gram that starts at each character, int32. It may reach into the next text."""
        keys: np.ndarray = codes.astype(np.int32 if size in self._tables else np.int64)
        for place in range(1, size):
            last = max(len(codes) - place, 0)
            keys *= self._base
            keys[:last] += codes[place:]
        if size in self._tables:
            return self._tables[size][keys]
        known, columns = self._sorted[size]
        if not len(known):
            return np.full(len(keys), self._none, dtype=np.int32)
        places = np.searchsorted(known, keys).clip(max=len(known) - 1)
        return np.where(known[places] == keys, columns[places], self._none).astype(np.int32)


def _parts(sizes: np.ndarray, most: int) -> Iterator[slice]:
    """Yield slices of consecutive sizes with a sum of at most `most`, or one size."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield slice(first, last)
        first = last
