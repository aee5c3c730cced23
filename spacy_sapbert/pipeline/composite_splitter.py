"""`composite_splitter`: offers readings of composite mentions, for the linker to choose from."""

from typing import Iterable, List, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..text.abbreviations import AbbreviationOccurrence, expand
from ..text.composites import composite_splits
from .attributes import get_abbreviation_occurrences, get_composite_splits, register, set_composite_splits
from .mentions import mentions_of
from .settings import check_setting

Readings = List[Tuple[str, ...]]


@Language.factory(
    "composite_splitter",
    assigns=["span._.composite_splits"],
    default_config={"spans_key": None, "max_splits": 6},
)
def make_composite_splitter(
    nlp: Language, name: str, spans_key: Optional[str], max_splits: int
) -> "CompositeSplitter":
    return CompositeSplitter(nlp.vocab, name, spans_key=spans_key, max_splits=max_splits)


class CompositeSplitter(Pipe):
    """Writes what a composite mention may stand for to `span._.composite_splits`, the most plausible reading first.

    A reading is a tuple of texts, one for each single mention: ("breast cancer", "ovarian cancer"). Where the document
    has resolved abbreviations, the readings of the expanded mention come first. A mention without a connector has
    none.

    Args:
        spans_key: the span group with the mentions; None for `doc.ents`.
        max_splits: at most so many readings of the mention as it stands, and of the expanded one.

    Raises:
        SapbertError: E406 `max_splits` is less than 1.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "composite_splitter",
        *,
        spans_key: Optional[str] = None,
        max_splits: int = 6,
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.spans_key = spans_key
        self.max_splits = max_splits
        check_setting(self, "max_splits", max_splits >= 1, "at least 1")
        register()

    def __call__(self, doc: Doc) -> Doc:
        """Find the readings of one document's mentions and write them to it."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def predict(self, docs: Iterable[Doc]) -> List[List[Readings]]:
        """Return `List[List[Readings]]`: for each document the readings of each mention; the documents stay as is."""
        return [self._readings_of(doc) for doc in docs]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[List[Readings]]) -> None:
        """Write to the mentions what `predict` found for them, in place of what they had."""
        register()  # scispaCy may have replaced the attributes since
        for doc, found in zip(docs, predictions):
            for mention, its_readings in zip(mentions_of(doc, self.spans_key), found):
                if its_readings or get_composite_splits(mention):
                    set_composite_splits(mention, its_readings)

    def _readings_of(self, doc: Doc) -> List[Readings]:
        text, occurrences = doc.text, get_abbreviation_occurrences(doc)
        return [self._readings(mention, text, occurrences) for mention in mentions_of(doc, self.spans_key)]

    def _readings(self, mention: Span, text: str, occurrences: Sequence[AbbreviationOccurrence]) -> Readings:
        forms = [mention.text]
        if occurrences:
            forms.insert(0, expand(text, mention.start_char, mention.end_char, occurrences))
        offered = (reading for form in forms for reading in composite_splits(form, max_splits=self.max_splits))
        return list(dict.fromkeys(offered))
