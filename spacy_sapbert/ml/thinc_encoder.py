"""A transformer encoder as a layer of thinc, so that spaCy's optimizers train it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from thinc.api import ArgsKwargs, Model
from thinc.types import Floats2d

from ..errors import Errors, SapbertError
from .shrink import LAYER
from .transformer_encoder import TransformerEncoder

if TYPE_CHECKING:
    from torch import Tensor

Pieces = list[list[int]]


def thinc_encoder(
    encoder: TransformerEncoder, *, trained_layers: int | None = None, dropout: bool = True
) -> Model[Pieces, Floats2d]:
    """Wrap an encoder; both share the weights. The layer turns tokenised names into its vectors.

    trained_layers (int | None): train so many of the upper layers and nothing below them; None trains all weights.
    dropout (bool): as much as the model's config says, or none.
    RAISES (SapbertError): E341 the encoder has fewer layers.
    """
    import torch
    from thinc.api import PyTorchWrapper_v3

    class Names(torch.nn.Module):
        """The encoder's model, which is in training mode only while it reads a batch to learn from."""

        def __init__(self) -> None:
            super().__init__()
            self.model = encoder.model

        def forward(self, pieces: Pieces) -> Tensor:
            self.model.train(dropout and torch.is_grad_enabled())
            try:
                return encoder.embed_by_length(pieces)
            finally:
                self.model.eval()

    _freeze(encoder.model, trained_layers)
    return PyTorchWrapper_v3(
        Names(), convert_inputs=_to_torch, convert_outputs=_from_torch, device=torch.device(encoder.device)
    )


def _to_torch(model: Model, pieces: Pieces, is_train: bool) -> tuple[ArgsKwargs, Callable[[Any], Any]]:
    return ArgsKwargs(args=(pieces,), kwargs={}), lambda gradient: gradient


def _from_torch(
    model: Model, inputs_outputs: tuple[Pieces, Tensor], is_train: bool
) -> tuple[np.ndarray, Callable[[np.ndarray], ArgsKwargs]]:
    _, vectors = inputs_outputs

    def to_torch(gradient: np.ndarray) -> ArgsKwargs:
        import torch

        given = torch.from_numpy(np.ascontiguousarray(gradient, dtype=np.float32)).to(vectors.device)
        return ArgsKwargs(args=((vectors,),), kwargs={"grad_tensors": (given,)})

    return vectors.detach().cpu().numpy(), to_torch


def _freeze(module: Any, trained_layers: int | None) -> None:
    """Let gradients flow into the uppermost layers only."""
    module.requires_grad_(trained_layers is None)
    if trained_layers is None:
        return
    layers = {name: int(found[2]) for name, _ in module.named_parameters() if (found := LAYER.match(name))}
    n_layers = len(set(layers.values()))
    if not 1 <= trained_layers <= n_layers:
        raise SapbertError(Errors.E341.format(wanted=trained_layers, layers=n_layers))
    for name, weights in module.named_parameters():
        weights.requires_grad_(layers.get(name, -1) >= n_layers - trained_layers)
