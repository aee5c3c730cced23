from .losses import multi_similarity
from .mining import hard_triplets
from .optimizing import adamw, warmup_linear
from .pair_table import read_pair_file, shuffled_batches
from .run_files import json_lines
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
