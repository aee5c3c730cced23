"""Documents cut into what an encoder can read at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from spacy.tokens import Doc

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])|\n+")

Characters = tuple[int, int]


def sentences(doc: Doc) -> list[Characters]:
    """Return characters `start:end` of the sentences: as a component has found them, else what ends with a full stop, a
    question mark or a line, and is followed by a capital or a digit.
    """
    if doc.has_annotation("SENT_START"):
        bounds = [(sent.start_char, sent.end_char) for sent in doc.sents]
    else:
        cuts = [found.span() for found in _SENTENCE_END.finditer(doc.text)]
        starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(doc.text)]
        bounds = list(zip(starts, ends, strict=True))
    return [(start, end) for start, end in bounds if doc.text[start:end].strip()]


def segments(doc: Doc, tokenizer: Any, length: int, normalize: Callable[[str], str] = str) -> list[list[int]]:
    """Cut a document into segments of whole sentences; only one that is too long by itself is cut.

    Args:
        length: wordpieces of a segment at most, special ones included.
        normalize: the normal form of a sentence.

    Returns:
        the wordpieces of each segment, special ones included; one without words for an empty document.
    """
    texts = [normalize(doc.text[start:end]) for start, end in sentences(doc)]
    encoded: list[list[int]] = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"] if texts else []
    room = length - tokenizer.num_special_tokens_to_add()
    packed = list(_packed(encoded, room)) or [[]]
    return [tokenizer.build_inputs_with_special_tokens(pieces) for pieces in packed]


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
