"""Settings of a retriever: what everyone changes, and a block for experts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..settings import SettingsBlock

CONCEPT_TEXTS = ("packed", "mean")


@dataclass
class VectorSettings(SettingsBlock):
    """How vectors are made.

    Attributes:
        pooling: "cls" or "mean"; None takes what the encoder says.
        concept_text: what the signal "document" encodes of a concept. "packed" is one text of all its names and its
            definition; "mean" is the mean of its names' vectors.
        segment_length: wordpieces that the signal "document" reads at once; no more than the encoder can read.
        batch_size: documents that are read together.
    """

    pooling: str | None = None
    concept_text: str = "packed"
    segment_length: int = 512
    batch_size: int = 32

    def rules(self) -> Sequence[tuple[str, bool, str]]:
        return (
            ("pooling", self.pooling in (None, "cls", "mean"), "null, 'cls' or 'mean'"),
            ("concept_text", self.concept_text in CONCEPT_TEXTS, f"one of {', '.join(CONCEPT_TEXTS)}"),
            ("segment_length", self.segment_length >= 8, "at least 8"),
            ("batch_size", self.batch_size >= 1, "at least 1"),
        )


@dataclass
class RetrieverSettings(SettingsBlock):
    """Which concepts a `Retriever` predicts; each setting can be changed at any time.

    Attributes:
        k: concepts of a document at most.
        threshold: a concept needs a higher score. None takes the fitted threshold, or that of the signal.
        most_specific: leave out concepts above another one of the document in the vocabulary's hierarchy.
    """

    k: int = 10
    threshold: float | None = None
    most_specific: bool = False

    def rules(self) -> Sequence[tuple[str, bool, str]]:
        return (
            ("k", self.k >= 1, "at least 1"),
            ("threshold", self.threshold is None or 0 <= self.threshold <= 1, "from 0 to 1"),
        )
