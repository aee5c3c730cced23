"""The signals and the settings of a retriever: common settings, and a block of settings for experts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..settings_block import SettingsBlock

SIGNALS = ("document", "phrases", "mentions", "prior")
SIGNALS_WITH_ENCODER = frozenset({"document", "phrases"})
CONCEPT_TEXTS = ("packed", "mean")


@dataclass
class ConceptVectorSettings(SettingsBlock):
    """How vectors are made.

    Attributes:
        pooling: "cls" or "mean". None takes the encoder's own setting.
        concept_text: What the signal "document" encodes of a concept. "packed" is one text of all its names and its
            definition. "mean" is the mean of its names' vectors.
        segment_length: The most wordpieces that the signal "document" reads at once. The encoder may limit it further.
        batch_size: Number of documents that are read together.
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
    """Which concepts a `Retriever` predicts. Each setting can be changed at any time.

    Attributes:
        k: The most concepts per document.
        threshold: A concept needs a higher score. None takes the fitted threshold, else that of the signal.
        most_specific: Leave out concepts that are ancestors of another concept of the document.
    """

    k: int = 10
    threshold: float | None = None
    most_specific: bool = False

    def rules(self) -> Sequence[tuple[str, bool, str]]:
        return (
            ("k", self.k >= 1, "at least 1"),
            ("threshold", self.threshold is None or 0 <= self.threshold <= 1, "from 0 to 1"),
        )
