"""Encoders: turn texts into vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .lexical_model import LexicalModel
    from .ngrams import NgramEncoder
    from .transformer import TransformerEncoder, open_encoder

__all__ = [
    "LexicalModel",
    "NgramEncoder",
    "TransformerEncoder",
    "open_encoder",
]

__getattr__ = lazy_names(
    __name__,
    {
        "LexicalModel": "lexical_model",
        "NgramEncoder": "ngrams",
        "TransformerEncoder": "transformer",
        "open_encoder": "transformer",
    },
)
