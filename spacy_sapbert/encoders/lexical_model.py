"""The lexical model of an encoder: character n-grams, their weight λ, and a threshold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from ..files.values import parse_json
from ..store.artifact import opening
from .ngrams import NgramEncoder

NGRAMS_FOLDER = "ngrams"
WEIGHTS_FILE = "lexical_model.json"


class LexicalModel(NamedTuple):
    """The part of a BioSyn model other than its encoder. It is saved in the folder of the encoder.

    Attributes:
        ngrams: The n-grams of the names in training. They stay the same with any vocabulary.
        sparse_weight: λ, 0 or more.
        threshold: A link needs a higher score, from 0 to 1.
    """

    ngrams: NgramEncoder
    sparse_weight: float
    threshold: float

    def save(self, folder: Path) -> None:
        """Write the lexical model into the folder of an encoder."""
        self.ngrams.save(folder / NGRAMS_FOLDER)
        values = {"sparse_weight": self.sparse_weight, "threshold": self.threshold}
        (folder / WEIGHTS_FILE).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LexicalModel:
        """Read a lexical model that `save` wrote."""
        path = folder / WEIGHTS_FILE
        with opening(path):
            values = parse_json(path.read_text(encoding="utf-8"))
            weight, threshold = float(values["sparse_weight"]), float(values["threshold"])
        return cls(NgramEncoder.load(folder / NGRAMS_FOLDER), weight, threshold)
