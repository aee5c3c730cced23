"""`abbreviation_resolver`: find the abbreviations that a document defines, and their later occurrences."""

from typing import List, Optional

from spacy.language import Language
from spacy.tokens import Doc

from ..text.abbreviations import AbbreviationOccurrence, find_definitions, find_occurrences
from ..text.languages import ENGLISH
from ..text.short_forms import find_short_forms
from .attributes import set_abbreviation_occurrences
from .component_settings import Component, add_factory, check_setting


class AbbreviationResolver(Component):
    """Finds the definitions of abbreviations in a document, and all their occurrences.

    `doc._.abbreviations` has a span for each occurrence of a short form, including its definition. Its
    `span._.long_form` is the span of the long form. It is a string if the long form comes from the list of known ones.

    The result does not depend on the tokenizer. The text of a span is the short form alone, also inside a token.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        min_precision: The least expected precision of a definition, from 0 to 1.
        known: Pairs of short and long forms, for short forms that a document does not define itself. They are pairs
            since a config file cannot hold a mapping with keys such as "[Ca2+]i" or "a=b".
        clinical: Also resolve short forms of clinical notes, such as "HTN", that the document does not define. Where
            one has several senses, the words around decide. If they do not, it is not linked. Only for English.
        language: The language of the rules: "de", "en", "es" or "fr". None takes that of the pipeline.

    Raises:
        SapbertError: E125 the language has no rules, E406 the precision is outside 0 to 1, a known form is empty, or
            `clinical` is set for another language than English.
    """

    fixed = ("known", "language")
    shown = ("min_precision",)

    def __init__(
        self,
        nlp: Language,
        name: str = "abbreviation_resolver",
        *,
        min_precision: float = 0.9,
        known: List[List[str]] = [],
        clinical: bool = False,
        language: Optional[str] = None,
        make_serializable: bool = False,
    ) -> None:
        self.keep(nlp, name, locals())
        check_setting(self, "min_precision", 0 <= min_precision <= 1, "from 0 to 1")
        pairs = all(len(pair) == 2 and all(map(str.strip, pair)) for pair in known)
        check_setting(self, "known", pairs, "a list of pairs of a short form and a long form")
        self.known = {pair[0]: pair[1] for pair in known}
        check_setting(
            self, "clinical", not clinical or self._rules is ENGLISH, "false for other languages than English"
        )

    def find(self, doc: Doc) -> List[AbbreviationOccurrence]:
        text = doc.text
        definitions = find_definitions(text, min_precision=self.min_precision, rules=self._rules)
        clinical = [*find_short_forms(text)] if self.clinical else []
        return find_occurrences(text, definitions, self.known, clinical)

    def annotate(self, doc: Doc, found: List[AbbreviationOccurrence]) -> None:
        set_abbreviation_occurrences(doc, found)


add_factory(AbbreviationResolver, assigns=["doc._.abbreviations", "span._.long_form"])
