"""Mine the pairs and triplets of a batch on which an encoder is trained."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import Errors, SapbertError
from .pair_table import Batch

if TYPE_CHECKING:
    from torch import Tensor
else:
    Tensor = Any  # spaCy's config resolves the annotations, which should not import torch


class Mined:
    """The mined pairs and triplets of a batch.

    Args:
        positives: The pairs of anchor and synonym, bool, shape (n, n), with the anchor first.
        negatives: The pairs of anchor and other name, bool, shape (n, n), with the anchor first.
        n_triplets: The number of triplets.
        make_triplets: Returns the triplets. Most losses need the pairs alone, and a large batch has a million triplets.
    """

    def __init__(
        self, positives: Tensor, negatives: Tensor, n_triplets: int, make_triplets: Callable[[], Tensor]
    ) -> None:
        self.positives = positives
        self.negatives = negatives
        self.n_triplets = n_triplets
        self._make_triplets = make_triplets

    @cached_property
    def triplets(self) -> Tensor:
        """Positions of an anchor, a synonym of it, and another name, int64, shape (t, 3)."""
        return self._make_triplets()


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
        informative = wrong.any(1)
        pairs = _marked(synonyms, anchors[informative], positives[informative])
        others = synonyms.new_zeros(synonyms.shape)
        others.index_put_((anchors[:, None], candidates[None]), wrong, accumulate=False)

        def triplets() -> Tensor:
            which, negatives = wrong.nonzero().T
            return torch.stack((anchors[which], positives[which], candidates[negatives]), dim=1)

        return Mined(pairs, others, int(wrong.sum()), triplets)

    return mine


def _mined(triplets: Tensor, like: Tensor) -> Mined:
    """Return the triplets with their pairs, bool, of the shape and on the device of the tensor `like`."""
    anchors, positives, negatives = triplets.T
    pairs = _marked(like, anchors, positives), _marked(like, anchors, negatives)
    return Mined(*pairs, len(triplets), lambda: triplets)


def _marked(like: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    marked = like.new_zeros(like.shape)
    marked[rows, columns] = True
    return marked
