"""Linking: from a mention to a concept, without spaCy."""
