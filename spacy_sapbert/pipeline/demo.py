"""The pipeline of the demo: it finds and links names of the starter vocabulary."""

import spacy
from spacy.language import Language


def demo_pipeline() -> Language:
    """Return a pipeline that finds and links names of the starter vocabulary."""
    nlp = spacy.blank("en")
    for component in ("abbreviation_resolver", "concept_matcher", "composite_splitter", "sapbert_linker"):
        nlp.add_pipe(component)
    return nlp
