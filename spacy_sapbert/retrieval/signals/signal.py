"""What every signal can do, so that several can be weighed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from spacy.tokens import Doc

from ..training_counts import DocumentCounts

Characters = tuple[int, int]


class View(Protocol):
    """What a signal sees in one document."""

    def nearest(self, n: int) -> np.ndarray:
        """RETURNS (int64): the places of the concepts that it speaks for most, best first; at most n."""

    def features(self, places: np.ndarray) -> np.ndarray:
        """RETURNS (float32, shape (len(places), number of features)): 0 where it sees nothing of a concept. The first
        ranks concepts where there is no other signal."""

    def evidence(self, place: int) -> list[Characters]:
        """RETURNS (list[tuple[int, int]]): the characters `start:end` that speak for a concept, best first."""


class Signal(Protocol):
    """One kind of evidence for concepts.

    name (str): by which the settings call it.
    features (tuple[str, ...]): what it measures.
    threshold (float): of the first feature, where it is the only signal and nothing was fitted.
    """

    name: str
    features: tuple[str, ...]
    threshold: float

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        """Look at documents.

        own (Sequence[DocumentCounts] | None): what the training data knows from these very documents, if they belong to
            it: it is left out, as if it were known from the others only.
        RETURNS (list[View]): one a document.
        """
