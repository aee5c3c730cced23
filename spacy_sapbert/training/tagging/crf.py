"""Linear-chain CRFs over the tags of mentions, one per type, trained with partial annotation.

A token's `allowed` tags are those that the annotation does not rule out. The loss of a text is the log of the total
weight of all sequences of tags, minus that of the allowed ones (Tsuboi et al. 2008, "Training Conditional Random Fields
Using Incomplete Annotations"). A text in which every tag is allowed therefore teaches nothing.

Arrays have the shape (tokens, types, texts, tags). Shorter texts are padded with tokens that must have the tag O.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""An array of scores or weights."""
Bools = npt.NDArray[np.bool_]

TAGS = "OBILU"
"""Outside of a mention; its first, middle and last token; a mention of one token."""
OUTSIDE, BEGIN, INSIDE, LAST, UNIT = range(len(TAGS))
N_TAGS = len(TAGS)
"""The number of tags: outside, begin, inside, last, unit."""

_ENDS, _STARTS = "OLU", "OBU"
_FOLLOWERS = {"O": _STARTS, "B": "IL", "I": "IL", "L": _STARTS, "U": _STARTS}
VALID: Bools = np.array([[after in _FOLLOWERS[before] for after in TAGS] for before in TAGS])
"""Which tag may follow which, shape (tags, tags)."""
_START: Floats = np.array([float(tag in _STARTS) for tag in TAGS])
_END: Floats = np.array([float(tag in _ENDS) for tag in TAGS])


@dataclass(frozen=True)
class Expectations:
    """What a CRF expects of the tags.

    Attributes:
        log_weight: Log of the total weight of the sequences, shape (types, texts).
        tags: Probability of each tag, shape (tokens, types, texts, tags).
        pairs: Expected number of each pair of neighboring tags, shape (types, texts, tags, tags).
    """

    log_weight: Floats
    tags: Floats
    pairs: Floats


def expectations(scores: Floats, transitions: Floats, allowed: Bools | None = None) -> Expectations:
    """Sum over all sequences of tags: the forward-backward algorithm with scaling (Rabiner 1989, section V.A).

    Args:
        scores: Score of each tag, shape (tokens, types, texts, tags), with at least one token.
        transitions: Score of each pair of neighboring tags, shape (types, tags, tags).
        allowed: Which tags a token may have, in the shape of `scores`. None allows all. At least one sequence must be
            allowed.
    """
    highest = scores.max(axis=-1, keepdims=True)
    weights: Floats = np.exp(scores - highest)
    if allowed is not None:
        weights *= allowed
    steps: Floats = np.where(VALID, np.exp(transitions), 0.0)
    forward, scales = _forward(weights, steps)
    final = forward[-1] @ _END
    backward = _backward(weights, steps, scales, _END / final[..., None])
    pairs = _pairs(forward[:-1], (weights * backward / scales[..., None])[1:], steps)
    log_weight = np.log(scales).sum(axis=0) + np.log(final) + highest[..., 0].sum(axis=0)
    return Expectations(log_weight, forward * backward, pairs)


def _forward(weights: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """Return the scaled weight of all beginnings that end in each tag, and the scales."""
    forward, scales = np.empty_like(weights), np.empty(weights.shape[:-1])
    reached = _START * weights[0]
    for token in range(len(weights)):
        if token:
            reached = (forward[token - 1] @ steps) * weights[token]
        scales[token] = reached.sum(axis=-1)
        forward[token] = reached / scales[token][..., None]
    return forward, scales


def _backward(weights: Floats, steps: Floats, scales: Floats, end: Floats) -> Floats:
    """Return the weight of all endings that follow each tag, scaled so that `forward * backward` are probabilities."""
    backward, reversed_steps = np.empty_like(weights), steps.transpose(0, 2, 1)
    backward[-1] = end
    for token in range(len(weights) - 1, 0, -1):
        follow = backward[token] * weights[token] / scales[token][..., None]
        backward[token - 1] = follow @ reversed_steps
    return backward


def _pairs(forward: Floats, follow: Floats, steps: Floats) -> Floats:
    return np.einsum("tlbi,tlbj->lbij", forward, follow, optimize=True) * steps[:, None]


def best_tags(scores: Floats, transitions: Floats) -> npt.NDArray[np.uint8]:
    """Return the best sequence of tags (Viterbi), shape (tokens, types, texts)."""
    steps = np.where(VALID, transitions, -np.inf)[:, None]
    with np.errstate(divide="ignore"):
        best = scores[0] + np.log(_START)
        end = np.log(_END)
    origins = np.zeros(scores.shape, dtype=np.uint8)
    for token in range(1, len(scores)):
        reached = best[..., None] + steps
        origins[token] = reached.argmax(axis=-2)
        best = reached.max(axis=-2) + scores[token]
    tags = np.empty(scores.shape[:-1], dtype=np.uint8)
    # one row of all types and texts for each token, since `take_along_axis` is slow for few of them
    rows, origins = tags.reshape(len(tags), -1), origins.reshape(len(tags), -1, N_TAGS)
    columns = np.arange(rows.shape[1])
    rows[-1] = (best + end).argmax(axis=-1).ravel()
    for token in range(len(scores) - 1, 0, -1):
        rows[token - 1] = origins[token, columns, rows[token]]
    return tags
