"""What every kind of index of name vectors can do, so that candidates are found by any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from ..encoders.transformer import TransformerEncoder
    from ..kb.filters import FilterMask


class Index(Protocol):
    """The vectors of the names of a store, and the nearest among them.

    Attributes:
        encoder: made the vectors.
        exact: whether `nearest` finds the nearest for sure.
        local: whether the vectors are on this machine, so that `similarities` of many names cost little.
    """

    encoder: TransformerEncoder
    exact: bool
    local: bool

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return `float32, shape (len(texts), dim)`: vectors, of unit length if those of the encoder are."""

    def similarities(self, queries: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return `float32, shape (len(queries), len(rows) or all)`: inner products with the names at these rows."""

    def nearest(self, queries: np.ndarray, n: int, passing: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Find the n nearest names, of those that pass a filter if one is given.

        Args:
            n: at most the number of names that pass.

        Returns:
            float32 and int64, shape (len(queries), n): their inner products and rows, best first. Where the index is
                not exact, the products may be estimates, and rows of -1 say that it finds no more.
        """

    @property
    def longest(self) -> float:
        """The length of the longest vector of a name."""

    def highest(self, queries: np.ndarray) -> list[float]:
        """Return what the inner product of each query with any name is at most: 1 for unit vectors."""
        if self.encoder.l2_normalized:
            return [1.0] * len(queries)
        products = np.linalg.norm(queries, axis=1) * self.longest
        highest: list[float] = np.maximum(products, np.finfo(np.float32).tiny).tolist()  # scores are divided by it
        return highest
