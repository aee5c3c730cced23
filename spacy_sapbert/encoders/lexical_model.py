"""The lexical model of an encoder: the character n-grams that it was trained with, and their weight."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, SapbertError
from .ngrams import NgramEncoder

NGRAMS_FOLDER = "ngrams"
WEIGHTS_FILE = "lexical_model.json"


class LexicalModel(NamedTuple):
    """The part of a BioSyn model that is not its encoder. It lies in the encoder's folder.

    Attributes:
        ngrams: the n-grams of the names that it was trained with, whichever vocabulary it is used with.
        sparse_weight: λ, 0 or more.
        threshold: a link needs a higher score, from 0 to 1.
    """

    ngrams: NgramEncoder
    sparse_weight: float
    threshold: float

    def save(self, folder: Path) -> None:
        """Write it into an encoder's folder."""
        self.ngrams.save(folder / NGRAMS_FOLDER)
        values = {"sparse_weight": self.sparse_weight, "threshold": self.threshold}
        (folder / WEIGHTS_FILE).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LexicalModel:
        """Read what `save` wrote. RAISES (SapbertError): E306 something of it is missing or damaged."""
        path = folder / WEIGHTS_FILE
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            weight, threshold = float(values["sparse_weight"]), float(values["threshold"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SapbertError(Errors.E306.format(path=path, reason=error)) from error
        if not (0 <= weight < math.inf and 0 <= threshold <= 1):
            raise SapbertError(Errors.E306.format(path=path, reason=f"sparse_weight {weight}, threshold {threshold}"))
        return cls(NgramEncoder.load(folder / NGRAMS_FOLDER), weight, threshold)
