"""Link mentions to concepts, without spaCy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
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

__getattr__ = lazy_names(
    __name__,
    {
        "CandidateGenerator": "candidates",
        "CandidateSettings": "settings",
        "Linker": "linker",
        "LinkerParameters": "parameters",
        "LinkerSettings": "settings",
        "MentionQuery": "linker",
        "MentionVariants": "variants",
        "SelectionSettings": "settings",
        "TieBreaker": "ties",
        "VariantSelector": "variants",
        "VectorSettings": "settings",
    },
)
