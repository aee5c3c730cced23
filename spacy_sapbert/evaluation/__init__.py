"""Measures, one a file."""
