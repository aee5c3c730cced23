"""Score the tokens of documents in parts, so that memory grows neither with their number nor with their length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from spacy.attrs import LEMMA, NORM, POS, TAG
from spacy.tokens import Doc, Span
from thinc.types import Floats2d

from .network import Network

MOST = 1 << 11
"""Tokens that are scored together. Each takes about 17 kB of memory for each member network."""
AROUND = 64
"""Tokens on each side with which a part of a document is scored. A network of four layers sees four."""
Item = TypeVar("Item")
_ATTRS = [NORM, LEMMA, POS, TAG]  # of a token; all others come from its word


class _Part(NamedTuple):
    """A document, or a part of one with the tokens around it, and which of its tokens count."""

    doc: Doc
    counted: slice


def scores_of(network: Network, docs: Sequence[Doc]) -> list[Floats2d]:
    """Return the scores of documents.

    A document of more than `MOST` tokens is scored in parts, unless the network listens to one that has read it.

    Args:
        network: What `typed_tagger` returns.

    Returns:
        One array per document, shape (tokens, members * labels * tags).
    """
    most = max(map(len, docs), default=0) if _listens(network) else MOST
    scores: list[list[Floats2d]] = [[] for _ in docs]
    parts = ((number, part) for number, doc in enumerate(docs) if len(doc) for part in _parts(doc, most))
    for batch in in_batches(parts, MOST, lambda numbered: len(numbered[1].doc)):
        for (number, part), of_part in zip(batch, network.predict([part.doc for _, part in batch]), strict=True):
            scores[number].append(of_part[part.counted])
    nothing = next((of_doc[0][:0] for of_doc in scores if of_doc), network.ops.alloc2f(0, 0))
    return [network.ops.xp.concatenate([nothing, *of_doc]) for of_doc in scores]


def _listens(network: Network) -> bool:
    """Return whether a layer takes over the vectors that another component has made of the whole document."""
    return any(hasattr(layer, "upstream_name") for layer in network.walk())


def in_batches(items: Iterable[Item], most: int, size: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Yield items that have at most a size together, or one alone. An empty item has the size 1."""
    batch, total = list[Item](), 0
    for item in items:
        own = max(1, size(item))
        if batch and total + own > most:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += own
    if batch:
        yield batch


def _parts(doc: Doc, most: int) -> Iterator[_Part]:
    if len(doc) <= most:
        yield _Part(doc, slice(len(doc)))
        return
    words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
    attrs: Any = doc.to_array(_ATTRS)
    groups = {key: _by_part(group, most) for key, group in doc.spans.items()}
    for number, start in enumerate(range(0, len(doc), most)):
        first, end = max(0, start - AROUND), min(len(doc), start + most + AROUND)
        part = Doc(doc.vocab, words[first:end], spaces[first:end]).from_array(_ATTRS, attrs[first:end])
        for key, spans in groups.items():
            part.spans[key] = [
                Span(part, max(left - first, 0), min(right, end) - first, label) for left, right, label in spans[number]
            ]
        yield _Part(part, slice(start - first, min(start + most, end) - first))


def _by_part(group: Sequence[Span], most: int) -> defaultdict[int, list[tuple[int, int, int]]]:
    """Return the tokens and labels of spans, by the numbers of the parts in which they are."""
    spans: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for span in group:
        for number in range(max(0, span.start - AROUND) // most, (span.end - 1 + AROUND) // most + 1):
            spans[number].append((span.start, span.end, span.label))
    return spans
