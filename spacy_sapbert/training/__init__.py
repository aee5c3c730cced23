"""Train encoders, linkers and retrievers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .batching import shuffled_batches
    from .logs import json_lines
    from .losses import multi_similarity
    from .mining import hard_triplets
    from .optimizing import adamw, warmup_linear
    from .pair_table import read_pair_file
    from .self_alignment import SelfAlignment

__all__ = [
    "SelfAlignment",
    "adamw",
    "hard_triplets",
    "json_lines",
    "multi_similarity",
    "read_pair_file",
    "shuffled_batches",
    "warmup_linear",
]

__getattr__ = lazy_names(
    __name__,
    {
        "SelfAlignment": "self_alignment",
        "adamw": "optimizing",
        "hard_triplets": "mining",
        "json_lines": "logs",
        "multi_similarity": "losses",
        "read_pair_file": "pair_table",
        "shuffled_batches": "batching",
        "warmup_linear": "optimizing",
    },
)
