"""Texts as arrays of characters, to count the character n-grams of many texts at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CODE_POINTS = 2**21
"""A number above all Unicode code points."""
MAX_SIZE = 3
"""The most characters of an n-gram of code points. Larger ones do not fit into 64 bits."""


def code_points(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the code points of texts, one text after the other.

    Returns:
        The code points, uint32, shape (characters,), and where each text starts, with the end of the last one, int64,
        shape (len(texts) + 1,).
    """
    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)), out=starts[1:])
    return np.frombuffer(joined, dtype="<u4"), starts


def ngrams(codes: np.ndarray, starts: np.ndarray, size: int, base: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the character n-grams of one size.

    Args:
        codes: The characters of texts as numbers, any integers, shape (characters,).
        starts: Where each text starts, and the end of the last one, int64, shape (texts + 1,).
        size: The number of characters of an n-gram.
        base: A number above all codes. Its power `size` fits into 63 bits.

    Returns:
        The n-gram that starts at each character as a number, int64, shape (characters,), and whether it is inside one
        text, bool, shape (characters,).
    """
    n = len(codes)
    keys = np.zeros(n, dtype=np.int64)
    for place in range(size):
        keys *= base
        keys[: max(n - place, 0)] += codes[place:]
    return keys, np.arange(size, n + size) <= np.repeat(starts[1:], np.diff(starts))


def character_table(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a table of the values of some code points, with which `look_up` finds them faster than a search.

    Args:
        points: Code points, sorted, shape (n,).
        values: Their values, integers, shape (n,). The value of all other code points is 0.
    """
    table = np.zeros(int(points[-1]) + 2 if len(points) else 1, dtype=values.dtype)
    table[points] = values
    return table


def look_up(table: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the values of code points, see `character_table`."""
    values: np.ndarray = table[np.minimum(points, len(table) - 1)]
    return values


def slices(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the positions of several slices of an array, one after the other, int64.

    Args:
        starts: Where each slice starts, int64, shape (n,).
        lengths: The length of each slice, int64, shape (n,).
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - ends + lengths, lengths)
