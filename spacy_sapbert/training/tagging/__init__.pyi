from .crf import MAX_TOKENS, N_TAGS, Floats, TokenSpan, allowed_tags, expectations, find_spans, padded
from .network import (
    MOST,
    add_transition_gradient,
    half_precision,
    in_batches,
    is_initialized,
    members_of,
    restore_precision,
    scores_of,
    set_number_of_labels,
    transitions_of,
)

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
