"""Which of a batch's pairs of names an encoder still has to learn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor
else:
    Tensor = Any  # who reads a config asks for the types of its settings, which is no reason to import torch


class Mined(NamedTuple):
    """What a loss is computed over.

    triplets (int64, shape (t, 3)): places of an anchor, a synonym of it and a name that is none.
    positives, negatives (bool, shape (n, n)): the pairs that occur in them, the anchor first.
    """

    triplets: Tensor
    positives: Tensor
    negatives: Tensor


# vectors of unit length, shape (n, dim), and `Batch.synonyms` in
Miner = Callable[[Tensor, Tensor], Mined]


def hard_triplets(margin: float | None = 0.2) -> Miner:
    """All triplets (a, p, n) of a batch with d(a, n) - d(a, p) <= margin, d the L2 distance of unit vectors.

    This is the online mining of SapBERT (Liu et al. 2021, section 2): what is hard follows the model as it learns.
    Distances are only computed for synonyms, so it takes n² and not n³ steps for n names with few synonyms each.
    margin (float | None): None takes all triplets.
    """

    def mine(vectors: Tensor, synonyms: Tensor) -> Mined:
        import torch

        pairs = synonyms.nonzero()
        anchors, positives = pairs.T
        candidates = ~synonyms
        candidates.fill_diagonal_(False)
        found = candidates[anchors]
        if margin is not None:
            distances = _distances(vectors.detach())
            found &= distances[anchors] - distances[anchors, positives, None] <= margin
        which, negatives = found.nonzero().T
        triplets = torch.stack((anchors[which], positives[which], negatives), dim=1)
        return Mined(triplets, _marked(synonyms, triplets[:, 0], triplets[:, 1]), _marked(synonyms, *triplets.T[::2]))

    return mine


def _distances(vectors: Tensor) -> Tensor:
    """RETURNS (float32, shape (n, n)): L2 distances of unit vectors, by their cosines."""
    return (2 - 2 * vectors @ vectors.T).clamp(min=0).sqrt()


def _marked(like: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    marked = like.new_zeros(like.shape)
    marked[rows, columns] = True
    return marked
