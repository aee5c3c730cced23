"""Losses over the mined pairs or triplets of a batch of names, and losses over the candidates of mentions.

Each function is registered under its name and returns the loss for a config. Those of pytorch-metric-learning (Musgrave
et al. 2020) are taken from that library. Similarities are cosines unless stated otherwise.
"""

# no postponed annotations here: spaCy could not check the settings of a registered class

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MismatchError, SettingError

if TYPE_CHECKING:
    from torch import Tensor

    from .mining import Mined
else:
    Tensor = Mined = Any  # see mining.py

# from unit vectors, shape (n, dim), and the mined pairs to the loss
Loss = Callable[[Tensor, Mined], Tensor]
# from scores and right, shape (mentions, candidates), to losses, shape (mentions,), and gradients of the scores' shape
CandidateLoss = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def multi_similarity(alpha: float = 1.0, beta: float = 60.0, base: float = 0.5) -> Loss:
    """Multi-Similarity loss (Wang et al. 2019), with the values of SapBERT's published code.

    It is the mean over all names a of 1/α log(1 + Σp exp(-α(s(a,p) - base))) + 1/β log(1 + Σn exp(β(s(a,n) - base))).

    Args:
        alpha: α, how steeply the loss rises for positives.
        beta: β, how steeply the loss rises for negatives.
        base: The similarity at which the loss starts to rise.
    """
    from pytorch_metric_learning.losses import MultiSimilarityLoss

    return _over_pairs(MultiSimilarityLoss(alpha=alpha, beta=beta, base=base))


def info_nce(temperature: float = 0.07) -> Loss:
    """InfoNCE (van den Oord et al. 2018) for several positives (NT-Xent).

    It is the mean over the mined pairs (a, p) of -log(exp(s(a,p)/τ) / (exp(s(a,p)/τ) + Σn exp(s(a,n)/τ))). It equals
    NTXentLoss of pytorch-metric-learning. That class makes a matrix of all positive by all negative pairs: hundreds of
    megabytes for a batch that was not mined.

    Args:
        temperature: τ.
    """

    def loss(vectors: Tensor, mined: Mined) -> Tensor:
        import torch

        rows = mined.positives.any(1)  # the other names are not anchors
        scores = vectors[rows] @ vectors.T / temperature
        anchors, positives = mined.positives[rows].nonzero().T
        negatives = scores.masked_fill(~mined.negatives[rows], -torch.inf).logsumexp(1)
        return torch.nn.functional.softplus(negatives[anchors] - scores[anchors, positives]).mean()

    return loss


def multiple_negatives_ranking(scale: float = 20.0) -> Loss:
    """Multiple Negatives Ranking loss (Henderson et al. 2017), with the scale of sentence-transformers.

    For each pair (a, p), it is the cross-entropy of the softmax of scale · s(a, ·) over p and the negatives of a. The
    loss is the mean over the pairs. This is InfoNCE with a temperature of 1 / scale. The miner chooses the negatives:
    see `in_batch_negatives`.

    Args:
        scale: The factor of the similarities.
    """
    return info_nce(1 / scale)


def nca(scale: float = 1.0) -> Loss:
    """Neighborhood components analysis (Goldberger et al. 2004).

    For each anchor a, it sums exp(-scale d²(a, ·)) over all its mined pairs, with d the L2 distance. The loss is -log
    of the share of the positives in this sum, averaged over the anchors. pytorch-metric-learning supports labels only,
    not pairs.

    Args:
        scale: The factor of the squared distances.
    """

    def loss(vectors: Tensor, mined: Mined) -> Tensor:
        import torch

        scores = -scale * (2 - 2 * vectors @ vectors.T)
        anchors = mined.positives.any(1)
        right = scores.masked_fill(~mined.positives, -torch.inf)[anchors].logsumexp(1)
        pairs = mined.positives | mined.negatives
        return (scores.masked_fill(~pairs, -torch.inf)[anchors].logsumexp(1) - right).mean()

    return loss


def lifted_structure(neg_margin: float = 1.0, pos_margin: float = 0.0) -> Loss:
    """Lifted structure loss in its general form (Hermans et al. 2017, eq. 4), over L2 distances.

    Args:
        neg_margin: The wanted distance of negatives.
        pos_margin: Subtracted from the distances of positives.
    """
    from pytorch_metric_learning.losses import GeneralizedLiftedStructureLoss

    return _over_pairs(GeneralizedLiftedStructureLoss(neg_margin=neg_margin, pos_margin=pos_margin))


def circle(m: float = 0.4, gamma: float = 80.0) -> Loss:
    """Circle loss (Sun et al. 2020).

    Args:
        m: The margin: positives should be above 1 - m, negatives below m.
        gamma: γ, the factor of the similarities.
    """
    from pytorch_metric_learning.losses import CircleLoss

    return _over_pairs(CircleLoss(m=m, gamma=gamma))


def triplet(margin: float = 0.2) -> Loss:
    """Triplet loss over L2 distances: the mean of max(0, d(a,p) - d(a,n) + margin) over triplets with a loss above 0.

    The loss of sentence-transformers has a margin of 5, for vectors of any length, and averages over all triplets. Here
    vectors have unit length, so that no distance exceeds 2.

    Args:
        margin: How much farther away than the positive a negative should be.
    """
    from pytorch_metric_learning.losses import TripletMarginLoss

    loss = TripletMarginLoss(margin=margin)
    return lambda vectors, mined: loss(vectors, indices_tuple=tuple(mined.triplets.T))


def cosine(neg_margin: float = 0.0) -> Loss:
    """Cosine embedding loss: 1 - s for positive pairs and max(0, s - margin) for others.

    It is the sum of the two means. Each mean is over the pairs with a loss above 0.

    Args:
        neg_margin: The margin.
    """
    from pytorch_metric_learning.distances import CosineSimilarity
    from pytorch_metric_learning.losses import ContrastiveLoss

    return _over_pairs(ContrastiveLoss(pos_margin=1.0, neg_margin=neg_margin, distance=CosineSimilarity()))


def _over_pairs(loss: Any) -> Loss:
    """Apply a loss of pytorch-metric-learning to the unique mined pairs."""
    return lambda vectors, mined: loss(
        vectors, indices_tuple=(*mined.positives.nonzero().T, *mined.negatives.nonzero().T)
    )


class Teacher:
    """Distillation: draws the vectors of an encoder to those of another one, by their cosines.

    Args:
        encoder: A folder or hub name, of a table, too. Its vectors must have the dimension of the trained encoder's
            vectors.
        weight: The weight of this loss relative to the other one.
        pooling: "cls" or "mean"; None takes the encoder's own setting.
        kb: The path of a vocabulary. The vectors of its names are computed once before training, and kept in the cache
            folder. Other names are encoded each time they occur.
        similarities: Whether the cosines between the names of a batch are drawn to those of the teacher's vectors,
            instead of the vectors themselves. The vectors of both may then differ in length.
    """

    def __init__(
        self,
        encoder: str,
        weight: float = 1.0,
        pooling: str | None = None,
        kb: str | None = None,
        similarities: bool = False,
    ) -> None:
        from ..encoders.encoder import open_encoder

        opened = open_encoder(encoder, pooling=pooling, l2_normalized=True)
        if opened is None:
            wanted = "an encoder; set the teacher to null for none"
            raise SettingError(setting="encoder", component="the teacher", value=encoder, wanted=wanted)
        self.weight = weight
        self._encoder = opened
        self._kb = kb
        self._similarities = similarities

    def __call__(self, names: list[str], vectors: Tensor) -> Tensor:
        """Return the weight times the mean of 1 - cos over the names, or of the squared difference over their pairs."""
        import torch

        if not self._similarities and self._encoder.dim != vectors.shape[1]:
            reason = f"its vectors have {self._encoder.dim} dimensions, and those of the encoder {vectors.shape[1]}"
            raise MismatchError("Choose another teacher.", path=f"The teacher {self._encoder.name}", reason=reason)
        targets = torch.from_numpy(self._encode(names)).to(vectors.device)
        if self._similarities:
            return self.weight * (vectors @ vectors.T - targets @ targets.T).square().mean()
        return self.weight * (1 - (vectors * targets).sum(1)).mean()

    @cached_property
    def _encode(self) -> Callable[[list[str]], np.ndarray]:
        if self._kb is None:
            return self._encoder.encode
        from ..kb.knowledge_base import KnowledgeBase
        from ..vectors.flat import cached_name_vectors

        return cached_name_vectors(KnowledgeBase(self._kb), self._encoder, compression="float32").encode


# --- candidates of mentions: right ones should score higher than wrong ones
#
# Each loss takes the scores of the candidates and which of them are right. It returns the loss of each mention and its
# gradient with respect to the scores. Both are 0 for a mention without right or without wrong candidates.


def make_marginal_likelihood() -> CandidateLoss:
    """Return BioSyn's loss: −log Σ P(right candidate), P a softmax over the scores (Sung et al. 2020)."""
    return marginal_likelihood


def make_hard_em() -> CandidateLoss:
    """Return the hard EM loss: −log P of the right candidate with the highest score."""
    return hard_em


def make_pairwise() -> CandidateLoss:
    """Return the pairwise loss: the mean of log(1 + exp(wrong − right)) (Burges et al. 2005)."""
    return pairwise


def marginal_likelihood(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """−log Σ P(right candidate), P a softmax over the scores (Sung et al. 2020, equations 5 and 6)."""
    from scipy.special import logsumexp, softmax  # not light

    scores_of_right = np.where(right | ~_has_right_and_wrong(right)[:, None], scores, -np.inf)
    losses = logsumexp(scores, axis=1) - logsumexp(scores_of_right, axis=1)
    return losses, softmax(scores, axis=1) - softmax(scores_of_right, axis=1)


def hard_em(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """−log P of the right candidate with the highest score, the first of equal ones."""
    from scipy.special import logsumexp, softmax  # not light

    rows = np.arange(len(scores))
    best = np.where(right, scores, -np.inf).argmax(axis=1)
    gradients = softmax(scores, axis=1)
    gradients[rows, best] -= 1
    losses = logsumexp(scores, axis=1) - scores[rows, best]
    is_informative = _has_right_and_wrong(right)
    return np.where(is_informative, losses, 0), np.where(is_informative[:, None], gradients, 0)


def pairwise(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log(1 + exp(wrong − right)), the mean over all pairs of a right and a wrong candidate (Burges et al. 2005)."""
    pairs = right[:, :, None] & ~right[:, None, :]
    share = pairs / np.maximum(pairs.sum(axis=(1, 2), keepdims=True), 1)
    above = np.where(pairs, scores[:, None, :] - scores[:, :, None], 0)
    losses = (share * np.logaddexp(0, above)).sum(axis=(1, 2))
    slopes = share / (1 + np.exp(-above))
    return losses, slopes.sum(axis=1) - slopes.sum(axis=2)


def _has_right_and_wrong(right: np.ndarray) -> np.ndarray:
    is_informative: np.ndarray = right.any(axis=1) & ~right.all(axis=1)
    return is_informative
