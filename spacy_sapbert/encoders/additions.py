"""What is added to an encoder and trained instead of all its weights: bottleneck adapters, or a linear projection.

An adapter has a bottleneck after the feed-forward part of each layer (Pfeiffer et al. 2021, AdapterFusion), and an
invertible one after the embeddings (Pfeiffer et al. 2020, MAD-X). For a BERT-base they have 13.22 % of the weights with
a reduction factor of 1, and 1.09 % with 16. SapBERT's authors report these sizes (Liu et al. 2021).

A projection is a linear layer after the pooling, as in github.com/sujitpal/kg-aligned-entity-linker. In the folder of
an encoder it is saved as a Dense module, which sentence-transformers uses as well.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ChoiceError, Errors, SapbertError, requiring
from ..files.values import parse_json

if TYPE_CHECKING:
    from .transformer import TransformerEncoder

_ADAPTER = "sapbert"  # its name in the model
_ADAPTER_FILE = "adapter.safetensors"

ACTIVATIONS = {
    "tanh": "torch.nn.modules.activation.Tanh",
    "relu": "torch.nn.modules.activation.ReLU",
    "none": "torch.nn.modules.linear.Identity",
}
"""Activations after the linear layer, with the names that sentence-transformers uses."""

_ATTRIBUTE = "name_projection"
PROJECTION = f"{_ATTRIBUTE}."
"""The prefix of the weights of the projection among those of the model."""

_PROJECTION_CONFIG = "config.json"
_PROJECTION_FILE = "model.safetensors"


# --- adapters


class AdapterSize(NamedTuple):
    """Numbers of weights: those of the adapter, which are trained, and all those of the encoder without it."""

    trained: int
    all: int


def add_adapter(encoder: TransformerEncoder, reduction_factor: float = 16) -> AdapterSize:
    """Add a new adapter to an encoder and freeze all other weights. It is saved and loaded with the encoder.

    Args:
        reduction_factor: How many times narrower than the encoder the bottlenecks are.
    """
    adapters = _library()
    model = encoder.model
    if has_adapter(model):
        raise SapbertError(Errors.E316.format(part="an adapter", wanted="a second one"))
    n_weights = sum(weights.numel() for weights in model.parameters())
    adapters.init(model)
    model.add_adapter(_ADAPTER, config=adapters.SeqBnInvConfig(reduction_factor=reduction_factor))
    model.train_adapter(_ADAPTER)
    encoder.replace(model)
    return AdapterSize(sum(weights.numel() for weights in model.parameters() if weights.requires_grad), n_weights)


def has_adapter(model: Any) -> bool:
    """Return whether a model has an adapter."""
    return _ADAPTER in getattr(model, "adapters_config", ())


def save_adapter(model: Any, folder: Path) -> None:
    """Write the adapter of a model into a folder, in the format of `adapters`."""
    model.save_adapter(str(folder), _ADAPTER, use_safetensors=True)


def load_adapter(model: Any, folder: Path) -> None:
    """Load the adapter in a folder into a model."""
    adapters = _library()
    if not (folder / _ADAPTER_FILE).is_file():  # otherwise the library would look for a pickle
        raise FileNotFoundError(f"there is no {_ADAPTER_FILE} in {folder}")
    adapters.init(model)
    model.load_adapter(str(folder), load_as=_ADAPTER, set_active=True, use_safetensors=True)


def _library() -> Any:
    with requiring("adapters", "An adapter"):
        import adapters
    return adapters


# --- projections


def add_projection(encoder: TransformerEncoder, activation: str = "tanh", dim: int | None = None) -> None:
    """Add a new projection to an encoder. It is saved and loaded with the encoder. Its initial weights are random.

    Args:
        dim: The length of the new vectors. None keeps the length of the old ones.
    """
    if activation not in ACTIVATIONS:
        raise ChoiceError(given=activation, what="projection", choices=ACTIVATIONS)
    if get_projection(encoder.model) is not None:
        raise SapbertError(Errors.E316.format(part="a projection", wanted="a second one"))
    set_projection(encoder.model, _new_projection(encoder.dim, dim or encoder.dim, activation))
    encoder.replace(encoder.model)


def get_projection(model: Any) -> Any:
    """Return the projection of a model, a torch.nn.Module, or None."""
    return getattr(model, _ATTRIBUTE, None)


def set_projection(model: Any, projection: Any) -> None:
    """Set the projection of a model. None removes it."""
    setattr(model, _ATTRIBUTE, projection)


def activation_of(projection: Any) -> str:
    """Return the activation of a projection, one of `ACTIVATIONS`."""
    return next(name for name, path in ACTIVATIONS.items() if path == _path_of(projection.activation))


def save_projection(projection: Any, folder: Path) -> None:
    """Write a projection into a new folder."""
    from safetensors.torch import save_file

    folder.mkdir()
    config = {
        "in_features": projection.linear.in_features,
        "out_features": projection.linear.out_features,
        "bias": True,
        "activation_function": _path_of(projection.activation),
    }
    (folder / _PROJECTION_CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(projection.state_dict(), folder / _PROJECTION_FILE)


def load_projection(folder: Path) -> Any:
    """Load a projection, a torch.nn.Module, in float32."""
    from safetensors.torch import load_file

    config = parse_json((folder / _PROJECTION_CONFIG).read_text(encoding="utf-8"))
    names = {path: name for name, path in ACTIVATIONS.items()}
    projection = _new_projection(config["in_features"], config["out_features"], names[config["activation_function"]])
    projection.load_state_dict(load_file(folder / _PROJECTION_FILE))
    return projection


def _new_projection(n_in: int, n_out: int, activation: str) -> Any:
    from torch import nn

    kind = getattr(nn, ACTIVATIONS[activation].rpartition(".")[2])
    return nn.Sequential(OrderedDict(linear=nn.Linear(n_in, n_out), activation=kind()))


def _path_of(module: Any) -> str:
    return f"{type(module).__module__}.{type(module).__name__}"
