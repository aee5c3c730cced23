"""Compute measures from gold annotations and predictions. Nothing here opens a file or runs a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .calibration import brier_score, calibration_error, reliability, threshold_curve
    from .counts import SetCounts, compare_sets, macro, micro, precision_recall_f1
    from .document_ranking import RankingScore, average_precision, score_ranking
    from .linking_accuracy import MentionScore, accuracies, gold_concepts, lenient_at, strict_at

__all__ = [
    "MentionScore",
    "RankingScore",
    "SetCounts",
    "accuracies",
    "average_precision",
    "brier_score",
    "calibration_error",
    "compare_sets",
    "gold_concepts",
    "lenient_at",
    "macro",
    "micro",
    "precision_recall_f1",
    "reliability",
    "score_ranking",
    "strict_at",
    "threshold_curve",
]

__getattr__ = lazy_names(
    __name__,
    {
        "MentionScore": "linking_accuracy",
        "RankingScore": "document_ranking",
        "SetCounts": "counts",
        "accuracies": "linking_accuracy",
        "average_precision": "document_ranking",
        "brier_score": "calibration",
        "calibration_error": "calibration",
        "compare_sets": "counts",
        "gold_concepts": "linking_accuracy",
        "lenient_at": "linking_accuracy",
        "macro": "counts",
        "micro": "counts",
        "precision_recall_f1": "counts",
        "reliability": "calibration",
        "score_ranking": "document_ranking",
        "strict_at": "linking_accuracy",
        "threshold_curve": "calibration",
    },
)
