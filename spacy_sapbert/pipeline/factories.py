"""The names of the components' factories, for code that looks for a component in a pipeline."""

LINKER = "sapbert_linker"
MATCHER = "concept_matcher"
RETRIEVER = "concept_retriever"
# what prepares mentions for the linker; the second is scispaCy's
PREPARING = ("abbreviation_resolver", "abbreviation_detector", "composite_splitter", "spelling_corrector")
