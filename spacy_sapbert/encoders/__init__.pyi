from .lexical_model import LexicalModel
from .ngrams import NgramEncoder
from .transformer import TransformerEncoder, open_encoder

__all__ = [
    "LexicalModel",
    "NgramEncoder",
    "TransformerEncoder",
    "open_encoder",
]
