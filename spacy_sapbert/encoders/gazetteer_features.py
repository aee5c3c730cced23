"""Where the names of a vocabulary stand in a text, as a feature from which a network learns."""

# no postponed annotations here: the settings of a registered function could not be checked

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
    """Add to the vectors of tokens whether they stand in a name that a `concept_matcher` found, where in it, and of
    which type it is.

    The matcher comes before in the pipeline, writes to `doc.spans[spans_key]`, and is an annotating component while the
    network learns. Of spans that overlap the longest counts.

    Args:
        embed: gives vectors of tokens, such as spacy.MultiHashEmbed.v2.
        width: of these vectors, and of those given.
        spans_key: the span group with the matcher's names.
    """
    rows: Any = HashEmbed(width, _ROWS, column=0, dropout=0.0)
    names: Any = chain(_known_names(spans_key), list2ragged(), with_array(rows))
    both: Any = concatenate(chain(embed, list2ragged()), names)
    mix: Any = Maxout(nO=width, nI=2 * width, nP=3, dropout=0.0, normalize=True)
    return cast(Embed, chain(both, with_array(mix), ragged2list()))


def _known_names(spans_key: str) -> Model[list[Doc], list[Ints2d]]:
    return Model("gazetteer_features", _forward, attrs={"spans_key": spans_key, "has_learnt": False})


def _forward(
    model: Model[list[Doc], list[Ints2d]], docs: list[Doc], is_train: bool
) -> tuple[list[Ints2d], Callable[[list[Ints2d]], list[Doc]]]:
    key = model.attrs["spans_key"]
    model.attrs["has_learnt"] |= is_train
    # before, spaCy only infers shapes, from documents that nothing has annotated
    if model.attrs["has_learnt"] and any(len(doc) and key not in doc.spans for doc in docs):
        raise SapbertError(Errors.E643.format(key=key))
    return [model.ops.asarray2i(_places(doc, key), dtype="uint64") for doc in docs], lambda _: []


def _places(doc: Doc, key: str) -> list[list[int]]:
    """Return `list[list[int]]`: for each token, a hash of its place in a name and of the name's label; 0 for none."""
    places = [[0] for _ in doc]
    for span in filter_spans(doc.spans.get(key, [])):
        last = span.end - 1
        for token in range(span.start, span.end):
            place = ("U" if last == span.start else "B") if token == span.start else "L" if token == last else "I"
            places[token] = [hash64(f"{place}-{span.label_}")]
    return places
