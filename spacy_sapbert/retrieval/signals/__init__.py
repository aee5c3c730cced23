"""What speaks for a concept in a document, one kind of evidence a file."""

SIGNALS = ("document", "sentences", "phrases", "mentions", "prior")
OF_NAMES = frozenset({"sentences", "phrases"})
"""Those that need the vectors of the names."""
OF_ENCODER = OF_NAMES | {"document"}
"""Those that need an encoder."""
