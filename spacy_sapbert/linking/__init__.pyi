from .candidates import CandidateGenerator
from .linker import Linker
from .settings import CandidateSettings, LinkerParameters, LinkerSettings, SelectionSettings, VectorSettings
from .ties import TieBreaker
from .variants import MentionQuery, MentionVariants, select_variant

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
    "VectorSettings",
    "select_variant",
]
