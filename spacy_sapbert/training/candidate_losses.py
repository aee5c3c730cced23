"""Losses over the candidates of mentions: right candidates should score higher than wrong ones.

Each function takes the scores of the candidates and which of them are right. It returns the loss of each mention and
its gradient with respect to the scores. Both are 0 for a mention without right or without wrong candidates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# from scores and right, shape (mentions, candidates), to losses, shape (mentions,), and gradients of the scores' shape
CandidateLoss = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


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
    of_right = np.where(right | ~_has_right_and_wrong(right)[:, None], scores, -np.inf)
    return _log_sum(scores) - _log_sum(of_right), _softmax(scores) - _softmax(of_right)


def hard_em(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """−log P of the right candidate with the highest score, the first of equal ones."""
    rows = np.arange(len(scores))
    best = np.where(right, scores, -np.inf).argmax(axis=1)
    gradients = _softmax(scores)
    gradients[rows, best] -= 1
    losses = _log_sum(scores) - scores[rows, best]
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
    """Return whether each mention has right and wrong candidates, bool, shape (mentions,)."""
    is_informative: np.ndarray = right.any(axis=1) & ~right.all(axis=1)
    return is_informative


def _log_sum(scores: np.ndarray) -> np.ndarray:
    highest = scores.max(axis=1)
    sums: np.ndarray = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    return sums


def _softmax(scores: np.ndarray) -> np.ndarray:
    shares: np.ndarray = np.exp(scores - _log_sum(scores)[:, None])
    return shares
