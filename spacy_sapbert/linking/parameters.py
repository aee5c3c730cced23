"""What was fitted or learnt for a linker, and is saved with it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import Errors, SapbertError

PARAMETERS_FILE = "parameters.json"

# Fitted on the training parts of BC5CDR and NCBI Disease. The threshold is within 0.1 points of the best F1 of links
# when their gold mentions are linked to the starter vocabulary: precision 95.2, recall 88.9 with the starter encoder,
# 95.3 and 85.8 with the sparse score alone (`benchmarks/thresholds.py`). On MEDIC F1 is 82.2 there, and 83.5 at best
# (0.775). The weight has the best mean accuracy on MEDIC with the starter encoder (`benchmarks/variants.py`).
THRESHOLD = 0.85
SPARSE_WEIGHT = 0.2


class LinkerParameters(NamedTuple):
    """Values that a linker takes where its config says nothing.

    Attributes:
        sparse_weight: λ.
        threshold: a link needs a higher score.
        probabilities: how sure links are, as points (score, probability) with rising scores and probabilities that
            never fall; None where that was not fitted.
        sparse_share: how much of a score was the sparse one, from 0 to 1, when threshold and probabilities were fitted.
            They say nothing about scores that are made up in another way. None: they were not fitted.
        annotated: how often the training data has each concept, by the id that it has there.
        prior_weight: μ, how much that counts; see `spacy_sapbert.linking.prior.ConceptPrior`.
    """

    sparse_weight: float = SPARSE_WEIGHT
    threshold: float = THRESHOLD
    probabilities: tuple[tuple[float, float], ...] | None = None
    sparse_share: float | None = None
    annotated: Mapping[str, int] | None = None
    prior_weight: float = 0.0

    def probability(self, score: float) -> float | None:
        """Return linear between the points, and that of the nearest point outside of them."""
        if self.probabilities is None:
            return None
        scores, values = zip(*self.probabilities, strict=True)
        return float(np.interp(score, scores, values))

    def without_calibration(self) -> LinkerParameters:
        """Return `LinkerParameters`: without what was fitted to scores, when they mean something else than they did."""
        if self.sparse_share is None:
            return self
        return self._replace(threshold=THRESHOLD, probabilities=None, sparse_share=None)

    def save(self, folder: Path) -> None:
        (folder / PARAMETERS_FILE).write_text(json.dumps(self._asdict(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LinkerParameters:
        """Read what `save` wrote; without a file, nothing was fitted. RAISES (SapbertError): E306 it is damaged."""
        path = folder / PARAMETERS_FILE
        if not path.is_file():
            return cls()
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))._checked()
        except (ValueError, TypeError, AttributeError) as error:
            raise SapbertError(Errors.E306.format(path=path, reason=error)) from error

    def _checked(self) -> LinkerParameters:
        """Return `LinkerParameters`: with the types that it says.

        Raises:
            ValueError, TypeError: a value that cannot be.
        """
        points = self.probabilities
        if points is not None:
            points = tuple((float(score), float(probability)) for score, probability in points)
            _check_points(points)
        share = None if self.sparse_share is None else float(self.sparse_share)
        if (points is None) != (share is None):
            raise ValueError("probabilities and sparse_share do not go together")
        counts = None if self.annotated is None else {str(id): int(n) for id, n in self.annotated.items()}
        weights = float(self.sparse_weight), float(self.prior_weight)
        fitted = LinkerParameters(weights[0], float(self.threshold), points, share, counts, weights[1])
        if not all(0 <= weight < math.inf for weight in weights):
            raise ValueError(f"sparse_weight is {weights[0]}, prior_weight {weights[1]}")
        if min((counts or {}).values(), default=1) < 1:
            raise ValueError("a count in annotated is below 1")
        if not (0 <= fitted.threshold <= 1 and (share is None or 0 <= share <= 1)):
            raise ValueError("threshold or sparse_share is not from 0 to 1")
        return fitted


def _check_points(points: tuple[tuple[float, float], ...]) -> None:
    scores = [-math.inf, *(score for score, _ in points), math.inf]
    values = [0.0, *(value for _, value in points), 1.0]
    rising = all(low < high for low, high in pairwise(scores)) and all(low <= high for low, high in pairwise(values))
    if not points or not rising:
        raise ValueError("probabilities are no rising points")
