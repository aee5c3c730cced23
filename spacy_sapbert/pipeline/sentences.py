"""The sentences of a document."""

from typing import Iterable

from spacy.pipeline import Sentencizer
from spacy.tokens import Doc


def sentence_starts(doc: Doc) -> Iterable[int]:
    """Return the first token of each sentence: those of the document, or else those of spaCy's rules."""
    if doc.has_annotation("SENT_START"):
        return (sentence.start for sentence in doc.sents)
    (starts,) = Sentencizer().predict([doc])
    return (place for place, is_start in enumerate(starts) if is_start)
