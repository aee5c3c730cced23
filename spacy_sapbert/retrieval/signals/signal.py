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
        """Return `int64`: the places of the concepts that it speaks for most, best first; at most n."""

    def features(self, places: np.ndarray) -> np.ndarray:
        """Return `float32, shape (len(places), number of features)`: 0 where it sees nothing of a concept. The first
        ranks concepts where there is no other signal.
        """

    def evidence(self, place: int) -> list[Characters]:
        """Return the characters `start:end` that speak for a concept, best first."""


class Signal(Protocol):
    """One kind of evidence for concepts.

    Attributes:
        name: by which the settings call it.
        features: what it measures.
        threshold: of the first feature, where it is the only signal and nothing was fitted.
    """

    name: str
    features: tuple[str, ...]
    threshold: float

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        """Look at documents.

        Args:
            own: what the training data knows from these very documents, if they belong to it: it is left out, as if it
                were known from the others only.

        Returns:
            one a document.
        """
