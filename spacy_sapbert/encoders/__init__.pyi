from .encoder import Encoder, open_encoder
from .ngrams import LexicalModel, NgramEncoder
from .static import StaticEncoder
from .transformer import TransformerEncoder

__all__ = [
    "Encoder",
    "LexicalModel",
    "NgramEncoder",
    "StaticEncoder",
    "TransformerEncoder",
    "open_encoder",
]
