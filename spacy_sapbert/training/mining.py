"""Mine the pairs and triplets of a batch on which an encoder is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Errors, SapbertError
from .pair_table import Batch

if TYPE_CHECKING:
    from torch import Tensor
else:
    Tensor = Any  # spaCy's config resolves the annotations, which should not import torch


class Mined(NamedTuple):
    """The mined pairs and triplets of a batch.

    Attributes:
        triplets: Positions of an anchor, a synonym of it, and another name, int64, shape (t, 3).
        positives: The pairs of anchor and synonym in them, bool, shape (n, n), with the anchor first.
        negatives: The pairs of anchor and other name in them, bool, shape (n, n), with the anchor first.
    """

    triplets: Tensor
    positives: Tensor
    negatives: Tensor


# from the unit vectors of a batch's names, shape (n, dim), and the batch to the mined pairs
Miner = Callable[[Tensor, Batch], Mined]


def hard_triplets(margin: float | None = 0.2) -> Miner:
    """Mine all triplets (a, p, n) of a batch with d(a, n) - d(a, p) <= margin, d the L2 distance of unit vectors.

    This is the online mining of SapBERT (Liu et al. 2021, section 2): which triplets are hard follows the model during
    training. Only pairs of synonyms are anchors, so it takes n² instead of n³ steps for n names with few synonyms each.

    Args:
        margin: How much farther away than the positive a hard negative may be; None takes all triplets.
    """

    def mine(vectors: Tensor, batch: Batch) -> Mined:
        import torch

        synonyms = torch.from_numpy(batch.synonyms).to(vectors.device)
        pairs = synonyms.nonzero()
        anchors, positives = pairs.T
        candidates = ~synonyms
        candidates.fill_diagonal_(False)
        hard = candidates[anchors]
        if margin is not None:
            fixed = vectors.detach()  # of unit length, so that their distances follow from their cosines
            distances = (2 - 2 * fixed @ fixed.T).clamp(min=0).sqrt()
            hard &= distances[anchors] - distances[anchors, positives, None] <= margin
        which, negatives = hard.nonzero().T
        triplets = torch.stack((anchors[which], positives[which], negatives), dim=1)
        return _mined(triplets, synonyms)

    return mine


def given_triplets() -> Miner:
    """Use the pairs of a batch with the negatives that were mined for them offline, and nothing else.

    A negative is left out if it is a synonym because the encoder reads both names the same.
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
    """Compare the first name of each pair with the second names of the other pairs and with all offline negatives.

    These are the candidates of Multiple Negatives Ranking (Henderson et al. 2017, section 4.4). Known synonyms of the
    first name are not negatives.
    """

    def mine(vectors: Tensor, batch: Batch) -> Mined:
        import torch

        synonyms = torch.from_numpy(batch.synonyms).to(vectors.device)
        anchors, positives = torch.from_numpy(batch.pairs).to(vectors.device).T
        given = torch.from_numpy(batch.triplets[:, 2]).to(vectors.device)
        candidates = torch.cat((positives, given)).unique()
        wrong = ~synonyms[anchors][:, candidates] & (anchors[:, None] != candidates)
        which, negatives = wrong.nonzero().T
        triplets = torch.stack((anchors[which], positives[which], candidates[negatives]), dim=1)
        return _mined(triplets, synonyms)

    return mine


def _mined(triplets: Tensor, like: Tensor) -> Mined:
    """Return the triplets with their pairs, bool, of the shape and on the device of the tensor `like`."""
    return Mined(triplets, _marked(like, triplets[:, 0], triplets[:, 1]), _marked(like, triplets[:, 0], triplets[:, 2]))


def _marked(like: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    marked = like.new_zeros(like.shape)
    marked[rows, columns] = True
    return marked
