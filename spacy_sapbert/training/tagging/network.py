"""Networks that tag mentions: features from the names of a vocabulary, scores of tags and weights of transitions."""

# no postponed annotations here: spaCy could not check the settings of a registered function

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import LEMMA, NORM, POS, TAG
from spacy.ml.staticvectors import forward
from spacy.tokens import Doc, Span
from spacy.util import filter_spans
from thinc.api import (
    HashEmbed,
    Linear,
    Maxout,
    Model,
    NumpyOps,
    Ragged,
    chain,
    concatenate,
    list2ragged,
    ragged2list,
    with_array,
    zero_init,
)
from thinc.types import Floats2d, Floats3d, Ints2d

from ...errors import Errors, SapbertError
from ...files.values import hash64
from ...store.cache import drop_oldest
from .crf import N_TAGS
from .word_vectors import readable

Network = Model[list[Doc], list[Floats2d]]
Positions = Model[list[Doc], list[Ints2d]]

_TRANSITIONS = "transitions"
_KEPT = 1 << 14  # vectors of words
_ROWS, _WIDTH = 500, 16  # of the embeddings of positions in names
_hash_of = lru_cache(maxsize=1024)(hash64)


def typed_tagger(tok2vec: Network, members: int = 1) -> Network:
    """Score each tag of each label for each token, from the token's vector.

    Several members are networks of the same kind with their own weights. Each learns on its own, and their scores are
    averaged, which makes fewer errors than one network. They take as many times longer.

    Args:
        tok2vec: A layer that gives vectors of tokens, such as spacy.Tok2Vec.v2. It is copied for further members, so
            with a listener there can be one member only.

    Returns:
        A layer that gives one array per document, shape (tokens, members * labels * tags).
    """
    for layer in tok2vec.walk():
        if layer.name == "static_vectors":
            layer._func = _StaticVectors()
    copies = [tok2vec, *(tok2vec.copy() for _ in range(members - 1))]
    taggers: Any = [chain(copy, with_array(Linear(init_W=zero_init))) for copy in copies]
    transitions: Any = Model(_TRANSITIONS, _pass, init=_init, params={_TRANSITIONS: None}, dims={"nO": None})
    together: Any = concatenate(*taggers) if members > 1 else taggers[0]
    network: Any = chain(together, transitions)
    network.set_ref(_TRANSITIONS, transitions)
    for number, tagger in enumerate(taggers):
        network.set_ref(f"scores{number}", tagger.layers[-1].layers[0])
    network.attrs["members"] = members
    return cast(Network, network)


def members_of(network: Network) -> int:
    """Return the number of member networks."""
    return cast(int, network.attrs["members"])


def set_number_of_labels(network: Network, n_labels: int) -> None:
    """Set the number of labels before the network is initialized."""
    for number in range(members_of(network)):
        network.get_ref(f"scores{number}").set_dim("nO", n_labels * N_TAGS, force=True)
    network.get_ref(_TRANSITIONS).set_dim("nO", members_of(network) * n_labels * N_TAGS, force=True)


def is_initialized(network: Network) -> bool:
    """Return whether the network has weights."""
    return bool(network.get_ref(_TRANSITIONS).has_param(_TRANSITIONS))


def transitions_of(network: Network) -> Floats3d:
    """Return the scores of transitions, shape (members * labels, tags, tags)."""
    return cast(Floats3d, network.get_ref(_TRANSITIONS).get_param(_TRANSITIONS))


def add_transition_gradient(network: Network, gradient: Floats3d) -> None:
    """Add to the gradient of the transitions, in the shape of `transitions_of`."""
    network.get_ref(_TRANSITIONS).inc_grad(_TRANSITIONS, gradient)


@contextmanager
def half_precision(network: Network) -> Iterator[None]:
    """Give the network weights of 16 bits inside the block, to save them. It cannot predict with them."""
    weights = {(node.id, name): _cast(node, name, "float16") for node, name in _weights(network)}
    with network.use_params(weights):
        yield


def restore_precision(network: Network) -> None:
    """Give the network weights of 32 bits, after it was read from a file."""
    for node, name in _weights(network):
        node.set_param(name, _cast(node, name, "float32"))


def _weights(network: Network) -> Iterator[tuple[Model, str]]:
    return ((node, name) for node in network.walk() for name in node.param_names if node.has_param(name))


def _cast(node: Model, name: str, dtype: Any) -> Any:
    return node.ops.asarray(node.get_param(name), dtype=dtype)


def _init(model: Model, X: Any = None, Y: Any = None) -> None:
    shape = model.get_dim("nO") // N_TAGS, N_TAGS, N_TAGS
    model.set_param(_TRANSITIONS, model.ops.alloc3f(*shape))


def _pass(model: Model, scores: Any, is_train: bool) -> tuple[Any, Callable[[Any], Any]]:
    """Return the scores as they are: the layer only holds parameters, so that they are saved and trained."""
    return scores, lambda gradient: gradient


class _StaticVectors:
    """Does what spaCy's layer of word vectors does, and keeps the vectors of words.

    spaCy adds them up from parts of words in each batch again, which takes a fifth of the time of a small network.
    """

    def __init__(self) -> None:
        self._data: Any = None
        self._known: dict[int, Any] = {}

    def __call__(self, layer: Model, docs: list[Doc], is_train: bool) -> tuple[Ragged, Callable[[Ragged], list[Doc]]]:
        vectors: Any = readable(docs[0].vocab) if docs else None
        ops, is_floret = layer.ops, getattr(vectors, "mode", None) == "floret"
        if is_train or not is_floret or not isinstance(ops, NumpyOps) or not any(map(len, docs)):
            return forward(layer, docs, is_train)
        table = self._vectors([key for doc in docs for key in doc.to_array(vectors.attr).tolist()], vectors)
        data = ops.gemm(table, ops.as_contig(layer.get_param("W")), trans2=True)
        return Ragged(data, ops.asarray1i(list(map(len, docs)))), lambda _: []

    def _vectors(self, keys: list[int], vectors: Any) -> NDArray[np.float32]:
        if self._data is not vectors.data:
            self._data, self._known = vectors.data, {}
        kept = self._known
        known: dict[int, Any] = {key: kept.get(key) for key in keys}  # another thread may drop what is kept
        if missing := [key for key, vector in known.items() if vector is None]:
            new = dict(zip(missing, vectors.get_batch(missing), strict=True))
            known.update(new)
            kept.update(new)
            drop_oldest(kept, _KEPT)
        return np.stack([known[key] for key in keys])


# --- features from names


def gazetteer_embed(
    embed: Network, width: int, labels: list[str], spans_key: str = "names", word_dropout: float = 0.0
) -> Network:
    """Add features to the vectors of tokens: for each type, the position in a vocabulary name of this type.

    A `concept_matcher` finds the names. Put it before the network, let it write to `doc.spans[spans_key]`, and make it
    an annotating component during training. If spans of a type overlap, the longest counts.

    Args:
        embed: A layer that gives vectors of tokens, such as spacy.MultiHashEmbed.v2.
        width: The width of these vectors, and of the result.
        labels: The types. Names of other types are left out.
        spans_key: The span group with the names.
        word_dropout: The share of tokens, 0 to 1, whose first attribute is hidden from `embed` in training. If it is
            NORM, the network learns to do without the word, from its ends, its shape and what is around it.

    Returns:
        A layer that gives vectors of tokens.
    """
    for layer in embed.walk():
        if word_dropout and layer.name == "extract_features":
            layer._func = partial(_hiding, layer._func, word_dropout)
    # thinc hashes by the number of a layer, so another order of these layers would train other weights
    columns: Any = [HashEmbed(_WIDTH, _ROWS, column=column, dropout=0.0) for column in range(len(labels))]
    rows: Any = concatenate(*columns) if len(labels) > 1 else columns[0]
    attrs = {"spans_key": spans_key, "labels": labels, "has_learnt": False}
    positions: Any = Model("gazetteer_features", _find_positions, attrs=attrs)
    names: Any = chain(positions, list2ragged(), with_array(rows))
    both: Any = concatenate(chain(embed, list2ragged()), names)
    mix: Any = Maxout(nO=width, nI=width + _WIDTH * len(labels), nP=3, dropout=0.0, normalize=True)
    return cast(Network, chain(both, with_array(mix), ragged2list()))


def _hiding(read: Callable[..., Any], share: float, layer: Model, docs: list[Doc], is_train: bool) -> Any:
    """Read the attributes of tokens. In training, the first one of a share of them is 0, that of no word."""
    rows, backprop = read(layer, docs, is_train)
    for of_doc in rows if is_train else ():
        of_doc[layer.ops.xp.random.random(len(of_doc)) < share, 0] = 0
    return rows, backprop


def _find_positions(
    model: Positions, docs: list[Doc], is_train: bool
) -> tuple[list[Ints2d], Callable[[list[Ints2d]], list[Doc]]]:
    key, labels = model.attrs["spans_key"], model.attrs["labels"]
    model.attrs["has_learnt"] |= is_train
    # before training, spaCy only infers shapes, from documents without annotations
    if model.attrs["has_learnt"] and any(len(doc) and key not in doc.spans for doc in docs):
        raise SapbertError(Errors.E643.format(key=key))
    hashes: Any = [_position_hashes(doc, key, labels) for doc in docs]
    return [model.ops.asarray2i(doc_hashes, dtype="uint64") for doc_hashes in hashes], lambda _: []


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
                tag = ("U" if last == span.start else "B") if token == span.start else "L" if token == last else "I"
                hashes[token, column] = _hash_of(f"{tag}-{label}")
    return hashes


# --- scores of documents, in parts, so that memory grows neither with their number nor with their length


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
