"""Cut documents into sentences, pack these into segments that an encoder can read at once, and encode the segments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from spacy.tokens import Doc

from ..text.normalize import TEXT_NORMALIZERS

if TYPE_CHECKING:
    from .transformer import TransformerEncoder

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])|\n+")

Characters = tuple[int, int]
DOCS_PER_BATCH = 32


def sentences(doc: Doc) -> list[Characters]:
    """Return the offsets `(start, end)` of the sentences of a document.

    If no component has set sentence boundaries, a sentence ends at a line break. It also ends at a full stop, question
    mark or exclamation mark before a capital letter or a digit.
    """
    if doc.has_annotation("SENT_START"):
        bounds = [(sent.start_char, sent.end_char) for sent in doc.sents]
    else:
        cuts = [match.span() for match in _SENTENCE_END.finditer(doc.text)]
        starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(doc.text)]
        bounds = list(zip(starts, ends, strict=True))
    return [(start, end) for start, end in bounds if doc.text[start:end].strip()]


def segments(doc: Doc, encoder: TransformerEncoder, length: int) -> list[list[int]]:
    """Cut a document into segments of whole sentences. A sentence is cut only if it is longer than a segment.

    Args:
        doc: The document. Its sentences are read in the encoder's normal form.
        length: The most wordpieces per segment, special tokens included.

    Returns:
        The wordpieces of each segment, special tokens included. An empty document has one segment without words.
    """
    normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
    encoded = encoder.tokenize_parts([normalize(doc.text[start:end]) for start, end in sentences(doc)])
    room = length - len(encoder.add_special_pieces([]))
    packed = list(_packed(encoded, room)) or [[]]
    return [encoder.add_special_pieces(pieces) for pieces in packed]


def _packed(encoded: list[list[int]], room: int) -> Iterator[list[int]]:
    segment: list[int] = []
    for pieces in encoded:
        if segment and len(segment) + len(pieces) > room:
            yield segment
            segment = []
        segment = segment + pieces
        while len(segment) > room:
            yield segment[:room]
            segment = segment[room:]
    if segment:
        yield segment


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
            segmented = self.pieces(docs[start : start + DOCS_PER_BATCH])
            with torch.inference_mode():  # weights that are opened in this mode cannot be trained
                encoded = self.encoder.embed_by_length([pieces for segments in segmented for pieces in segments])
            vectors += split(encoded.cpu().numpy(), segmented)
        return vectors


def split(vectors: np.ndarray, segmented: Sequence[Sequence[object]]) -> list[np.ndarray]:
    """Split the rows of an array by document: each gets as many rows as it has segments."""
    return np.split(vectors, np.cumsum(list(map(len, segmented[:-1])))) if segmented else []
