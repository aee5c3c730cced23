"""Retrieval: the concepts of a whole document."""
