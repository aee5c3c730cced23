"""The signals that support a concept in a document, one signal per file."""

SIGNALS = ("document", "sentences", "phrases", "mentions", "prior")
OF_NAMES = frozenset({"sentences", "phrases"})
"""The signals that need the vectors of the names."""
OF_ENCODER = OF_NAMES | {"document"}
"""The signals that need an encoder."""
