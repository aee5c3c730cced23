"""Fitted or trained values of a linker, which are saved with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..files.values import parse_json
from ..store.artifact import opening

PARAMETERS_FILE = "parameters.json"

# Fitted on the training parts of BC5CDR and NCBI Disease. The threshold is within 0.1 points of the best F1 when gold
# mentions are linked to the starter vocabulary. With the starter encoder, precision is 95.2 and recall 88.9. With the
# sparse score alone, they are 95.3 and 85.8. On MEDIC, F1 is 82.2, and at best 83.5 (at 0.775). The weight has the
# best mean accuracy on MEDIC with the starter encoder.
THRESHOLD = 0.85
SPARSE_WEIGHT = 0.2


class LinkerParameters(NamedTuple):
    """Values that a linker uses for settings that are None.

    Attributes:
        sparse_weight: λ.
        threshold: A link needs a higher score.
        probabilities: The probability of links as points (score, probability). Scores rise, and probabilities never
            fall. None if they were not fitted.
        sparse_share: The share of the sparse score in a score, from 0 to 1, when threshold and probabilities were
            fitted. They are not valid for another share. None if they were not fitted.
        annotated: How often the training data has each concept, by the id in the training data.
        prior_weight: μ, the weight of these counts; see `spacy_sapbert.linking.prior.ConceptPrior`.
        reranked: Whether a reranker chose the links when threshold and probabilities were fitted.
    """

    sparse_weight: float = SPARSE_WEIGHT
    threshold: float = THRESHOLD
    probabilities: tuple[tuple[float, float], ...] | None = None
    sparse_share: float | None = None
    annotated: Mapping[str, int] | None = None
    prior_weight: float = 0.0
    reranked: bool = False

    def probability(self, score: float) -> float | None:
        """Return the probability of a score: linear between the points, constant outside, None without points."""
        if self.probabilities is None:
            return None
        scores, values = zip(*self.probabilities, strict=True)
        return float(np.interp(score, scores, values))

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
