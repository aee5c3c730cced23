"""Losses over the candidates of mentions: those that are right shall score higher than those that are not.

Each takes the scores of the candidates and which of them are right, and gives the loss of each mention and its gradient
by the scores. A mention without a right candidate, or with right ones only, has nothing to teach: both are 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# scores and right (shape (mentions, candidates)) in; losses (shape (mentions,)) and gradients (shape of the scores) out
CandidateLoss = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def make_marginal_likelihood() -> CandidateLoss:
    """BioSyn's loss: −log Σ P(right candidate), P a softmax over the scores (Sung et al. 2020)."""
    return marginal_likelihood


def make_hard_em() -> CandidateLoss:
    """−log P of the right candidate that scores highest."""
    return hard_em


def make_pairwise() -> CandidateLoss:
    """log(1 + exp(wrong − right)), the mean over all pairs of a right and a wrong candidate (Burges et al. 2005)."""
    return pairwise


def marginal_likelihood(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """−log Σ P(right candidate), P a softmax over the scores (Sung et al. 2020, equations 5 and 6)."""
    of_right = np.where(right | ~_teaches(right)[:, None], scores, -np.inf)
    return _log_sum(scores) - _log_sum(of_right), _softmax(scores) - _softmax(of_right)


def hard_em(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """−log P of the right candidate that scores highest; of equal ones the first."""
    rows = np.arange(len(scores))
    best = np.where(right, scores, -np.inf).argmax(axis=1)
    gradients = _softmax(scores)
    gradients[rows, best] -= 1
    losses = _log_sum(scores) - scores[rows, best]
    teaches = _teaches(right)
    return np.where(teaches, losses, 0), np.where(teaches[:, None], gradients, 0)


def pairwise(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log(1 + exp(wrong − right)), the mean over all pairs of a right and a wrong candidate (Burges et al. 2005)."""
    pairs = right[:, :, None] & ~right[:, None, :]
    share = pairs / np.maximum(pairs.sum(axis=(1, 2), keepdims=True), 1)
    above = np.where(pairs, scores[:, None, :] - scores[:, :, None], 0)
    losses = (share * np.logaddexp(0, above)).sum(axis=(1, 2))
    slopes = share / (1 + np.exp(-above))
    return losses, slopes.sum(axis=1) - slopes.sum(axis=2)


def _teaches(right: np.ndarray) -> np.ndarray:
    """Return `bool, shape (mentions,)`: whether there are right and wrong candidates."""
    teaches: np.ndarray = right.any(axis=1) & ~right.all(axis=1)
    return teaches


def _log_sum(scores: np.ndarray) -> np.ndarray:
    highest = scores.max(axis=1)
    sums: np.ndarray = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    return sums


def _softmax(scores: np.ndarray) -> np.ndarray:
    shares: np.ndarray = np.exp(scores - _log_sum(scores)[:, None])
    return shares
