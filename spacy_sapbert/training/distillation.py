"""Distillation: train a smaller encoder on the vectors of another encoder, in addition to synonyms."""

# no postponed annotations here: spaCy could not check the settings of a registered class

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..encoders.transformer import TransformerEncoder
from ..errors import MismatchError
from ..kb.knowledge_base import KnowledgeBase
from ..vectors.flat import cached_name_vectors

if TYPE_CHECKING:
    from torch import Tensor


class Teacher:
    """Draws the vectors of an encoder to those of another one, by their cosines.

    Args:
        encoder: A folder or hub name. Its vectors must have the dimension of the trained encoder's vectors.
        weight: The weight of this loss relative to the other one.
        pooling: "cls" or "mean"; None takes the encoder's own setting.
        kb: The path of a vocabulary. The vectors of its names are computed once before training, and kept in the cache
            folder. Other names are encoded each time they occur.
    """

    def __init__(self, encoder: str, weight: float = 1.0, pooling: str | None = None, kb: str | None = None) -> None:
        self.weight = weight
        self._encoder = TransformerEncoder(encoder, pooling=pooling, l2_normalized=True)
        self._kb = kb

    def __call__(self, names: list[str], vectors: "Tensor") -> "Tensor":
        """Return the weight times the mean of 1 - cos over the names."""
        import torch

        if self._encoder.dim != vectors.shape[1]:
            reason = f"its vectors have {self._encoder.dim} dimensions, and those of the encoder {vectors.shape[1]}"
            raise MismatchError("Choose another teacher.", path=f"The teacher {self._encoder.name}", reason=reason)
        wanted = torch.from_numpy(self._encode(names)).to(vectors.device)
        return self.weight * (1 - (vectors * wanted).sum(1)).mean()

    @cached_property
    def _encode(self) -> Callable[[list[str]], np.ndarray]:
        if self._kb is None:
            return self._encoder.encode
        return cached_name_vectors(KnowledgeBase(self._kb), self._encoder, compression="float32").encode
