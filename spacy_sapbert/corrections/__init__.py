"""Corrections of links: a user's decisions, in one file, that linker and matcher obey."""
