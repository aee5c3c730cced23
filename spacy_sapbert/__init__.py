"""Biomedical text to concepts of a vocabulary, as spaCy components."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import lazy_names

if TYPE_CHECKING:
    from .corpora.reader import read_corpus
    from .kb.build import build_knowledge_base
    from .kb.knowledge_base import KnowledgeBase
    from .kb.readers import read_vocabulary
    from .pipeline.abbreviation_resolver import AbbreviationResolver
    from .pipeline.composite_splitter import CompositeSplitter
    from .pipeline.concept_matcher import ConceptMatcher
    from .pipeline.concept_retriever import ConceptRetriever
    from .pipeline.sapbert_linker import SapbertLinker

__version__ = "0.1.0"

__all__ = [
    "AbbreviationResolver",
    "CompositeSplitter",
    "ConceptMatcher",
    "ConceptRetriever",
    "KnowledgeBase",
    "SapbertLinker",
    "__version__",
    "build_knowledge_base",
    "read_corpus",
    "read_vocabulary",
]

__getattr__ = lazy_names(
    __name__,
    {
        "AbbreviationResolver": "pipeline.abbreviation_resolver",
        "CompositeSplitter": "pipeline.composite_splitter",
        "ConceptMatcher": "pipeline.concept_matcher",
        "ConceptRetriever": "pipeline.concept_retriever",
        "KnowledgeBase": "kb.knowledge_base",
        "SapbertLinker": "pipeline.sapbert_linker",
        "build_knowledge_base": "kb.build",
        "read_corpus": "corpora.reader",
        "read_vocabulary": "kb.readers",
    },
)
