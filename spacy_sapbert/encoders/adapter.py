"""Bottleneck adapters: train and save a few additional weights instead of the whole encoder.

There is a bottleneck after the feed-forward part of each layer (Pfeiffer et al. 2021, AdapterFusion). An invertible one
follows the embeddings (Pfeiffer et al. 2020, MAD-X). For a BERT-base they have 13.22 % of the weights with a reduction
factor of 1, and 1.09 % with 16. SapBERT's authors report these sizes (Liu et al. 2021).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Errors, MissingExtraError, SapbertError

if TYPE_CHECKING:
    from .transformer import TransformerEncoder

_NAME = "sapbert"
_WEIGHTS_FILE = "adapter.safetensors"


class AdapterSize(NamedTuple):
    """Numbers of weights of an encoder with an adapter.

    Attributes:
        trained: Weights of the adapter.
        all: Weights of the encoder without the adapter.
    """

    trained: int
    all: int


def add_adapter(encoder: TransformerEncoder, reduction_factor: float = 16) -> AdapterSize:
    """Add a new adapter to an encoder and freeze all other weights. It is saved and loaded with the encoder.

    Args:
        encoder: The encoder, changed in place.
        reduction_factor: How many times narrower than the encoder the bottlenecks are.

    Returns:
        The numbers of weights.
    """
    adapters = _library()
    model = encoder.model
    if has_adapter(model):
        raise SapbertError(Errors.E316.format(part="an adapter", wanted="a second one"))
    everything = sum(weights.numel() for weights in model.parameters())
    adapters.init(model)
    model.add_adapter(_NAME, config=adapters.SeqBnInvConfig(reduction_factor=reduction_factor))
    model.train_adapter(_NAME)
    encoder.replace(model)
    return AdapterSize(sum(weights.numel() for weights in model.parameters() if weights.requires_grad), everything)


def has_adapter(model: Any) -> bool:
    """Return whether a model has an adapter."""
    return _NAME in getattr(model, "adapters_config", ())


def save_adapter(model: Any, folder: Path) -> None:
    """Write the adapter of a model into a folder, in the format of `adapters`."""
    model.save_adapter(str(folder), _NAME, use_safetensors=True)


def load_adapter(model: Any, folder: Path) -> None:
    """Load the adapter in a folder into a model."""
    adapters = _library()
    if not (folder / _WEIGHTS_FILE).is_file():  # otherwise the library would look for a pickle
        raise FileNotFoundError(f"there is no {_WEIGHTS_FILE} in {folder}")
    adapters.init(model)
    model.load_adapter(str(folder), load_as=_NAME, set_active=True, use_safetensors=True)


def _library() -> Any:
    try:
        import adapters
    except ImportError as error:
        raise MissingExtraError(what="An adapter", package="adapters", extra="adapters") from error
    return adapters
