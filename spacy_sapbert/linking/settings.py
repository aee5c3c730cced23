"""Settings of a linker, in common and for experts, and the fitted values that are saved with it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..encoders.ngrams import TEXT_NORMALIZER
from ..files.values import parse_json
from ..settings_block import SettingsBlock
from ..store.artifact import opening
from ..vectors.stored import COMPRESSION, COMPRESSIONS

# Fitted on the training parts of BC5CDR, NCBI Disease and NLM-Gene: where they differ by more, the short form is right.
SHORT_FORM_MARGIN = 0.05
# Fitted on the training parts of BC5CDR and NCBI Disease.
SPLIT_MARGIN = 0.0
# Fitted on the same data. The words of MEDIC would correct 141 mentions. With this margin, 5 more of them are right
# with the starter encoder, and 1 more with the sparse score alone.
SPELLING_MARGIN = 0.02
PARAMETERS_FILE = "parameters.json"
RANKER_FILE = "ranker.safetensors"
FORMER_RERANKER_FILE = "reranker.safetensors"  # of 1.0 and 1.1; its trees read other features

# Fitted on the training parts of BC5CDR and NCBI Disease. The threshold is within 0.1 points of the best F1 when gold
# mentions are linked to the starter vocabulary. With the starter encoder, precision is 95.2 and recall 88.9. With the
# sparse score alone, they are 95.3 and 85.8. On MEDIC, F1 is 82.2, and at best 83.5 (at 0.775). The weight has the
# best mean accuracy on MEDIC with the starter encoder.
THRESHOLD = 0.85
SPARSE_WEIGHT = 0.2


@dataclass
class CandidateSettings(SettingsBlock):
    """How candidates are found and scored.

    Attributes:
        sparse: Use the score of character n-grams.
        text_normalizer: The normal form in which that score reads names: "biosyn+greek" (lower case without
            punctuation, Greek letters spelled out), or another of `TEXT_NORMALIZERS`. A saved pipeline keeps its own,
            and so does an encoder with a lexical model.
        sparse_weight: The weight λ of that score. None takes the fitted or trained weight, else 0.2.
        prior_weight: The weight μ of how often annotators mean a concept. None takes the fitted or trained weight. It
            has no effect without annotation counts, see `spacy_sapbert.linking.prior.ConceptPrior`.
        batch_size: Number of documents with mentions that are looked up together.
    """

    sparse: bool = True
    text_normalizer: str = TEXT_NORMALIZER
    sparse_weight: float | None = None
    prior_weight: float | None = None
    batch_size: int = 128

    def rules(self) -> Sequence[tuple[str, bool, str]]:
        from ..text.normalize import TEXT_NORMALIZERS

        return (
            ("text_normalizer", self.text_normalizer in TEXT_NORMALIZERS, f"one of {', '.join(TEXT_NORMALIZERS)}"),
            ("sparse_weight", _is_weight(self.sparse_weight), "0 or more"),
            ("prior_weight", _is_weight(self.prior_weight), "0 or more"),
            ("batch_size", self.batch_size >= 1, "at least 1"),
        )


@dataclass
class SelectionSettings(SettingsBlock):
    """How the linker chooses between variants of a mention (`linking.variants.select_variant`) and between concepts.

    Attributes:
        short_form_margin: A mention that is no name wins over its long form only if its score is higher by more.
        split_margin: The parts of a mention win over the whole only if their score is higher by more than this.
        spelling_margin: A corrected text wins over the written one only if its score is higher by more than this.
        formulas: Look up chemical formulas, ions, element symbols and amino-acid codes by their names.
        rerank: Use the ranker that was trained with the linker, or else the one in the package, if it is valid for the
            scores (`linking.ranker`).
    """

    short_form_margin: float = SHORT_FORM_MARGIN
    split_margin: float = SPLIT_MARGIN
    spelling_margin: float = SPELLING_MARGIN
    formulas: bool = True
    rerank: bool = True


@dataclass
class VectorSettings(SettingsBlock):
    """How the encoder makes vectors, and how those of the names are stored.

    Attributes:
        pooling: "cls" or "mean". None takes the encoder's own setting.
        compression: "int8" or "int4" stores each number of a vector in a byte or half a byte, "float32" in four bytes.
            A saved pipeline keeps its own.
    """

    pooling: str | None = None
    compression: str = COMPRESSION

    def rules(self) -> Sequence[tuple[str, bool, str]]:
        return (
            ("pooling", self.pooling in (None, "cls", "mean"), "null, 'cls' or 'mean'"),
            ("compression", self.compression in COMPRESSIONS, f"one of {', '.join(COMPRESSIONS)}"),
        )


@dataclass
class LinkerSettings(SettingsBlock):
    """Settings of a `Linker`. Each can be changed at any time. `SapbertLinker` explains them."""

    k: int = 30
    threshold: float | None = None
    max_entities_per_mention: int = 5
    types: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    label_types: dict[str, list[str]] = field(default_factory=dict)
    filter_for_definitions: bool = False
    no_definition_threshold: float = 0.95
    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    selection: SelectionSettings = field(default_factory=SelectionSettings)

    def rules(self) -> Sequence[tuple[str, bool, str]]:
        return (
            ("k", self.k >= 1, "at least 1"),
            ("max_entities_per_mention", self.max_entities_per_mention >= 1, "at least 1"),
            ("threshold", self.threshold is None or 0 <= self.threshold <= 1, "from 0 to 1"),
            ("no_definition_threshold", 0 <= self.no_definition_threshold <= 1, "from 0 to 1"),
        )


def _is_weight(value: float | None) -> bool:
    return value is None or 0 <= value < math.inf


class LinkerParameters(NamedTuple):
    """Values that a linker uses for settings that are None.

    Attributes:
        sparse_weight: λ.
        threshold: A link needs a higher `Linker.confidence`.
        probabilities: The probability of links as points (score, probability). Scores rise, and probabilities never
            fall. None if they were not fitted, or if a ranker gives them.
        sparse_share: The share of the sparse score in a score, from 0 to 1, when threshold and probabilities were
            fitted. They are not valid for another share. None if they were not fitted.
        annotated: How many documents of the training data have each concept, by the id in the training data.
        prior_weight: μ, the weight of these counts; see `spacy_sapbert.linking.prior.ConceptPrior`.
        reranked: Whether a ranker chose the links when they were fitted. Then the confidence is its probability.
    """

    sparse_weight: float = SPARSE_WEIGHT
    threshold: float = THRESHOLD
    probabilities: tuple[tuple[float, float], ...] | None = None
    sparse_share: float | None = None
    annotated: Mapping[str, int] | None = None
    prior_weight: float = 0.0
    reranked: bool = False

    def probability(self, confidence: float) -> float | None:
        """Return the probability of a link: linear between the points, constant outside, None without points."""
        if self.probabilities is None:
            return None
        scores, values = zip(*self.probabilities, strict=True)
        return float(np.interp(confidence, scores, values))

    def without_calibration(self) -> LinkerParameters:
        """Return a copy with the default threshold and without probabilities, for scores computed in another way."""
        if self.sparse_share is None:
            return self
        return self._replace(threshold=THRESHOLD, probabilities=None, sparse_share=None, reranked=False)

    def save(self, folder: Path) -> None:
        """Write the values into a folder."""
        (folder / PARAMETERS_FILE).write_text(json.dumps(self._asdict(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LinkerParameters:
        """Read what `save` wrote. Without a file, return the default values."""
        path = folder / PARAMETERS_FILE
        if not path.is_file():
            return cls()
        with opening(path):
            fitted = cls(**parse_json(path.read_text(encoding="utf-8")))
            points = fitted.probabilities and tuple(
                (float(score), float(value)) for score, value in fitted.probabilities
            )
            return fitted._replace(probabilities=points)
