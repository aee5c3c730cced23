"""Which of a batch's pairs of names an encoder still has to learn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Errors, SapbertError
from .pair_table import Batch

if TYPE_CHECKING:
    from torch import Tensor
else:
    Tensor = Any  # who reads a config asks for the types of its settings, which is no reason to import torch


class Mined(NamedTuple):
    """What a loss is computed over.

    Attributes:
        triplets (int64, shape (t, 3)): places of an anchor, a synonym of it and a name that is none.
        positives (bool, shape (n, n)): the pairs that occur in them, the anchor first.
        negatives (bool, shape (n, n)): the pairs that occur in them, the anchor first.
    """

    triplets: Tensor
    positives: Tensor
    negatives: Tensor


# the vectors of a batch's names, of unit length and shape (n, dim), and the batch in
Miner = Callable[[Tensor, Batch], Mined]


def hard_triplets(margin: float | None = 0.2) -> Miner:
    """All triplets (a, p, n) of a batch with d(a, n) - d(a, p) <= margin, d the L2 distance of unit vectors.

    This is the online mining of SapBERT (Liu et al. 2021, section 2): what is hard follows the model as it learns.
    Distances are only computed for synonyms, so it takes n² and not n³ steps for n names with few synonyms each.

    Args:
        margin: how much farther away than the positive a hard negative may be; None takes all triplets.
    """

    def mine(vectors: Tensor, batch: Batch) -> Mined:
        import torch

        synonyms = torch.from_numpy(batch.synonyms).to(vectors.device)
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
        return _mined(triplets, synonyms)

    return mine


def given_triplets() -> Miner:
    """The pairs of a batch with the negatives that were mined for them beforehand, and nothing else.

    A negative that is a synonym after all, since the encoder reads both alike, is left out.

    Raises:
        SapbertError: E347 when it mines: no negatives were given.
    """

    def mine(vectors: Tensor, batch: Batch) -> Mined:
        import torch

        if not len(batch.triplets):
            raise SapbertError(Errors.E347)
        anchors, positives, negatives = batch.triplets.T
        right = ~(batch.synonyms[anchors, negatives] | batch.synonyms[positives, negatives])
        synonyms = torch.from_numpy(batch.synonyms).to(vectors.device)
        return _mined(torch.from_numpy(batch.triplets[right]).to(vectors.device), synonyms)

    return mine


def in_batch_negatives() -> Miner:
    """Each pair of a batch, first name to second, against the second names of the others and all given negatives.

    These are the candidates of Multiple Negatives Ranking (Henderson et al. 2017, section 4.4), but for the names that
    are known to be synonyms of the first: they are no negatives.
    """

    def mine(vectors: Tensor, batch: Batch) -> Mined:
        import torch

        synonyms = torch.from_numpy(batch.synonyms).to(vectors.device)
        anchors, positives = torch.from_numpy(batch.pairs).to(vectors.device).T
        given = torch.from_numpy(batch.triplets[:, 2]).to(vectors.device)
        candidates = torch.cat((positives, given)).unique()
        wrong = ~synonyms[anchors][:, candidates] & (anchors[:, None] != candidates)
        which, found = wrong.nonzero().T
        triplets = torch.stack((anchors[which], positives[which], candidates[found]), dim=1)
        return _mined(triplets, synonyms)

    return mine


def _mined(triplets: Tensor, like: Tensor) -> Mined:
    """
    Args:
        like (bool, shape (n, n)): where the marks of pairs lie, and how many.
    """
    return Mined(triplets, _marked(like, triplets[:, 0], triplets[:, 1]), _marked(like, triplets[:, 0], triplets[:, 2]))


def _distances(vectors: Tensor) -> Tensor:
    """Return `float32, shape (n, n)`: L2 distances of unit vectors, by their cosines."""
    return (2 - 2 * vectors @ vectors.T).clamp(min=0).sqrt()


def _marked(like: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    marked = like.new_zeros(like.shape)
    marked[rows, columns] = True
    return marked
