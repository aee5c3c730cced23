"""Vocabularies: the store, how it is built, and the readers of its formats."""
