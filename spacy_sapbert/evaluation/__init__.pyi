from .belb import evaluate_belb
from .calibration import calibrate
from .compare import compare_predictions
from .components import evaluate_abbreviations, evaluate_composites
from .linking import evaluate_linking
from .pipeline import evaluate_concepts, evaluate_pipeline
from .separation import evaluate_separation

__all__ = [
    "calibrate",
    "compare_predictions",
    "evaluate_abbreviations",
    "evaluate_belb",
    "evaluate_composites",
    "evaluate_concepts",
    "evaluate_linking",
    "evaluate_pipeline",
    "evaluate_separation",
]
