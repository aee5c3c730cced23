"""Linear-chain CRFs over the tags of mentions, one per type, trained with partial annotation.

A token's `allowed` tags are those that the annotation does not rule out. The loss of a text is the log of the total
weight of all sequences of tags, minus that of the allowed ones (Tsuboi et al. 2008, "Training Conditional Random Fields
Using Incomplete Annotations"). A text in which every tag is allowed therefore teaches nothing.

Arrays have the shape (tokens, types, texts, tags). Shorter texts are padded with tokens that must have the tag O.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

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


# --- spans and tags: which tags an annotation allows, and which spans the best tags make


MAX_TOKENS = 1 << 16
"""The most tokens, with padding, whose tags are found at once."""


class TokenSpan(NamedTuple):
    """The tokens `start:end` of a document, with a label."""

    start: int
    end: int
    label: str


def allowed_tags(
    n_tokens: int,
    labels: Sequence[str],
    spans: Collection[TokenSpan],
    annotated: Collection[str],
    unsure: Iterable[TokenSpan] = (),
) -> Bools:
    """Return which tags the annotation of a document allows, shape (tokens, labels, tags).

    A label of `annotated` has exactly its spans, unless an unsure span of the label is left open. Any other label is
    unknown, except that a token of a span has only the label of this span.

    Args:
        labels: The labels, in the order of the result.
        spans: The mentions. They do not overlap.
        annotated: The labels that the document annotates throughout.
        unsure: Spans that may be mentions of their label or not.
    """
    allowed = np.ones((n_tokens, len(labels), N_TAGS), dtype=np.bool_)
    known = [index for index, label in enumerate(labels) if label in annotated]
    allowed[:, known, BEGIN:] = False
    for span in unsure:
        if span.label in labels:
            allowed[span.start : span.end, labels.index(span.label)] = True
    for span in spans:
        allowed[span.start : span.end, :, BEGIN:] = False
        if span.label in labels:
            column = allowed[span.start : span.end, labels.index(span.label)]
            column[:] = False
            column[range(len(column)), _tags_of(len(column))] = True
    return allowed


def _tags_of(length: int) -> list[int]:
    return [UNIT] if length == 1 else [BEGIN, *[INSIDE] * (length - 2), LAST]


def find_spans(scores: Sequence[Floats], transitions: Floats, labels: Sequence[str]) -> list[list[TokenSpan]]:
    """Return the mentions in each document, in the order of the text.

    Each label has its own best sequence of tags. If spans of two labels overlap, that with the greater difference
    between its score and the score of no mention counts.

    Args:
        scores: One array per document, shape (tokens, labels, tags).
        transitions: Score of each pair of neighboring tags, shape (labels, tags, tags).
    """
    results: list[list[TokenSpan]] = [[] for _ in scores]
    for batch in _batches(scores):
        tags = best_tags(padded([scores[number] for number in batch], outside_only=True), transitions)
        for column, number in enumerate(batch):
            spans = list(_spans(tags[: len(scores[number]), :, column], labels))
            results[number] = _without_overlaps(spans, scores[number], labels)
    return results


def padded(scores: Sequence[Floats], *, outside_only: bool = False) -> Floats:
    """Join the scores of documents in one array, shape (tokens, labels, documents, tags).

    Args:
        scores: One array per document, shape (tokens, labels, tags).
        outside_only: Rule out all tags but O after the end of a document.
    """
    _, n_labels, n_tags = scores[0].shape
    joined = np.zeros((max(map(len, scores)), n_labels, len(scores), n_tags))
    if outside_only:
        joined[..., BEGIN:] = -1e9
    for column, document_scores in enumerate(scores):
        joined[: len(document_scores), :, column] = document_scores
    return joined


def _batches(scores: Sequence[Floats]) -> Iterator[list[int]]:
    """Yield the numbers of documents of similar length, so that little is padded. Empty documents are left out."""
    batch: list[int] = []
    for number in sorted(range(len(scores)), key=lambda number: len(scores[number])):
        length = len(scores[number])
        if batch and length * (len(batch) + 1) > MAX_TOKENS:
            yield batch
            batch = []
        if length:
            batch.append(number)
    if batch:
        yield batch


def _spans(tags: npt.NDArray[np.uint8], labels: Sequence[str]) -> Iterator[TokenSpan]:
    for column, label in enumerate(labels):
        start = 0
        tokens = np.flatnonzero(tags[:, column])
        for token, tag in zip(tokens.tolist(), tags[tokens, column].tolist(), strict=True):
            if tag in (BEGIN, UNIT):
                start = token
            if tag in (LAST, UNIT):
                yield TokenSpan(start, token + 1, label)


def _without_overlaps(spans: list[TokenSpan], scores: Floats, labels: Sequence[str]) -> list[TokenSpan]:
    def gain(span: TokenSpan) -> float:
        column = scores[span.start : span.end, labels.index(span.label)]
        return float((column[range(len(column)), _tags_of(len(column))] - column[:, OUTSIDE]).sum())

    ordered = sorted(spans)
    if all(span.end <= following.start for span, following in pairwise(ordered)):  # as nearly always
        return ordered
    taken = np.zeros(len(scores), dtype=np.bool_)
    chosen = []
    for span in sorted(spans, key=gain, reverse=True):
        if not taken[span.start : span.end].any():
            taken[span.start : span.end] = True
            chosen.append(span)
    return sorted(chosen)
