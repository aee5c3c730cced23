"""Explain why a reranker put a candidate before another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..types import Candidate, LinkedPart
from .rerank_features import FEATURES, DocumentEvidence, same_form, words_in

_COLUMNS = {name: number for number, name in enumerate(name for names in FEATURES.values() for name in names)}
_GROUPS = np.repeat(np.arange(len(FEATURES)), list(map(len, FEATURES.values())))
LEAST_SHARE = 0.1  # of what speaks for the first candidate: a group with less is not mentioned
MOST_WORDS = 3


class _Case(NamedTuple):
    """Two candidates of a text.

    Attributes:
        part: The text.
        best: The chosen candidate.
        before: The most similar candidate.
        features: The features of both, shape (2, features).
        document: The document.
    """

    part: LinkedPart
    best: Candidate
    before: Candidate
    features: np.ndarray
    document: DocumentEvidence

    def more(self, feature: str) -> bool:
        """Return whether the chosen candidate has more of a feature."""
        chosen, other = self.features[:, _COLUMNS[feature]]
        return bool(chosen > other)

    def less(self, feature: str) -> bool:
        chosen, other = self.features[:, _COLUMNS[feature]]
        return bool(chosen < other)


def explain(
    part: LinkedPart,
    best: Candidate,
    before: Candidate,
    added: np.ndarray,
    features: np.ndarray,
    document: DocumentEvidence,
) -> tuple[str, ...]:
    """Say why one candidate was put before the most similar one.

    Args:
        part: The text with its candidates.
        best: The chosen candidate.
        before: The most similar candidate.
        added (float64, shape (features,)): What each feature adds to the rating of `best`, less what it adds to that of
            `before`.
        features (float64, shape (2, features)): The features of both.
        document: What the document says.

    Returns:
        First the other candidate. Then the groups of features that speak for the chosen one, strongest first, each with
        its share.
    """
    case = _Case(part, best, before, features, document)
    sums = np.bincount(_GROUPS, added, minlength=len(FEATURES))
    speaking = np.maximum(sums, 0.0)
    shares = speaking / max(speaking.sum(), np.finfo(float).tiny)
    groups = list(FEATURES)
    said = [
        f"{groups[number]} {shares[number]:.0%}: {', '.join(_SAY[groups[number]](case)) or 'several small differences'}"
        for number in np.argsort(-shares, kind="stable").tolist()
        if shares[number] >= LEAST_SHARE
    ]
    return (f"instead of {before.concept_id} ({before.name}), which is more similar ({before.score:.3f})", *said)


def _similarity(case: _Case) -> Iterator[str]:
    if case.more("support"):
        yield "more of its names are similar"
    if case.more("dense"):
        yield "the encoder finds it more similar"
    if case.more("sparse"):
        yield "more of its letters fit"


def _words(case: _Case) -> Iterator[str]:
    if case.more("share_of_text") or case.less("only_in_text"):
        yield "more words of the mention are in its name"
    if case.less("only_in_name"):
        yield "its name adds fewer words"
    if case.more("same_head"):
        yield "the last word is the same"
    if case.less("numbers_only_in_text") or case.less("numbers_only_in_name"):
        yield "its number fits"
    if case.less("other_beginnings"):
        yield "no word has another beginning"


def _vocabulary(case: _Case) -> Iterator[str]:
    if case.more("preferred"):
        yield "this is its preferred name"
    if case.more("names"):
        yield "it has more names"
    if case.less("supplementary"):
        yield "it is a main descriptor, not a supplementary record"


def _annotations(case: _Case) -> Iterator[str]:
    if case.more("annotations_by_name"):
        yield "annotators mean it more often by this name"
    if case.more("prior") or case.more("annotations"):
        yield "annotators mean it more often"


def _document(case: _Case) -> Iterator[str]:
    texts, words = case.document.linked.get(case.best.concept_id, {}), case.document.words
    if others := [text for form, text in texts.items() if form != same_form(case.part.text)]:
        yield f"{_quoted(others)} is linked to it" if len(others) == 1 else f"{_quoted(others)} are linked to it"
    added = words_in(case.best.name).keys() - words_in(case.part.text).keys()
    if case.more("words_elsewhere") and (elsewhere := sorted(words[word] for word in added if word in words)):
        yield f"the document has {_quoted(elsewhere)}"


_SAY: dict[str, Callable[[_Case], Iterator[str]]] = {
    "similarity": _similarity,
    "words": _words,
    "vocabulary": _vocabulary,
    "annotations": _annotations,
    "document": _document,
}


def _quoted(texts: Sequence[str]) -> str:
    return ", ".join(f"“{text}”" for text in texts[:MOST_WORDS])
