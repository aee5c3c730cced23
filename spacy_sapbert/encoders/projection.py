"""A linear layer after the pooling of an encoder.

github.com/sujitpal/kg-aligned-entity-linker trains such a layer together with its encoders. In the folder of an encoder
it is saved as a Dense module, which sentence-transformers uses as well.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ChoiceError, Errors, SapbertError
from ..files.values import parse_json

if TYPE_CHECKING:
    from .transformer import TransformerEncoder

ACTIVATIONS = {
    "tanh": "torch.nn.modules.activation.Tanh",
    "relu": "torch.nn.modules.activation.ReLU",
    "none": "torch.nn.modules.linear.Identity",
}
"""Activations after the linear layer, with the names that sentence-transformers uses."""

_ATTRIBUTE = "name_projection"
PROJECTION = f"{_ATTRIBUTE}."
"""The prefix of the weights of the projection among those of the model."""

_CONFIG_FILE = "config.json"
_WEIGHTS_FILE = "model.safetensors"


def add_projection(encoder: TransformerEncoder, activation: str = "tanh", dim: int | None = None) -> None:
    """Add a new projection to an encoder. It is saved and loaded with the encoder. Its initial weights are random.

    Args:
        encoder: The encoder, changed in place.
        activation: One of `ACTIVATIONS`.
        dim: The length of the new vectors. None keeps the length of the old ones.
    """
    if activation not in ACTIVATIONS:
        raise ChoiceError(given=activation, what="projection", choices=ACTIVATIONS)
    if get_projection(encoder.model) is not None:
        raise SapbertError(Errors.E316.format(part="a projection", wanted="a second one"))
    set_projection(encoder.model, _new(encoder.dim, dim or encoder.dim, activation))
    encoder.replace(encoder.model)


def get_projection(model: Any) -> Any:
    """Return the projection of a model, a torch.nn.Module, or None."""
    return getattr(model, _ATTRIBUTE, None)


def set_projection(model: Any, projection: Any) -> None:
    """Set the projection of a model.

    Args:
        model: The model of transformers.
        projection: A torch.nn.Module, or None to remove the projection.
    """
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
    (folder / _CONFIG_FILE).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(projection.state_dict(), folder / _WEIGHTS_FILE)


def load_projection(folder: Path) -> Any:
    """Load a projection in float32.

    Returns:
        The projection, a torch.nn.Module.
    """
    from safetensors.torch import load_file

    config = parse_json((folder / _CONFIG_FILE).read_text(encoding="utf-8"))
    names = {path: name for name, path in ACTIVATIONS.items()}
    projection = _new(config["in_features"], config["out_features"], names[config["activation_function"]])
    projection.load_state_dict(load_file(folder / _WEIGHTS_FILE))
    return projection


def _new(n_in: int, n_out: int, activation: str) -> Any:
    from torch import nn

    kinds = {"tanh": nn.Tanh, "relu": nn.ReLU, "none": nn.Identity}
    return nn.Sequential(OrderedDict(linear=nn.Linear(n_in, n_out), activation=kinds[activation]()))


def _path_of(module: Any) -> str:
    return f"{type(module).__module__}.{type(module).__name__}"
