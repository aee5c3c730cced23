"""Measure how well an encoder separates synonyms from names of different concepts, by their cosines.

The measure follows github.com/sujitpal/kg-aligned-entity-linker, which uses 100 pairs of synonyms. A positive is the
cosine of the two names of a pair. A negative is the cosine of a left name with the right name of another pair. There
are n(n - 1) negatives for n pairs. Names that are known to belong to one concept are left out.

The original's table cannot be compared with ours directly. Its script fills the half of the matrix below the diagonal
and then takes the mean over the whole matrix, zeros included. Its mean of the negatives is therefore p = (n - 1)/2n of
the true mean of that half. For 100 pairs, the published mean must be multiplied by 2.02: 0.264 stands for 0.533. The
true variance is (sd² + mean²)/p - (mean/p)², with the published values. The true difference is the difference to the
true mean. Our values use the negatives alone, in both halves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..encoders.encoder import Encoder
from ..errors import EmptyError
from ..metrics.separation import Separation, measure_separation
from ..training.pair_files import find_shared_names, read_pairs, read_shared_names


class NamePairs(NamedTuple):
    """The pairs of a file, and the names with the same meaning.

    Attributes:
        synonyms: For each left name, the positions of the right names that share a concept with it, its own pair
            included.
        same_name: The number of pairs of a name with itself, which are left out.
    """

    left: list[str]
    right: list[str]
    concept_ids: list[str]
    synonyms: list[np.ndarray]
    same_name: int


def read_name_pairs(path: Path) -> NamePairs:
    """Read a file of pairs and, if there is one, its file of shared names.

    A name in pairs of several concepts counts as a name of all of them.
    """
    read = list(read_pairs(path))
    pairs = [pair for pair in read if pair.name1 != pair.name2]
    concepts: defaultdict[str, set[str]] = defaultdict(set)  # by name
    for concept_id, *names in pairs:
        for name in names:
            concepts[name].add(concept_id)
    if shared_path := find_shared_names(path):
        for shared in read_shared_names(shared_path):
            if shared.name in concepts:
                concepts[shared.name].update(shared.concept_ids)
    left, right, concept_ids = ([pair[field] for pair in pairs] for field in (1, 2, 0))
    synonyms = _synonyms([concepts[name] for name in left], [concepts[name] for name in right])
    if all(len(positions) == len(pairs) for positions in synonyms):
        what = f"two names in the {len(pairs)} pairs of {path} that are known to differ in meaning"
        consequence = "synonyms cannot be compared with other names"
        raise EmptyError("Give pairs of two or more concepts.", what=what, consequence=consequence)
    return NamePairs(left, right, concept_ids, synonyms, len(read) - len(pairs))


def _synonyms(left: Sequence[set[str]], right: Sequence[set[str]]) -> list[np.ndarray]:
    """Return for each concept set on the left the positions of the overlapping sets on the right."""
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, concepts in enumerate(right):
        for concept_id in concepts:
            rows[concept_id].append(row)
    return [np.unique(np.concatenate([rows[concept_id] for concept_id in ids]).astype(np.int64)) for ids in left]


def evaluate_separation(encoder: Encoder, pairs: NamePairs) -> Separation:
    """Encode the names of pairs, and measure all their cosines.

    `metrics.separation.as_measures` turns the result into numbers.
    """
    left, right = np.split(encoder.encode([*pairs.left, *pairs.right]), 2)
    return measure_separation(left, right, pairs.synonyms)
