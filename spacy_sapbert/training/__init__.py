"""Training of encoders: pairs of synonyms in, an encoder folder out."""
