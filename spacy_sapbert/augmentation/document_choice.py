"""Choose the concepts to search for, and documents for each concept from the results of the search."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..kb.knowledge_base import KnowledgeBase
from ..types import Document
from .documents import EvaluationSets, SourceDocument
from .search import DocumentSearch, Hit

POOL = 4
"""The search requests this many times more documents than are taken, so that there is a choice."""


@dataclass
class Choice:
    """Documents, and the concepts that they were chosen for.

    Attributes:
        documents: The documents by the key of the search.
        concepts: The concept ids that each document was chosen for.
        counts: The counts `searched` (concepts), `found_nothing` (concepts without documents), `excluded_by_…`
            (documents in evaluation sets) and `passed_over`. `passed_over` counts documents that were replaced by one
            with fewer concepts.
    """

    documents: dict[str, SourceDocument] = field(default_factory=dict)
    concepts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)


def choose(
    concepts: Iterable[tuple[str, str]],
    search: DocumentSearch,
    exclude: EvaluationSets,
    *,
    limit: int = 50,
    diverse: bool = True,
) -> Choice:
    """Search for each concept, and choose documents for it.

    Args:
        concepts: Concept ids and names.
        search: The search.
        exclude: The evaluation sets to leave out.
        limit: The maximum number of documents per concept.
        diverse: Prefer documents chosen for the fewest other concepts, among those with all words of the name.
            Otherwise, keep the order of the search.
    """
    choice = Choice()
    excluded: dict[str, str] = {}
    for concept_id, name in concepts:
        choice.counts["searched"] += 1
        hits = search.find(name, limit * POOL if diverse else limit)
        taken = _take(_in_order(hits, choice if diverse else None), limit, search, exclude, choice, excluded)
        choice.counts["found_nothing"] += not taken
        left = [hit for hit in hits[:limit] if hit.key not in excluded and hit.key not in taken]
        choice.counts["passed_over"] += len(left)
        for key in taken:
            choice.concepts[key].append(concept_id)
    for reason in excluded.values():
        choice.counts[f"excluded_by_{reason}"] += 1
    return choice


def _in_order(hits: Sequence[Hit], used: Choice | None) -> list[str]:
    occurrences = {hit.key: len(used.concepts.get(hit.key, ())) if used else 0 for hit in hits}
    return [hit.key for hit in sorted(hits, key=lambda hit: (not hit.whole, occurrences[hit.key]))]


def _take(
    keys: Sequence[str],
    limit: int,
    search: DocumentSearch,
    exclude: EvaluationSets,
    choice: Choice,
    excluded: dict[str, str],
) -> list[str]:
    """Return the first keys of documents that have a text and are in no evaluation set."""
    taken: list[str] = []
    waiting = [key for key in keys if key not in excluded]
    while waiting and len(taken) < limit:
        some, waiting = waiting[: limit - len(taken)], waiting[limit - len(taken) :]
        known = choice.documents
        fetched = search.fetch([key for key in some if key not in known])
        for key in some:
            document = known.get(key) or fetched.get(key)
            if document is None:
                continue
            if overlap := exclude.overlap(document):
                excluded[key] = overlap
                continue
            known[key] = document
            taken.append(key)
    return taken


# --- the concepts to search for


def training_documents(documents: Iterable[Document], kb: KnowledgeBase) -> Counter[str]:
    """Return the number of documents with each concept, by its primary id."""
    counts: Counter[str] = Counter()
    for document in documents:
        ids = {concept_id for mention in document.mentions for concept_id in mention.ids}
        counts.update({primary for concept_id in ids for primary in kb.find_id(concept_id)})
    return counts


def primary_ids(ids: Iterable[str], kb: KnowledgeBase) -> tuple[list[str], int]:
    """Return the primary ids of the concepts, and the number of ids that the knowledge base lacks."""
    by_id = {concept_id: kb.find_id(concept_id) for concept_id in ids}
    primaries = dict.fromkeys(primary for concepts in by_id.values() for primary in concepts)
    return list(primaries), sum(not concepts for concepts in by_id.values())


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
    relevant = labels if labels is not None else (counts or kb.concept_ids())
    ids = sorted(concept_id for concept_id in relevant if k is None or counts[concept_id] < k)
    return [(concept_id, kb.names_of(concept_id)[0].text) for concept_id in sorted(ids, key=counts.__getitem__)]
