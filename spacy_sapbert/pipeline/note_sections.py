"""`note_sections`: find the sections of clinical notes by their headings, and remove mentions in headings."""

from typing import Iterable, List

from spacy.language import Language
from spacy.tokens import Doc

from ..text.notes.sections import Section, check_language, find_sections
from .attributes import register, set_sections
from .component_settings import Component, add_factory
from .mentions import outside_headings


class NoteSections(Component):
    """Writes the sections of a note to `doc._.sections`. `span._.section` is the label of the section of a mention.

    A heading is in capitals or has a colon, and is in the list of the language. It may stand in a line with other text,
    as in notes that lost the ends of their lines.

    A heading is not a mention: the component removes the entities in headings, and a `concept_matcher` after it does
    not find any there. With another component that finds mentions, add this one after it.

    Args:
        nlp: The pipeline.
        name: The name of the component.

    Raises:
        SapbertError: E125 there are no headings of the language.
    """

    shown = ()

    def __init__(self, nlp: Language, name: str = "note_sections") -> None:
        check_language(nlp.lang or "")
        self.keep(nlp, name, locals())

    def predict(self, docs: Iterable[Doc]) -> List[List[Section]]:
        """Return the sections of each document. The documents are not changed."""
        return [find_sections(doc.text, self.vocab.lang) for doc in docs]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[List[Section]]) -> None:
        """Write the sections, and remove the entities in headings."""
        register()  # scispaCy may have replaced the attributes meanwhile
        for doc, sections in zip(docs, predictions):
            set_sections(doc, sections)
            entities = outside_headings(doc, doc.ents)
            if len(entities) < len(doc.ents):
                doc.ents = entities


add_factory(NoteSections, assigns=["doc._.sections", "span._.section"])
