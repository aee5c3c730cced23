from .abbreviation_resolver import AbbreviationResolver
from .assertion_detector import AssertionDetector
from .composite_splitter import CompositeSplitter
from .concept_matcher import ConceptMatcher
from .concept_retriever import ConceptRetriever
from .gene_species import GeneSpeciesDetector
from .note_sections import NoteSections
from .repeated_mentions import RepeatedMentions
from .sapbert_linker import SapbertLinker
from .spacy_kb import SpacyKnowledgeBase
from .spelling_corrector import SpellingCorrector
from .typed_ner import TypedNer

__all__ = [
    "AbbreviationResolver",
    "AssertionDetector",
    "CompositeSplitter",
    "ConceptMatcher",
    "ConceptRetriever",
    "GeneSpeciesDetector",
    "NoteSections",
    "RepeatedMentions",
    "SapbertLinker",
    "SpacyKnowledgeBase",
    "SpellingCorrector",
    "TypedNer",
]
