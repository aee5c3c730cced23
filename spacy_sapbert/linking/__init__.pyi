from .candidates import CandidateGenerator
from .grounding import ground
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
    "ground",
    "select_variant",
]
