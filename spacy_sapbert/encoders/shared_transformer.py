"""Encode documents by segments, with the transformer that the components of a pipeline share."""

# no postponed annotations here: spaCy could not check the settings of a registered function

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors, SapbertError

if TYPE_CHECKING:
    from spacy_transformers.data_classes import TransformerData

Segments = Model[list[Doc], list[Floats2d]]


def shared_transformer(
    pooling: Literal["cls", "mean"] = "cls", grad_factor: float = 1.0, upstream: str = "*"
) -> Segments:
    """Listen to a `transformer` of spacy-transformers earlier in the pipeline.

    A segment is a span of the transformer's `get_spans`.

    Args:
        pooling: "cls" or "mean", the same as for the encoder of the concepts.
        grad_factor: The weight of the gradients of this component in the transformer.
        upstream: The name of the transformer in the pipeline; "*" for any.

    Returns:
        A model that gives unit vectors as NumPy arrays, none for an empty document.
    """
    from spacy_transformers.layers import TransformerListener

    attrs = {"pooling": pooling, "grad_factor": grad_factor}
    return Model("shared_transformer", _forward, layers=[TransformerListener(upstream)], attrs=attrs)


def _forward(
    model: Segments, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    listener: Any = model.layers[0]
    if is_train and not any(map(len, docs)):  # the transformer skips such batches
        return [_no_vectors(model) for _ in docs], lambda _: []
    if not is_train or listener._batch_id is None:
        _check_transformer_has_run(docs)
    read, backprop = listener(docs, is_train)
    weights = [_pooling_weights(model, data) for data in read]
    pooled = [_pool(model, data, shares) for data, shares in zip(read, weights, strict=True)]
    lengths = [np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12) for vectors in pooled]
    units: Any = [vectors / length for vectors, length in zip(pooled, lengths, strict=True)]

    def backward(gradients: list[Floats2d]) -> list[Doc]:
        from spacy_transformers.data_classes import TransformerData
        from transformers.file_utils import ModelOutput

        given = []
        for data, shares, unit, length, gradient in zip(read, weights, units, lengths, gradients, strict=True):
            if not len(unit):
                continue  # like other listeners
            of_pooled = (gradient - unit * (unit * gradient).sum(axis=1, keepdims=True)) / length
            of_hidden = model.attrs["grad_factor"] * shares[:, :, None] * of_pooled[:, None, :]
            output = ModelOutput(last_hidden_state=model.ops.asarray3f(of_hidden))
            given.append(TransformerData(model_output=output, wordpieces=data.wordpieces, align=data.align))
        backprop(given)
        return []

    return units, backward


def _pooling_weights(model: Segments, data: "TransformerData") -> np.ndarray:
    """Return the weight of each wordpiece in its segment, float32, shape (segments, wordpieces)."""
    mask: np.ndarray = np.asarray(model.ops.to_numpy(data.wordpieces.attention_mask), dtype=np.float32)
    if model.attrs["pooling"] == "cls":
        mask = np.zeros_like(mask)
        mask[:, :1] = 1
    return mask / mask.sum(axis=1, keepdims=True).clip(min=1)


def _pool(model: Segments, data: "TransformerData", shares: np.ndarray) -> np.ndarray:
    hidden = data.model_output.get("last_hidden_state")
    if hidden is None or hidden.size == 0:
        return np.asarray(_no_vectors(model))
    return np.einsum("sw,swd->sd", shares, model.ops.to_numpy(hidden))


def _no_vectors(model: Segments) -> Floats2d:
    vectors = np.zeros((0, model.layers[0].get_dim("nO")), dtype=np.float32)
    return cast(Floats2d, vectors)


def _check_transformer_has_run(docs: list[Doc]) -> None:
    """Check that the transformer has run. If it has not, the listener would give zeros.

    Raises:
        SapbertError: E647 it has not run.
    """
    if not Doc.has_extension("trf_data") or any(len(doc) and doc._.trf_data is None for doc in docs):
        raise SapbertError(Errors.E647)
