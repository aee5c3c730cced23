"""Group training pairs into batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .pair_table import PairTable
from .setting_checks import check_counts

# from a table and a random generator to the batches of one epoch, as numbers of pairs
Batcher = Callable[[PairTable, np.random.Generator], "list[np.ndarray]"]


def shuffled_batches(size: int = 256) -> Batcher:
    """Shuffle all pairs and cut them into batches. The last batch of an epoch is smaller.

    Args:
        size: Pairs per batch.

    Raises:
        SapbertError: E335 the size is not above 0.
    """
    check_counts(size=size)

    def batches(pairs: PairTable, rng: np.random.Generator) -> list[np.ndarray]:
        order = rng.permutation(len(pairs))
        return [order[start : start + size] for start in range(0, len(order), size)]

    return batches
