"""Spans and tags: which tags an annotation allows, and which spans the best tags make."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .crf import BEGIN, INSIDE, LAST, N_TAGS, OUTSIDE, UNIT, Bools, Floats, best_tags

MAX_TOKENS = 1 << 16
"""The most tokens, with padding, whose tags are found at once."""
_RULED_OUT = -1e9


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
        joined[..., BEGIN:] = _RULED_OUT
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
