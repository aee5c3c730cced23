"""Biomedical text to concepts of a vocabulary, as spaCy components."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_LAZY = {
    "ConceptStore": "kb.store",
    "build_store": "kb.build",
    "read_vocabulary": "kb.readers",
    "read_corpus": "corpora.reader",
    "SapbertLinker": "pipeline.sapbert_linker",
    "ConceptMatcher": "pipeline.concept_matcher",
    "AbbreviationResolver": "pipeline.abbreviation_resolver",
    "CompositeSplitter": "pipeline.composite_splitter",
}

__all__ = ["__version__", *sorted(_LAZY)]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
