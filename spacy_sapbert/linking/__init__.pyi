from .candidates import CandidateGenerator
from .linker import Linker, MentionQuery
from .parameters import LinkerParameters
from .settings import CandidateSettings, LinkerSettings, SelectionSettings, VectorSettings
from .ties import TieBreaker
from .variants import MentionVariants, VariantSelector

__all__ = [
    "CandidateGenerator",
    "CandidateSettings",
    "Linker",
    "LinkerParameters",
    "LinkerSettings",
    "MentionQuery",
    "MentionVariants",
    "SelectionSettings",
    "TieBreaker",
    "VariantSelector",
    "VectorSettings",
]
