"""What a linker learns from: the gold mentions of examples."""

from collections import Counter
from typing import TYPE_CHECKING, Callable, Dict, Iterator, Optional, Sequence, Tuple

from spacy.tokens import Doc, Span
from spacy.training import Example

from ..corpora.examples import add_gold_mentions
from ..kb.ids import split_ids
from ..types import NIL
from .mentions import mentions_of

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..linking.candidates import Filter
    from ..linking.variants import MentionVariants
    from ..training.biosyn import TrainingMention

Forms = Callable[[Doc], Sequence["MentionVariants"]]


def training_mentions(
    examples: Sequence[Example],
    spans_key: Optional[str],
    forms_of: Forms,
    filter_of: Callable[[Span], "Filter"],
    kb: "KnowledgeBase",
    counts: "Counter[str]",
) -> Iterator["TrainingMention"]:
    """Gold mentions with their concepts: the long form where there is one, and the parts of a composite.

    The parts of the first reading with as many parts as there are ids take these in order.

    forms_of, filter_of: give the forms of a document's mentions, and the filter of a mention.
    counts (Counter[str]): of what is left out, by cause.
    """
    from ..training.biosyn import TrainingMention

    for example in examples:
        doc = with_gold_mentions(example, spans_key)
        gold = gold_ids(example.reference, spans_key)
        for mention, form in zip(mentions_of(doc, spans_key), forms_of(doc)):
            ids = gold.get(place_of(mention), ())
            for text, concept_id in _named(form, ids, counts):
                concepts = frozenset(kb.concept_rows(concept_id))
                counts["ids that the vocabulary lacks"] += not concepts
                if concepts:
                    yield TrainingMention(text, concepts, filter_of(mention))


def gold_ids(reference: Doc, spans_key: Optional[str]) -> Dict[Tuple[int, int, str], Tuple[str, ...]]:
    """RETURNS (Dict): the ids of the mentions that have some, by characters and label."""
    ids = {place_of(mention): split_ids(mention.kb_id_) for mention in mentions_of(reference, spans_key)}
    return {place: found for place, found in ids.items() if found and found != (NIL,)}


def with_gold_mentions(example: Example, spans_key: Optional[str]) -> Doc:
    """RETURNS (Doc): the predicted document, or a copy with the gold mentions where nothing has found any in it."""
    doc = example.predicted
    if mentions_of(doc, spans_key):
        return doc
    doc = doc.copy()
    add_gold_mentions(doc, example.reference, spans_key)
    return doc


def _named(form: "MentionVariants", ids: Sequence[str], counts: "Counter[str]") -> Iterator[Tuple[str, str]]:
    """YIELDS (Tuple[str, str]): texts and the ids that are right for them."""
    if len(ids) == 1:
        yield form.long_form or form.text, ids[0]
    elif ids:
        reading = next((reading for reading in form.composite_splits if len(reading) == len(ids)), ())
        counts["composites without as many parts as ids"] += not reading
        yield from zip(reading, ids)


def place_of(mention: Span) -> Tuple[int, int, str]:
    """RETURNS (Tuple[int, int, str]): characters and label."""
    return mention.start_char, mention.end_char, mention.label_
