from .ngrams import LexicalModel, NgramEncoder
from .transformer import TransformerEncoder, open_encoder

__all__ = [
    "LexicalModel",
    "NgramEncoder",
    "TransformerEncoder",
    "open_encoder",
]
