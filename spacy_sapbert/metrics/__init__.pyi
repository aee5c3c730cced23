from .calibration import brier_score, calibration_error, reliability, threshold_curve
from .counts import (
    RankingScore,
    SetCounts,
    average_precision,
    compare_sets,
    macro,
    micro,
    precision_recall_f1,
    score_ranking,
)
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
