"""The interface of all vector indexes of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder
    from ..kb.filters import FilterMask


class Index(Protocol):
    """The vectors of the names of a knowledge base, and the search for the nearest names.

    Attributes:
        encoder: The encoder that made the vectors.
        exact: Whether `nearest` is guaranteed to find the nearest names.
        local: Whether the vectors are on this machine, so that `similarities` of many names are cheap.
    """

    encoder: Encoder
    exact: bool
    local: bool

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts, of unit length if the encoder's vectors are.

        Returns:
            float32, shape (len(texts), dim).
        """

    def similarities(self, queries: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the inner products of queries with the names at some rows, or with all names.

        Returns:
            float32, shape (len(queries), len(rows) or number of names).
        """

    def products(self, queries: np.ndarray, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the inner products of pairs of a query and a name. Each name is read only where it is needed.

        Args:
            which: The query of each pair, int64, shape (m,). Pairs of one query are fastest side by side.
            rows: The name of each pair, int64, shape (m,).

        Returns:
            float32, shape (m,).
        """

    def known_rows(self, texts: Sequence[str]) -> np.ndarray:
        """Return the first name that equals each text in the encoder's normal form.

        Returns:
            Rows, int64, shape (len(texts),). -1 means that there is none.
        """

    def equal_names(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return all names that equal texts in the encoder's normal form.

        Returns:
            Pairs of the index of a text and the row of a name, int64, sorted by text.
        """

    def nearest(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Find the n nearest names.

        Args:
            n: The number of names, at most the number of names in the mask.
            mask: Only find names of this filter mask; None for all names.

        Returns:
            Inner products and rows, float32 and int64, shape (len(queries), n), best first. If the index is not exact,
            the products may be estimates. A row of -1 means that no more names were found.
        """

    def propose(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> np.ndarray:
        """Find names that are probably among the n nearest. It is faster than `nearest`, which also compares them.

        Args:
            n: The number of names, at most the number of names in the mask.
            mask: Only find names of this filter mask; None for all names.

        Returns:
            Rows in no order, int64, shape (len(queries), n or more). A row of -1 means that no more names were found.
        """
        return self.nearest(queries, n, mask)[1]

    @property
    def longest(self) -> float:
        """The length of the longest vector of a name."""

    def highest(self, queries: np.ndarray) -> list[float]:
        """Return an upper bound for the inner product of each query with any name: 1 for unit vectors."""
        if self.encoder.l2_normalized:
            return [1.0] * len(queries)
        products = np.linalg.norm(queries, axis=1) * self.longest
        # never 0, since scores are divided by it
        highest: list[float] = np.maximum(products, np.finfo(np.float32).tiny).tolist()
        return highest
