"""How far an encoder holds synonyms and names of different concepts apart, by the cosines of both.

What is measured is that of github.com/sujitpal/kg-aligned-entity-linker, which takes 100 pairs of synonyms for it.
Positive is the cosine of the two names of a pair. Negative are the cosines of each left name with the right names of
all other pairs, n(n - 1) of them for n pairs, without those of names that are known to be of one concept.

The original's table must be read otherwise than ours. Its script fills the half of the matrix below the diagonal, and
then takes the mean over the whole, with the zeros of the other half and of the diagonal. So its mean of the negatives
is p = (n - 1)/2n of the true one of that half: for 100 pairs the published mean must be taken 2.02 times, and 0.264
stands for 0.533. The true variance is (sd² + mean²)/p - (mean/p)² of the published numbers, and the true difference
that to the true mean. Ours are over the negatives alone, and over both halves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from ..errors import Errors, SapbertError
from ..metrics.separation import Separation, measure_separation, to_unit_length
from ..training.pair_files import find_shared_names, read_pairs, read_shared_names


class Encoder(Protocol):
    """Names to vectors, as by `TransformerEncoder`."""

    def encode(self, texts: Sequence[str]) -> np.ndarray: ...


class NamePairs(NamedTuple):
    """The pairs of a file, and which of their names mean the same.

    Attributes:
        left: the names of n pairs.
        right: the names of n pairs.
        concept_ids: the concepts of the pairs.
        synonyms: for each left name the places of the right names that share a concept with it, its own pair among
            them.
        same_name: pairs of a name with itself, which were left out.
    """

    left: list[str]
    right: list[str]
    concept_ids: list[str]
    synonyms: list[np.ndarray]
    same_name: int


def read_name_pairs(path: Path) -> NamePairs:
    """Read a file of pairs and, where there is one, the file of the names that several concepts share.

    Names that stand in pairs of several concepts are taken for names of all of them.

    Raises:
        SapbertError: E545 there are no two pairs whose names differ in meaning, E180 a broken line, E12x a file cannot
            be read.
    """
    read = list(read_pairs(path))
    pairs = [pair for pair in read if pair.name1 != pair.name2]
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for concept_id, *names in pairs:
        for name in names:
            owners[name].add(concept_id)
    if shared_path := find_shared_names(path):
        for shared in read_shared_names(shared_path):
            if shared.name in owners:
                owners[shared.name].update(shared.concept_ids)
    left, right, concept_ids = ([pair[field] for pair in pairs] for field in (1, 2, 0))
    synonyms = _synonyms([owners[name] for name in left], [owners[name] for name in right])
    if all(len(places) == len(pairs) for places in synonyms):
        raise SapbertError(Errors.E545.format(path=path, pairs=len(pairs), concepts=len(set(concept_ids))))
    return NamePairs(left, right, concept_ids, synonyms, len(read) - len(pairs))


def _synonyms(left: Sequence[set[str]], right: Sequence[set[str]]) -> list[np.ndarray]:
    """Return `list[np.ndarray]`: for each set of concepts on the left the places of those on the right it meets."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, owners in enumerate(right):
        for concept_id in owners:
            places[concept_id].append(place)
    return [np.unique(np.concatenate([places[one] for one in owners]).astype(np.int64)) for owners in left]


def evaluate_separation(encoder: Encoder, pairs: NamePairs) -> Separation:
    """Encode the names of pairs, and measure all their cosines.

    `metrics.separation.as_measures` puts the result into numbers.

    Args:
        encoder: such as `TransformerEncoder`.
        pairs: pairs of synonyms, as `read_name_pairs` gives them.
    """
    left, right = np.split(encoder.encode([*pairs.left, *pairs.right]), 2)
    return measure_separation(left, right, pairs.synonyms)


def cosines_of_pairs(encoder: Encoder, pairs: NamePairs) -> np.ndarray:
    """Return `float32, shape (n, n)`: the cosine of each left name, by row, with each right name."""
    left, right = np.split(to_unit_length(encoder.encode([*pairs.left, *pairs.right])), 2)
    return left @ right.T
