"""`abbreviation_resolver`: which abbreviations a document defines, and where it uses them."""

from typing import Iterable, List, Sequence, Tuple

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, SapbertError
from ..text.abbreviations import AbbreviationOccurrence, find_definitions, find_occurrences
from .attributes import register, set_abbreviation_occurrences
from .settings import check_setting


@Language.factory(
    "abbreviation_resolver",
    assigns=["doc._.abbreviations", "span._.long_form"],
    default_config={"min_precision": 0.9, "known": []},
)
def make_abbreviation_resolver(
    nlp: Language, name: str, min_precision: float, known: List[List[str]]
) -> "AbbreviationResolver":
    return AbbreviationResolver(nlp.vocab, name, min_precision=min_precision, known=known)


class AbbreviationResolver(Pipe):
    """Finds the definitions of abbreviations in a document, and every use of them.

    `doc._.abbreviations` holds a span for each use of a short form, that of its definition included. Its
    `span._.long_form` is the span of the long form, or a string where only the list of known ones has it. What is found
    does not depend on the tokenizer; a short form inside a token gives the whole token.

    Args:
        min_precision: the least precision that a definition is expected to have, 0 to 1.
        known: short forms with their long forms, for those that a document does not define itself. These are pairs
            because a config file cannot hold a mapping with keys such as "[Ca2+]i" or "a=b".

    Raises:
        SapbertError: E406 a precision outside 0 to 1, E410 an empty known form.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "abbreviation_resolver",
        *,
        min_precision: float = 0.9,
        known: Iterable[Sequence[str]] = (),
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.min_precision = min_precision
        check_setting(self, "min_precision", 0 <= min_precision <= 1, "from 0 to 1")
        self.known = dict(map(_check_pair, known))
        register()

    def __call__(self, doc: Doc) -> Doc:
        """Find the abbreviations of one document and write them to it."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def predict(self, docs: Iterable[Doc]) -> List[List[AbbreviationOccurrence]]:
        """Return the uses of short forms in each document; the documents stay as they are."""
        return [self._find_uses(doc.text) for doc in docs]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[List[AbbreviationOccurrence]]) -> None:
        """Write to the documents what `predict` found for them, in place of what they had."""
        register()  # scispaCy may have replaced the attributes since
        for doc, occurrences in zip(docs, predictions):
            set_abbreviation_occurrences(doc, occurrences)

    def _find_uses(self, text: str) -> List[AbbreviationOccurrence]:
        return find_occurrences(text, find_definitions(text, min_precision=self.min_precision), self.known)


def _check_pair(pair: Sequence[str]) -> Tuple[str, str]:
    if len(pair) != 2 or not all(map(str.strip, pair)):
        raise SapbertError(Errors.E410.format(entry=pair))
    return pair[0], pair[1]
