"""Select the concepts to search documents for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..kb.knowledge_base import KnowledgeBase
from ..types import Document


def training_documents(documents: Iterable[Document], kb: KnowledgeBase) -> Counter[str]:
    """Return the number of documents with each concept, by its primary id."""
    counts: Counter[str] = Counter()
    for document in documents:
        ids = {concept_id for mention in document.mentions for concept_id in mention.ids}
        counts.update({primary for concept_id in ids for primary in kb.find_id(concept_id)})
    return counts


def primary_ids(ids: Iterable[str], kb: KnowledgeBase) -> tuple[list[str], int]:
    """Return the primary ids of the concepts, and the number of ids that the knowledge base lacks."""
    found = {concept_id: kb.find_id(concept_id) for concept_id in ids}
    primaries = dict.fromkeys(primary for some in found.values() for primary in some)
    return list(primaries), sum(not some for some in found.values())


def rare_concepts(
    counts: Counter[str], labels: Iterable[str] | None, kb: KnowledgeBase, k: int | None
) -> list[tuple[str, str]]:
    """Return the concepts with fewer than k training documents, and their preferred names.

    Args:
        counts: The number of training documents of each concept.
        labels: Primary ids of the relevant concepts, with or without training documents. None is all concepts with a
            training document; without any, the whole vocabulary.
        kb: The knowledge base.
        k: The number of training documents. None selects all concepts.

    Returns:
        The concepts with the fewest training documents first, then by id.
    """
    wanted = labels if labels is not None else (counts or kb.concept_ids())
    ids = sorted(concept_id for concept_id in wanted if k is None or counts[concept_id] < k)
    return [(concept_id, kb.names_of(concept_id)[0].text) for concept_id in sorted(ids, key=counts.__getitem__)]
