from .crf import N_TAGS, Floats, expectations
from .network import (
    add_transition_gradient,
    half_precision,
    is_initialized,
    members_of,
    restore_precision,
    set_number_of_labels,
    transitions_of,
)
from .spans import MAX_TOKENS, TokenSpan, allowed_tags, find_spans, padded
from .windows import MOST, in_batches, scores_of

__all__ = [
    "MAX_TOKENS",
    "MOST",
    "N_TAGS",
    "Floats",
    "TokenSpan",
    "add_transition_gradient",
    "allowed_tags",
    "expectations",
    "find_spans",
    "half_precision",
    "in_batches",
    "is_initialized",
    "members_of",
    "padded",
    "restore_precision",
    "scores_of",
    "set_number_of_labels",
    "transitions_of",
]
