"""Cut documents into sentences, pack these into segments that an encoder can read at once, and encode the segments.

Encoders of names and of documents become Thinc layers, so that spaCy's optimizers train them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.api import ArgsKwargs, Model, Optimizer
from thinc.types import Floats2d, FloatsXd

from ..errors import SettingError
from ..text.normalize import TEXT_NORMALIZERS
from .additions import PROJECTION
from .compression import LAYER
from .transformer import TransformerEncoder

if TYPE_CHECKING:
    from thinc.api import PyTorchShim

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
        for batch in minibatch(docs, size=32):
            segmented = self.pieces(batch)
            with torch.inference_mode():  # weights that are opened in this mode cannot be trained
                encoded = self.encoder.embed_by_length([pieces for segments in segmented for pieces in segments])
            vectors += split(encoded.cpu().numpy(), segmented)
        return vectors


def split(vectors: np.ndarray, segmented: Sequence[Sequence[object]]) -> list[np.ndarray]:
    """Split the rows of an array by document: each gets as many rows as it has segments."""
    return np.split(vectors, np.cumsum(list(map(len, segmented[:-1])))) if segmented else []


# --- encoders as layers


Pieces = list[list[int]]
DocumentModel = Model[list[Doc], list[Floats2d]]


def thinc_encoder(
    encoder: TransformerEncoder, *, trained_layers: int | None = None, dropout: bool = True
) -> Model[Pieces, Floats2d]:
    """Wrap an encoder in a layer that turns tokenized names into vectors. Both share the weights.

    Args:
        trained_layers: The number of upper layers to train. Nothing below them is trained. None trains all weights.
        dropout: Whether to use the dropout of the model's config.
    """
    _freeze(encoder.model, trained_layers)
    return Model("names", _forward, shims=[_shim(encoder, dropout)])


def _forward(
    model: Model[Pieces, Floats2d], pieces: Pieces, is_train: bool
) -> tuple[Floats2d, Callable[[Floats2d], Pieces]]:
    vectors, backprop = model.shims[0](ArgsKwargs(args=(pieces,), kwargs={}), is_train)

    def backward(gradient: Floats2d) -> Pieces:
        import torch

        given = torch.from_numpy(np.ascontiguousarray(gradient, dtype=np.float32)).to(vectors.device)
        backprop(ArgsKwargs(args=((vectors,),), kwargs={"grad_tensors": (given,)}))
        return []

    return cast(Floats2d, vectors.detach().cpu().numpy()), backward


def document_model(
    documents: DocumentEncoder, *, trained_layers: int | None = None, dropout: bool = True
) -> DocumentModel:
    """Wrap a document encoder in a layer that turns documents into the vectors of their segments.

    Both share the weights.
    """
    names = thinc_encoder(documents.encoder, trained_layers=trained_layers, dropout=dropout)
    return Model("documents", _forward_documents, layers=[names], attrs={"pieces": documents.pieces})


def _forward_documents(
    model: DocumentModel, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    segmented = model.attrs["pieces"](docs)
    vectors, backprop = model.layers[0]([pieces for segments in segmented for pieces in segments], is_train)

    def backward(gradients: list[Floats2d]) -> list[Doc]:
        backprop(cast(Floats2d, np.concatenate(list(map(np.asarray, gradients)))))
        return []

    return cast("list[Floats2d]", split(vectors, segmented)), backward


def _shim(encoder: TransformerEncoder, dropout: bool) -> PyTorchShim:
    import torch
    from thinc.api import PyTorchShim

    class Names(torch.nn.Module):
        """The model of the encoder. It is in training mode only while it reads a training batch."""

        def __init__(self) -> None:
            super().__init__()
            self.model = encoder.model

        def forward(self, pieces: Pieces) -> torch.Tensor:
            self.model.train(dropout and torch.is_grad_enabled())
            try:
                return encoder.embed_by_length(pieces)
            finally:
                self.model.eval()

    class InPlace(PyTorchShim):
        """Updates the weights in place.

        Thinc's own shim replaces the tensors, and each new tensor keeps the old one alive. Memory therefore grows with
        every update (seen with Thinc 8.3 and torch 2.13).
        """

        def finish_update(self, optimizer: Optimizer) -> None:
            for name, weights in self._model.named_parameters():
                if weights.grad is not None:
                    arrays = (cast(FloatsXd, values.detach().cpu().numpy()) for values in (weights, weights.grad))
                    changed, _ = optimizer((self.id, name), *arrays)
                    weights.data.copy_(torch.from_numpy(changed))
                    weights.grad = None

    return InPlace(Names(), device=torch.device(encoder.device))


def _freeze(module: Any, trained_layers: int | None) -> None:
    """Train only the upper layers, and a projection above them."""
    module.requires_grad_(trained_layers is None)
    if trained_layers is None:
        return
    layers = {name: int(match[2]) for name, _ in module.named_parameters() if (match := LAYER.match(name))}
    n_layers = len(set(layers.values()))
    if not 1 <= trained_layers <= n_layers:
        allowed = f"from 1 to {n_layers}, the layers of the encoder"
        raise SettingError(setting="trained_layers", component="the training", value=trained_layers, wanted=allowed)
    for name, weights in module.named_parameters():
        is_above = layers.get(name, -1) >= n_layers - trained_layers or name.startswith(PROJECTION)
        weights.requires_grad_(is_above)
