"""How many public abstracts have a name, from a table of hashes in the package."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ..starter import POPULARITY
from .name_matcher import name_hashes

STEPS = 16
"""Steps of the logarithm of a count, which the table rounds."""


def name_popularity(names: Sequence[str]) -> np.ndarray:
    """Return log(1 + n) for names that n of the public abstracts have.

    Case, plural, spelling and word order of a name do not count. A name that fewer than two abstracts have, or that no
    open vocabulary has, counts as 0. Of such names, one in 290,000 has the hash of another name.

    Returns:
        A float64 array of shape (names,).
    """
    hashes, logs = _table()
    keys = compact(name_hashes(list(names)))
    rows = np.minimum(np.searchsorted(hashes, keys), len(hashes) - 1)
    return np.where(hashes[rows] == keys, logs[rows] / STEPS, 0.0)


def compact(hashes: np.ndarray) -> np.ndarray:
    """Return the upper half of hashes, uint32."""
    return (hashes >> np.uint64(32)).astype(np.uint32)


@cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    from safetensors.numpy import load_file

    arrays = load_file(POPULARITY)
    return arrays["hashes"], arrays["logs"]
