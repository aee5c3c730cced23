"""Bottleneck adapters: a few weights beside a frozen encoder are trained and saved, instead of all of it.

Bottlenecks after the feed-forward part of each layer (Pfeiffer et al. 2021, AdapterFusion), and an invertible one after
the embeddings (Pfeiffer et al. 2020, MAD-X): of a BERT-base they are 13.22 % of the weights with a reduction factor
of 1, and 1.09 % with 16, which are the sizes that SapBERT's authors report (Liu et al. 2021).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Errors, SapbertError

if TYPE_CHECKING:
    from .transformer import TransformerEncoder

_NAME = "sapbert"
_WEIGHTS_FILE = "adapter.safetensors"


class AdapterSize(NamedTuple):
    """
    Attributes:
        trained: weights of the adapter. all (int): weights of the encoder without it.
    """

    trained: int
    all: int


def add_adapter(encoder: TransformerEncoder, reduction_factor: float = 16) -> AdapterSize:
    """Put a new adapter into an encoder, and freeze all other weights; it is saved and loaded with the encoder.

    Args:
        reduction_factor: how many times narrower than the encoder the bottlenecks are.

    Returns:
        the numbers of weights.

    Raises:
        SapbertError: E309 `adapters` is not installed, E316 there is an adapter already.
    """
    adapters = _library()
    model = encoder.model
    if has_adapter(model):
        raise SapbertError(Errors.E316.format(wanted="a second adapter"))
    everything = sum(weights.numel() for weights in model.parameters())
    adapters.init(model)
    model.add_adapter(_NAME, config=adapters.SeqBnInvConfig(reduction_factor=reduction_factor))
    model.train_adapter(_NAME)
    encoder.replace(model)
    return AdapterSize(sum(weights.numel() for weights in model.parameters() if weights.requires_grad), everything)


def has_adapter(model: Any) -> bool:
    return _NAME in getattr(model, "adapters_config", ())


def save_adapter(model: Any, folder: Path) -> None:
    """Write the adapter of a model into a folder, as `adapters` does."""
    model.save_adapter(str(folder), _NAME, use_safetensors=True)


def load_adapter(model: Any, folder: Path) -> None:
    """Read the adapter in a folder into a model.

    Raises:
        SapbertError: E309 `adapters` is not installed. OSError: the weights are missing.
    """
    adapters = _library()
    if not (folder / _WEIGHTS_FILE).is_file():  # the library would look for a pickle
        raise FileNotFoundError(f"there is no {_WEIGHTS_FILE} in {folder}")
    adapters.init(model)
    model.load_adapter(str(folder), load_as=_NAME, set_active=True, use_safetensors=True)


def _library() -> Any:
    try:
        import adapters
    except ImportError as error:
        raise SapbertError(Errors.E309.format(reason=error)) from error
    return adapters
