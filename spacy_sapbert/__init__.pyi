from .documents.reader import read_corpus
from .errors import SapbertError
from .evaluation.calibration import calibrate
from .evaluation.linking import evaluate_linking
from .evaluation.pipeline import evaluate_concepts, evaluate_pipeline
from .kb.build import build_knowledge_base
from .kb.code_systems import Code, CodeSystems
from .kb.knowledge_base import KnowledgeBase
from .kb.readers import read_vocabulary
from .kb.storage import load_knowledge_base
from .linking.grounding import ground
from .outputs.dataframes import to_dataframe
from .pipeline.abbreviation_resolver import AbbreviationResolver
from .pipeline.assemble import assemble
from .pipeline.assertion_detector import AssertionDetector
from .pipeline.box import load
from .pipeline.composite_splitter import CompositeSplitter
from .pipeline.concept_matcher import ConceptMatcher
from .pipeline.concept_retriever import ConceptRetriever
from .pipeline.gene_species import GeneSpeciesDetector
from .pipeline.note_sections import NoteSections
from .pipeline.repeated_mentions import RepeatedMentions
from .pipeline.sapbert_linker import SapbertLinker
from .pipeline.spacy_kb import SpacyKnowledgeBase
from .pipeline.spelling_corrector import SpellingCorrector
from .pipeline.typed_ner import TypedNer
from .runs.build_recipe import build_recipe
from .runs.link_batches import RayLinker, link_batches, spark_linker
from .runs.link_files import link_files
from .types import Alternative, Candidate, Concept, DocumentConcept, Link

__version__: str

__all__ = [
    "AbbreviationResolver",
    "Alternative",
    "AssertionDetector",
    "Candidate",
    "Code",
    "CodeSystems",
    "CompositeSplitter",
    "Concept",
    "ConceptMatcher",
    "ConceptRetriever",
    "DocumentConcept",
    "GeneSpeciesDetector",
    "KnowledgeBase",
    "Link",
    "NoteSections",
    "RayLinker",
    "RepeatedMentions",
    "SapbertError",
    "SapbertLinker",
    "SpacyKnowledgeBase",
    "SpellingCorrector",
    "TypedNer",
    "__version__",
    "assemble",
    "build_knowledge_base",
    "build_recipe",
    "calibrate",
    "evaluate_concepts",
    "evaluate_linking",
    "evaluate_pipeline",
    "ground",
    "link_batches",
    "link_files",
    "load",
    "load_knowledge_base",
    "read_corpus",
    "read_vocabulary",
    "spark_linker",
    "to_dataframe",
]
