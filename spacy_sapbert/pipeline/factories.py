"""The factory names of the components, for code that finds a component in a pipeline, and the values of `storage`."""

LINKER = "sapbert_linker"
MATCHER = "concept_matcher"
RETRIEVER = "concept_retriever"
ASSERTION = "assertion_detector"
GENE_SPECIES = "gene_species"
SENTENCIZER = "sentencizer"  # spaCy's
INSIDE, EXTERNAL = "inside", "external"
"""The values of the setting `storage`."""
# components that prepare mentions for the linker; the second one is scispaCy's
PREPARING = ("abbreviation_resolver", "abbreviation_detector", "composite_splitter", "spelling_corrector")
