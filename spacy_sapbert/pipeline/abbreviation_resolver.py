"""`abbreviation_resolver`: find the abbreviations that a document defines, and their later occurrences."""

from typing import Iterable, List, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, SapbertError
from ..text.abbreviations import AbbreviationOccurrence, find_definitions, find_occurrences
from .attributes import register, set_abbreviation_occurrences
from .component_settings import check_setting, language_rules, refuse_foreign, warn_of_language


@Language.factory(
    "abbreviation_resolver",
    assigns=["doc._.abbreviations", "span._.long_form"],
    default_config={"min_precision": 0.9, "known": [], "language": None},
)
def make_abbreviation_resolver(
    nlp: Language,
    name: str,
    min_precision: float,
    known: List[List[str]],
    language: Optional[str],
    make_serializable: bool = False,
) -> "AbbreviationResolver":
    """Make an `AbbreviationResolver` from a config. The last setting is scispaCy's, and must be false.

    Raises:
        SapbertError: E570 it is true.
    """
    refuse_foreign("abbreviation_resolver", make_serializable=make_serializable)
    warn_of_language(nlp, language)
    return AbbreviationResolver(nlp.vocab, name, min_precision=min_precision, known=known, language=language)


class AbbreviationResolver(Pipe):
    """Finds the definitions of abbreviations in a document, and all their occurrences.

    `doc._.abbreviations` has a span for each occurrence of a short form, including its definition. Its
    `span._.long_form` is the span of the long form. It is a string if the long form comes from the list of known ones.

    The result does not depend on the tokenizer. A short form inside a token gives the whole token.

    Args:
        vocab: The vocabulary of the pipeline.
        name: The name of the component.
        min_precision: The least expected precision of a definition, from 0 to 1.
        known: Pairs of short and long forms, for short forms that a document does not define itself. They are pairs
            since a config file cannot hold a mapping with keys such as "[Ca2+]i" or "a=b".
        language: The language of the rules: "de", "en", "es" or "fr". None takes that of the pipeline.

    Raises:
        SapbertError: E165 the language has no rules, E406 the precision is outside 0 to 1, E410 a known form is empty.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "abbreviation_resolver",
        *,
        min_precision: float = 0.9,
        known: Iterable[Sequence[str]] = (),
        language: Optional[str] = None,
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.min_precision = min_precision
        check_setting(self, "min_precision", 0 <= min_precision <= 1, "from 0 to 1")
        self.known = dict(map(_check_pair, known))
        self._language = language
        self._rules = language_rules(language, vocab)
        register()

    def __repr__(self) -> str:
        known = f"{len(self.known)} known short forms"
        return f"AbbreviationResolver({self.name!r}, min_precision={self.min_precision}, {known})"

    def __call__(self, doc: Doc) -> Doc:
        """Find the abbreviations of one document and write them to it."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def predict(self, docs: Iterable[Doc]) -> List[List[AbbreviationOccurrence]]:
        """Return the occurrences of short forms in each document. The documents are not changed."""
        return [self._find_occurrences(doc.text) for doc in docs]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[List[AbbreviationOccurrence]]) -> None:
        """Write the predictions to the documents. They replace earlier ones."""
        register()  # scispaCy may have replaced the attributes meanwhile
        for doc, occurrences in zip(docs, predictions):
            set_abbreviation_occurrences(doc, occurrences)

    def _find_occurrences(self, text: str) -> List[AbbreviationOccurrence]:
        return find_occurrences(
            text, find_definitions(text, min_precision=self.min_precision, rules=self._rules), self.known
        )


def _check_pair(pair: Sequence[str]) -> Tuple[str, str]:
    if len(pair) != 2 or not all(map(str.strip, pair)):
        raise SapbertError(Errors.E410.format(entry=pair))
    return pair[0], pair[1]
