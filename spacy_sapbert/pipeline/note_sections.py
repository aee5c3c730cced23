"""`note_sections`: find the sections of clinical notes by their headings, and remove mentions in headings."""

from typing import List

from spacy.language import Language
from spacy.tokens import Doc

from ..text.notes.sections import Section, check_language, find_sections
from .attributes import set_sections
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

    def find(self, doc: Doc) -> List[Section]:
        return find_sections(doc.text, self.vocab.lang)

    def annotate(self, doc: Doc, found: List[Section]) -> None:
        set_sections(doc, found)
        entities = outside_headings(doc, doc.ents)
        if len(entities) < len(doc.ents):
            doc.ents = entities


add_factory(NoteSections, assigns=["doc._.sections", "span._.section"])
