"""Carry corrections over to a new release of the vocabulary, and report what it changes in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..kb.knowledge_base import KnowledgeBase
from .corrections import document_key
from .corrections_file import CorrectionsFile

REPLACED, DIVIDED, REMOVED, UNKNOWN, RENAMED = "replaced", "divided", "removed", "unknown", "renamed"


class ConceptChange(NamedTuple):
    """What a new release changes in a concept of corrections.

    Attributes:
        change: "replaced" by one concept, "divided" into several, "removed", "unknown" to both releases, or "renamed".
        into: The ids of its concepts in the new release.
        name: The preferred name in the old release; empty without it.
        new_names: The preferred names in the new release.
        corrections: The number of corrections with the concept.
    """

    id: str
    change: str
    into: tuple[str, ...]
    name: str
    new_names: tuple[str, ...]
    corrections: int


def concept_changes(
    file: CorrectionsFile, new: KnowledgeBase, old: KnowledgeBase | None = None
) -> tuple[list[ConceptChange], int]:
    """Return the changes in concepts of corrections, the most corrected first, and the number of other concepts.

    Args:
        old: The release with which the corrections were made. Without it, no concept is unknown or renamed.
    """
    counts = Counter(
        concept_id for correction in file.corrections().values() for concept_id in set(correction.concept_ids)
    )
    changes = []
    for concept_id, n_corrections in counts.most_common():
        into = new.find_id(concept_id)
        into = (concept_id,) if concept_id in into else into
        names = new.labels_of(into)
        new_names = tuple(names[other].preferred for other in into)
        known = old.find_id(concept_id)[:1] if old else ()
        name = old.labels_of(known)[known[0]].preferred if old and known else ""
        if into == (concept_id,):
            change = RENAMED if name and (name,) != new_names else ""
        elif into:
            change = REPLACED if len(into) == 1 else DIVIDED
        else:
            change = UNKNOWN if old and not known else REMOVED
        if change:
            changes.append(ConceptChange(concept_id, change, into, name, new_names, n_corrections))
    return changes, len(counts) - len(changes)


def write_upgraded(file: CorrectionsFile, path: Path, replaced: Mapping[str, str]) -> int:
    """Write corrections to a new file, with the documents and what the pipeline proposed.

    Args:
        replaced: The new ids of replaced concepts. All other ids stay.

    Returns:
        The number of corrections that have a new id.
    """

    def current(concept_ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(replaced.get(concept_id, concept_id) for concept_id in concept_ids))

    new = CorrectionsFile(path, create=True)
    corpora = file.corpora()
    documents: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for document in file.documents():
        for corpus in corpora.get(document_key(document.text), ()):
            documents[corpus].append((document.doc_id, document.text))
    for corpus, pairs in documents.items():
        new.add_documents(pairs, corpus)
    new.set_links((), [link._replace(concept_ids=current(link.concept_ids)) for link in file.links()])
    corrections = list(file.corrections().values())
    upgraded = [item._replace(concept_ids=current(item.concept_ids)) for item in corrections]
    new.add(upgraded)
    return sum(map(tuple.__ne__, corrections, upgraded))
