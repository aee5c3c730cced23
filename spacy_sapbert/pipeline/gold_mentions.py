"""Gold mentions: how a pipeline gets them, and what a linker is trained on."""

from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, Optional, Tuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..documents.docs import to_doc
from ..documents.examples import add_gold_mentions
from ..kb.ids import split_ids
from ..types import NIL, Document
from .mentions import mentions_of

Place = Tuple[int, int, str]
GOLD_SPANS = "gold"
"""The span group of given mentions. Unlike `doc.ents`, it can hold mentions that overlap."""


def gold_doc(nlp: Language, document: Document) -> Doc:
    """Return a Doc with the mentions of a document as the span group `GOLD_SPANS`. Tokens are split at their ends."""
    return to_doc(nlp, document, spans_key=GOLD_SPANS, split_tokens=True)


@contextmanager
def on_spans(components: Iterable[Any], spans_key: Optional[str]) -> Iterator[None]:
    """Let components work on a given span group, whatever their own setting.

    Args:
        components: The components.
        spans_key: The span group with the gold mentions. None is `doc.ents`.
    """
    before = [(component, component.spans_key) for component in components if hasattr(component, "spans_key")]
    try:
        for component, _ in before:
            component.spans_key = spans_key
        yield
    finally:
        for component, own_key in before:
            component.spans_key = own_key


def gold_ids(reference: Doc, spans_key: Optional[str]) -> Dict[Place, Tuple[str, ...]]:
    """Return the ids of the mentions that have any, by characters and label."""
    ids = {place_of(mention): split_ids(mention.kb_id_) for mention in mentions_of(reference, spans_key)}
    return {place: found for place, found in ids.items() if found and found != (NIL,)}


def with_gold_mentions(example: Example, spans_key: Optional[str]) -> Doc:
    """Return the predicted document, or a copy with the gold mentions if it has no mentions."""
    doc = example.predicted
    if mentions_of(doc, spans_key):
        return doc
    doc = doc.copy()
    add_gold_mentions(doc, example.reference, spans_key)
    return doc


def place_of(mention: Span) -> Place:
    """Return the characters and the label of a mention."""
    return mention.start_char, mention.end_char, mention.label_
