"""What an encoder was trained beside, where that is not to be counted anew: n-grams and what was fitted with them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..linking.parameters import LinkerParameters
from .ngrams import NgramEncoder

NGRAMS_FOLDER = "ngrams"


class LexicalModel(NamedTuple):
    """The part of a published BioSyn model that is not its encoder; it lies in the encoder's folder.

    ngrams (NgramEncoder): those of the names that it was trained with, whichever vocabulary it is used with.
    fitted (LinkerParameters): λ, and the threshold.
    """

    ngrams: NgramEncoder
    fitted: LinkerParameters

    def save(self, folder: Path) -> None:
        self.ngrams.save(folder / NGRAMS_FOLDER)
        self.fitted.save(folder)

    @classmethod
    def load(cls, folder: Path) -> LexicalModel:
        """Read what `save` wrote. RAISES (SapbertError): E306 something of it is missing or damaged."""
        return cls(NgramEncoder.load(folder / NGRAMS_FOLDER), LinkerParameters.load(folder))
