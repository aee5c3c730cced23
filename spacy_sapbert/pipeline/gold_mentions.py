"""Gold mentions of examples, on which a linker is trained."""

from typing import Dict, Optional, Tuple

from spacy.tokens import Doc, Span
from spacy.training import Example

from ..corpora.examples import add_gold_mentions
from ..kb.ids import split_ids
from ..types import NIL
from .mentions import mentions_of

Place = Tuple[int, int, str]


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
