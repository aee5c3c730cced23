"""The gold concepts of whole documents."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from ..kb.knowledge_base import KnowledgeBase
from ..types import NIL, Document, Mention, has_type


def primary_id(concept_id: str, kb: KnowledgeBase) -> str:
    """Return the primary id for a primary or alternative id. An id outside the vocabulary is returned unchanged."""
    return next(iter(kb.find_id(concept_id)), concept_id)


def gold_of(document: Document, primary: Callable[[str], str], type: str | None = None) -> dict[str, list[Mention]]:
    """Return the gold concepts of a document by primary id, each with its mentions.

    A composite mention counts for each of its concepts.

    Args:
        document: The document.
        primary: Returns the primary id for any id.
        type: Use only mentions with this label.
    """
    gold: dict[str, list[Mention]] = defaultdict(list)
    for mention in document.mentions:
        if type is None or has_type(mention.label, [type]):
            for concept_id in dict.fromkeys(primary(one) for one in mention.ids if one != NIL):
                gold[concept_id].append(mention)
    return dict(gold)


def documents_by_concept(documents: Iterable[Document], primary: Callable[[str], str]) -> Counter[str]:
    """Return the number of documents that contain each concept."""
    return Counter(concept_id for document in documents for concept_id in gold_of(document, primary))


def is_named(concept_id: str, mentions: Iterable[Mention], kb: KnowledgeBase) -> bool:
    """Return whether a mention of the concept equals one of its names, ignoring case.

    Names that come from annotated corpora do not count, because the vocabulary does not contain them.
    """
    names = {name.text.lower() for name in kb.names_of(concept_id) if name.scope != "mention"}
    return any(mention.text.lower() in names for mention in mentions)
