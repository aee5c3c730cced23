"""Retrieve the concepts of whole documents."""
