"""Cut documents into sentences, and pack these into segments that an encoder can read at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spacy.tokens import Doc

from ..text.normalize import TEXT_NORMALIZERS

if TYPE_CHECKING:
    from .transformer import TransformerEncoder

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])|\n+")

Characters = tuple[int, int]


def sentences(doc: Doc) -> list[Characters]:
    """Return the offsets `(start, end)` of the sentences of a document.

    If no component has set sentence boundaries, a sentence ends at a line break. It also ends at a full stop, question
    mark or exclamation mark before a capital letter or a digit.
    """
    if doc.has_annotation("SENT_START"):
        bounds = [(sent.start_char, sent.end_char) for sent in doc.sents]
    else:
        cuts = [found.span() for found in _SENTENCE_END.finditer(doc.text)]
        starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(doc.text)]
        bounds = list(zip(starts, ends, strict=True))
    return [(start, end) for start, end in bounds if doc.text[start:end].strip()]


def segments(doc: Doc, encoder: TransformerEncoder, length: int) -> list[list[int]]:
    """Cut a document into segments of whole sentences. A sentence is cut only if it is longer than a segment.

    Args:
        doc: The document. Its sentences are read in the encoder's normal form.
        encoder: The encoder.
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
