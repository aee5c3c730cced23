"""Features for neural networks: the positions of vocabulary names in a text."""

# no postponed annotations here: spaCy could not check the settings of a registered function

from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span
from spacy.util import filter_spans
from thinc.api import HashEmbed, Maxout, Model, chain, concatenate, list2ragged, ragged2list, with_array
from thinc.types import Floats2d, Ints2d

from ..errors import Errors, SapbertError
from ..files.values import hash64

Embed = Model[list[Doc], list[Floats2d]]

_hash_of = lru_cache(maxsize=1024)(hash64)
_ROWS, _WIDTH = 500, 16


def gazetteer_embed(embed: Embed, width: int, labels: list[str], spans_key: str = "names") -> Embed:
    """Add features to the vectors of tokens: for each type, the position in a vocabulary name of this type.

    A `concept_matcher` finds the names. Put it before the network, let it write to `doc.spans[spans_key]`, and make it
    an annotating component during training. If spans of a type overlap, the longest counts.

    Args:
        embed: A layer that gives vectors of tokens, such as spacy.MultiHashEmbed.v2.
        width: The width of these vectors, and of the result.
        labels: The types. Names of other types are left out.
        spans_key: The span group with the names.

    Returns:
        A layer that gives vectors of tokens.
    """
    columns: Any = [HashEmbed(_WIDTH, _ROWS, column=column, dropout=0.0) for column in range(len(labels))]
    rows: Any = concatenate(*columns) if len(labels) > 1 else columns[0]
    names: Any = chain(_name_positions(spans_key, labels), list2ragged(), with_array(rows))
    both: Any = concatenate(chain(embed, list2ragged()), names)
    mix: Any = Maxout(nO=width, nI=width + _WIDTH * len(labels), nP=3, dropout=0.0, normalize=True)
    return cast(Embed, chain(both, with_array(mix), ragged2list()))


def _name_positions(spans_key: str, labels: list[str]) -> Model[list[Doc], list[Ints2d]]:
    attrs = {"spans_key": spans_key, "labels": labels, "has_learnt": False}
    return Model("gazetteer_features", _forward, attrs=attrs)


def _forward(
    model: Model[list[Doc], list[Ints2d]], docs: list[Doc], is_train: bool
) -> tuple[list[Ints2d], Callable[[list[Ints2d]], list[Doc]]]:
    key, labels = model.attrs["spans_key"], model.attrs["labels"]
    model.attrs["has_learnt"] |= is_train
    # before training, spaCy only infers shapes, from documents without annotations
    if model.attrs["has_learnt"] and any(len(doc) and key not in doc.spans for doc in docs):
        raise SapbertError(Errors.E643.format(key=key))
    hashes: Any = [_position_hashes(doc, key, labels) for doc in docs]
    return [model.ops.asarray2i(of_doc, dtype="uint64") for of_doc in hashes], lambda _: []


def _position_hashes(doc: Doc, key: str, labels: list[str]) -> NDArray[np.uint64]:
    """Return a hash of each token's position in a name of each type, shape (tokens, types); 0 outside of names."""
    hashes = np.zeros((len(doc), len(labels)), dtype=np.uint64)
    names: dict[str, list[Span]] = defaultdict(list)
    for span in doc.spans.get(key, []):
        names[span.label_].append(span)
    for column, label in enumerate(labels):
        for span in filter_spans(names[label]):
            last = span.end - 1
            for token in range(span.start, span.end):
                place = ("U" if last == span.start else "B") if token == span.start else "L" if token == last else "I"
                hashes[token, column] = _hash_of(f"{place}-{label}")
    return hashes
