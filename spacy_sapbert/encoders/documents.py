"""Encode documents by segments, with an encoder that belongs to the component."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.tokens import Doc

from .segments import segments
from .transformer import TransformerEncoder

DOCS_PER_BATCH = 32


class DocumentEncoder:
    """Encodes the segments of documents.

    Args:
        encoder: The encoder. Its weights are used and trained in place.
        length: The most wordpieces per segment. The positions of the encoder limit it as well.
    """

    def __init__(self, encoder: TransformerEncoder, length: int) -> None:
        self.encoder = encoder
        self._length = length

    @property
    def length(self) -> int:
        """The most wordpieces per segment."""
        return min(self._length, self.encoder.positions or self._length)

    def pieces(self, docs: Sequence[Doc]) -> list[list[list[int]]]:
        """Return the wordpieces of each segment of each document."""
        return [segments(doc, self.encoder, self.length) for doc in docs]

    def __call__(self, docs: Sequence[Doc]) -> list[np.ndarray]:
        """Encode documents.

        Returns:
            One array per document, float32, shape (segments, dim): unit vectors.
        """
        import torch

        vectors: list[np.ndarray] = []
        for start in range(0, len(docs), DOCS_PER_BATCH):
            of_docs = self.pieces(docs[start : start + DOCS_PER_BATCH])
            with torch.inference_mode():  # weights that are opened in this mode cannot be trained
                encoded = self.encoder.embed_by_length([piece for of_doc in of_docs for piece in of_doc])
            vectors += split(encoded.cpu().numpy(), of_docs)
        return vectors


def split(vectors: np.ndarray, of_docs: Sequence[Sequence[object]]) -> list[np.ndarray]:
    """Split the rows of an array by document: each gets as many rows as it has segments."""
    return np.split(vectors, np.cumsum([len(of_doc) for of_doc in of_docs[:-1]])) if of_docs else []
