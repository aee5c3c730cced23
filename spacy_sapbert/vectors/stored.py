"""Vectors and sorted hashes in files: small on disk, memory-mapped, with nothing to compute when they are opened."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..files.output import replacing
from ..files.values import read_array
from ..text.characters import slices

VECTORS_FILE = "vectors.npy"
HASHES_FILE = "hashes.npy"
ROWS_FILE = "rows.npy"
COMPRESSIONS = ("int8", "int4", "float32")
"""How a number of a vector is stored. "int8" and "int4" add one factor per vector, which keeps its length exact."""
COMPRESSION = "int8"
ROWS_PER_SEARCH = 16_384
LARGEST_GROUP = 32
ROWS_PER_CHUNK = 1024  # as float32, they fit into the cache of a core

_LEVELS = {"int8": 127, "int4": 7}


class StoredVectors:
    """Vectors on disk that are read as float32. An index with rows or a slice reads only these vectors.

    Args:
        array: What `compress` returns for all vectors.

    Attributes:
        shape: The number of vectors and their dimension.
        dtype: The type of what is read: float32.
    """

    def __init__(self, array: np.ndarray, dim: int) -> None:
        self._array = array
        self.shape = len(array), dim
        self.dtype = np.dtype(np.float32)

    def __len__(self) -> int:
        """Return the number of vectors."""
        return self.shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Return some vectors, float32, shape (len(rows), dim); for one row, shape (dim,)."""
        if isinstance(rows, (int, np.integer)):
            row: np.ndarray = self[[rows]][0]
            return row
        return expand(self._array[rows], self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return all vectors, float32, shape (n, dim). It takes four bytes per number of memory."""
        return self[:].astype(dtype or self.dtype, copy=False)

    def products(self, queries: np.ndarray, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return inner products of pairs: `queries[which[i]]` with the vector `rows[i]`.

        Args:
            which: The query of each pair, int64, shape (m,).
            rows: The vector of each pair, int64, shape (m,).

        Returns:
            float32, shape (m,).
        """
        products = np.empty(len(rows), dtype=np.float32)
        order = np.argsort(which, kind="stable")
        bounds = which[order].searchsorted(np.arange(len(queries) + 1)).tolist()
        for query, (start, end) in zip(queries, pairwise(bounds), strict=True):
            for first in range(start, end, ROWS_PER_CHUNK):
                pairs = order[first : min(first + ROWS_PER_CHUNK, end)]
                products[pairs] = self._inner(query, self._array[rows[pairs]])
        return products

    def similarities(self, queries: np.ndarray, rows: np.ndarray | slice | None = None) -> np.ndarray:
        """Return the inner products of queries with the vectors of some rows, or with all vectors.

        Returns:
            float32, shape (len(queries), len(rows) or n).
        """
        array = self._array[rows] if isinstance(rows, slice) else self._array
        picked = None if isinstance(rows, slice) else rows
        products = np.empty((len(queries), len(array) if picked is None else len(picked)), dtype=np.float32)
        for start in range(0, products.shape[1], ROWS_PER_CHUNK):
            part = slice(start, start + ROWS_PER_CHUNK)
            products[:, part] = self._inner(queries, array[part if picked is None else picked[part]]).T
        return products

    def nearest(self, queries: np.ndarray, n: int, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Find the vectors with the highest inner products, among some rows or all.

        Args:
            rows: Only these rows, int64; None for all.

        Returns:
            Inner products and rows, float32 and int64, shape (q, n), best first. Of equal ones, the one with the lower
            place comes first. A row of -1 means that there are no more.
        """
        n_rows = len(self) if rows is None else len(rows)
        products = np.full((len(queries), n), -np.inf, dtype=np.float32)
        found = np.full((len(queries), n), -1, dtype=np.int64)
        for start in range(0, n_rows, ROWS_PER_SEARCH):
            part = slice(start, start + ROWS_PER_SEARCH)
            similarities = self.similarities(queries, part if rows is None else rows[part])
            scores, places = _highest(similarities, n)
            places = places + start if rows is None else rows[part][places]
            products, found = np.hstack([products, scores]), np.hstack([found, places])
            products, found = best_of(products, found, n)
        return products, found

    def _inner(self, queries: np.ndarray, stored: np.ndarray) -> np.ndarray:
        """Return inner products with one query or several. The factors come last, since that is less work."""
        numbers, factors = _numbers(stored, self.shape[1])
        products: np.ndarray = numbers @ queries.T
        if factors is not None:
            products *= factors if products.ndim == 1 else factors[:, None]
        return products


def best_of(scores: np.ndarray, rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the n highest scores of each query and their rows, best first. Equal scores stay in their order."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return np.take_along_axis(scores, best, axis=1), np.take_along_axis(rows, best, axis=1)


def _highest(scores: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the n highest scores of each row, or all if there are fewer, and their places, best first.

    The highest scores of n groups are a lower bound. Few scores reach it, so that sorting costs little.
    """
    q, m = scores.shape
    n = min(n, m)
    size = max(1, min(LARGEST_GROUP, m // (4 * n)))
    groups = scores[:, : m // size * size].reshape(q, m // size, size).max(axis=2)
    lowest = np.partition(groups, groups.shape[1] - n, axis=1)[:, groups.shape[1] - n]
    which, places = np.nonzero(scores >= lowest[:, None])
    reached = scores[which, places]
    order = np.lexsort((-reached, which))  # it is stable: equal scores stay in the order of their places
    firsts = np.searchsorted(which, np.arange(q))
    best = order[firsts[:, None] + np.arange(n)]
    return reached[best], places[best]


def compress(vectors: np.ndarray, compression: str) -> np.ndarray:
    """Return vectors as they are stored.

    A vector of whole numbers and a factor replaces each vector. The factor gives it the length of the original, so that
    unit vectors remain unit vectors.

    Args:
        vectors: The vectors, float32, shape (n, dim).

    Returns:
        Shape (n,) with the fields "codes" and "factor"; for "float32", the vectors themselves.
    """
    if compression == "float32":
        return vectors
    stored = np.zeros(len(vectors), dtype=stored_type(vectors.shape[1], compression))
    tiny = np.finfo(np.float32).tiny
    highest = np.abs(vectors).max(axis=1, initial=0, keepdims=True).clip(min=tiny)
    codes = np.rint(vectors / highest * _LEVELS[compression])
    lengths = np.linalg.norm(codes, axis=1).clip(min=1)  # of a zero vector, the factor is 0
    stored["factor"] = np.linalg.norm(vectors, axis=1) / lengths
    stored["codes"] = codes if compression == "int8" else _packed(codes.astype(np.int8))
    return stored


def stored_type(dim: int, compression: str) -> np.dtype:
    """Return the type of one stored vector; for "float32", that of one number."""
    if compression == "float32":
        return np.dtype("<f4")
    codes = ("codes", "i1", (dim,)) if compression == "int8" else ("codes", "u1", ((dim + 1) // 2,))
    return np.dtype([codes, ("factor", "<f4")])


def expand(stored: np.ndarray, dim: int) -> np.ndarray:
    """Return what `compress` stored, float32, shape (len(stored), dim)."""
    numbers, factors = _numbers(stored, dim)
    if factors is not None:
        numbers *= factors[:, None]
    return numbers


def _numbers(stored: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the numbers of stored vectors as float32, and their factors if they have any."""
    if stored.dtype.names is None:
        return np.asarray(stored), None
    codes = stored["codes"]
    return codes.astype(np.float32) if codes.dtype == np.int8 else _unpacked(codes, dim), stored["factor"]


def _packed(codes: np.ndarray) -> np.ndarray:
    """Return numbers from -8 to 7 in half a byte each: those of the first half in the lower bits."""
    half = (codes.shape[1] + 1) // 2
    codes = np.pad(codes + 8, ((0, 0), (0, codes.shape[1] % 2))).astype(np.uint8)
    packed: np.ndarray = codes[:, :half] | codes[:, half:] << 4
    return packed


def _unpacked(packed: np.ndarray, dim: int) -> np.ndarray:
    half = packed.shape[1]
    numbers = np.empty((len(packed), dim), dtype=np.float32)
    numbers[:, :half] = packed & 15
    numbers[:, half:] = (packed >> 4)[:, : dim - half]
    numbers -= 8
    return numbers


class HashTable:
    """Find rows by hashes from `hash64`.

    Args:
        hashes: The hashes in rising order, uint64, shape (n,).
        rows: The row of each, in rising order for equal hashes, int32, shape (n,).
    """

    def __init__(self, hashes: np.ndarray, rows: np.ndarray) -> None:
        self._hashes = hashes
        self._rows = rows

    def __len__(self) -> int:
        """Return the number of hashes."""
        return len(self._hashes)

    @classmethod
    def of(cls, hashes: np.ndarray) -> HashTable:
        """Make a table of hashes by row."""
        rows = np.argsort(hashes, kind="stable").astype(np.int32)
        return cls(hashes[rows], rows)

    def find(self, hashes: np.ndarray) -> np.ndarray:
        """Return the first row of each hash, or -1, int64, shape (len(hashes),)."""
        if not len(self._hashes):
            return np.full(len(hashes), -1, dtype=np.int64)
        places = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
        known = self._hashes[places] == hashes
        return np.where(known, self._rows[places].astype(np.int64), -1)

    def find_all(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all rows of each hash, as pairs of its index and a row, int64, sorted by index."""
        firsts = self._hashes.searchsorted(hashes)
        counts = self._hashes.searchsorted(hashes, side="right") - firsts
        if not counts.any():
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return np.repeat(np.arange(len(hashes)), counts), self._rows[slices(firsts, counts)].astype(np.int64)

    def repeated(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows with the hash of an earlier row, sorted, and the first row with this hash, twice int32."""
        is_first = np.ones(len(self), dtype=bool)
        is_first[1:] = self._hashes[1:] != self._hashes[:-1]
        starts, positions = np.flatnonzero(is_first), np.flatnonzero(~is_first)
        rows, firsts = self._rows[positions], self._rows[starts[np.searchsorted(starts, positions) - 1]]
        order = np.argsort(rows)
        return rows[order], firsts[order]

    def save(self, folder: Path) -> None:
        """Write the table into a folder."""
        for name, array in ((HASHES_FILE, self._hashes), (ROWS_FILE, self._rows)):
            with replacing(folder / name) as temporary, temporary.open("wb") as file:
                np.save(file, array, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path) -> HashTable:
        """Open a table that `save` wrote, memory-mapped."""
        return cls(read_array(folder / HASHES_FILE), read_array(folder / ROWS_FILE))
