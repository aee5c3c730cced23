"""A feature for neural networks: the positions of vocabulary names in a text."""

# no postponed annotations here: spaCy could not check the settings of a registered function

from collections.abc import Callable
from typing import Any, cast

from spacy.tokens import Doc
from spacy.util import filter_spans
from thinc.api import HashEmbed, Maxout, Model, chain, concatenate, list2ragged, ragged2list, with_array
from thinc.types import Floats2d, Ints2d

from ..errors import Errors, SapbertError
from ..text.hashing import hash64

Embed = Model[list[Doc], list[Floats2d]]
_ROWS = 500


def gazetteer_embed(embed: Embed, width: int, spans_key: str = "names") -> Embed:
    """Add a feature to the vectors of tokens: the position in a vocabulary name, and the type of that name.

    A `concept_matcher` finds the names. Put it before the network, let it write to `doc.spans[spans_key]`, and make it
    an annotating component during training. If spans overlap, the longest counts.

    Args:
        embed: A layer that gives vectors of tokens, such as spacy.MultiHashEmbed.v2.
        width: The width of these vectors, and of the result.
        spans_key: The span group with the names.

    Returns:
        A layer that gives vectors of tokens.
    """
    rows: Any = HashEmbed(width, _ROWS, column=0, dropout=0.0)
    names: Any = chain(_name_positions(spans_key), list2ragged(), with_array(rows))
    both: Any = concatenate(chain(embed, list2ragged()), names)
    mix: Any = Maxout(nO=width, nI=2 * width, nP=3, dropout=0.0, normalize=True)
    return cast(Embed, chain(both, with_array(mix), ragged2list()))


def _name_positions(spans_key: str) -> Model[list[Doc], list[Ints2d]]:
    return Model("gazetteer_features", _forward, attrs={"spans_key": spans_key, "has_learnt": False})


def _forward(
    model: Model[list[Doc], list[Ints2d]], docs: list[Doc], is_train: bool
) -> tuple[list[Ints2d], Callable[[list[Ints2d]], list[Doc]]]:
    key = model.attrs["spans_key"]
    model.attrs["has_learnt"] |= is_train
    # before training, spaCy only infers shapes, from documents without annotations
    if model.attrs["has_learnt"] and any(len(doc) and key not in doc.spans for doc in docs):
        raise SapbertError(Errors.E643.format(key=key))
    return [model.ops.asarray2i(_position_hashes(doc, key), dtype="uint64") for doc in docs], lambda _: []


def _position_hashes(doc: Doc, key: str) -> list[list[int]]:
    """Return one list per token with a hash of its position in a name and of the label; 0 outside of names."""
    places = [[0] for _ in doc]
    for span in filter_spans(doc.spans.get(key, [])):
        last = span.end - 1
        for token in range(span.start, span.end):
            place = ("U" if last == span.start else "B") if token == span.start else "L" if token == last else "I"
            places[token] = [hash64(f"{place}-{span.label_}")]
    return places
