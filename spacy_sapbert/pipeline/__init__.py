"""spaCy components that link biomedical text, and their scorers."""

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .abbreviation_resolver import AbbreviationResolver
    from .assertion_detector import AssertionDetector
    from .composite_splitter import CompositeSplitter
    from .concept_matcher import ConceptMatcher
    from .concept_retriever import ConceptRetriever
    from .gene_species import GeneSpeciesDetector
    from .repeated_mentions import RepeatedMentions
    from .sapbert_linker import SapbertLinker
    from .spelling_corrector import SpellingCorrector
    from .typed_ner import TypedNer

__all__ = [
    "AbbreviationResolver",
    "AssertionDetector",
    "CompositeSplitter",
    "ConceptMatcher",
    "ConceptRetriever",
    "GeneSpeciesDetector",
    "RepeatedMentions",
    "SapbertLinker",
    "SpellingCorrector",
    "TypedNer",
]

__getattr__ = lazy_names(
    __name__,
    {
        "AbbreviationResolver": "abbreviation_resolver",
        "AssertionDetector": "assertion_detector",
        "CompositeSplitter": "composite_splitter",
        "ConceptMatcher": "concept_matcher",
        "ConceptRetriever": "concept_retriever",
        "GeneSpeciesDetector": "gene_species",
        "RepeatedMentions": "repeated_mentions",
        "SapbertLinker": "sapbert_linker",
        "SpellingCorrector": "spelling_corrector",
        "TypedNer": "typed_ner",
    },
)
