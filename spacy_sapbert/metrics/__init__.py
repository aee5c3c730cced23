"""Measures: gold annotations and predictions in, numbers out."""
