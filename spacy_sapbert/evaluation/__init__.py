"""Run pipelines on corpora: measures, calibration, error lists and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .abbreviations import evaluate_abbreviations
    from .calibration import calibrate
    from .compare import compare_predictions
    from .composites import evaluate_composites
    from .concepts import evaluate_concepts
    from .linking import evaluate_linking
    from .pipeline import evaluate_pipeline
    from .separation import evaluate_separation

__all__ = [
    "calibrate",
    "compare_predictions",
    "evaluate_abbreviations",
    "evaluate_composites",
    "evaluate_concepts",
    "evaluate_linking",
    "evaluate_pipeline",
    "evaluate_separation",
]

__getattr__ = lazy_names(
    __name__,
    {
        "calibrate": "calibration",
        "compare_predictions": "compare",
        "evaluate_abbreviations": "abbreviations",
        "evaluate_composites": "composites",
        "evaluate_concepts": "concepts",
        "evaluate_linking": "linking",
        "evaluate_pipeline": "pipeline",
        "evaluate_separation": "separation",
    },
)
