"""Carry corrections over to a new release of the vocabulary, and report what it changes in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..kb.knowledge_base import KnowledgeBase
from .corrections import document_key
from .corrections_file import CorrectionsFile

SAME, REPLACED, DIVIDED, REMOVED, UNKNOWN, RENAMED = "same", "replaced", "divided", "removed", "unknown", "renamed"


def concept_changes(
    file: CorrectionsFile, new: KnowledgeBase, old: KnowledgeBase | None = None
) -> list[dict[str, Any]]:
    """Return the concepts of corrections, the most frequent first, with what becomes of them in a new release.

    Args:
        old: The release with which the corrections were made. Without it, no concept is unknown or renamed.

    Returns:
        For each concept: "id", "change" (one of the constants above), "into" (its ids in the new release), "name" (in
        the old release), "new_names", and the number of "corrections".
    """
    counts = Counter(one for correction in file.corrections().values() for one in set(correction.concept_ids))
    rows = []
    for concept_id, n_corrections in counts.most_common():
        into = new.find_id(concept_id)
        into = (concept_id,) if concept_id in into else into
        names = [label.preferred for label in new.labels_of(into).values()]
        label = next(iter(old.labels_of(old.find_id(concept_id)[:1]).values()), None) if old else None
        if into == (concept_id,):
            change = RENAMED if label and [label.preferred] != names else SAME
        elif into:
            change = REPLACED if len(into) == 1 else DIVIDED
        else:
            change = UNKNOWN if old and not label else REMOVED
        row = {"id": concept_id, "change": change, "into": list(into), "name": label.preferred if label else ""}
        rows.append({**row, "new_names": names, "corrections": n_corrections})
    return rows


def write_upgraded(file: CorrectionsFile, path: Path, replaced: Mapping[str, str]) -> int:
    """Write corrections with new ids to a new file, with the documents and what the pipeline proposed.

    Returns:
        The number of corrections that changed.
    """

    def upgraded(item: Any) -> Any:
        ids = (replaced.get(concept_id, concept_id) for concept_id in item.concept_ids)
        return item._replace(concept_ids=tuple(dict.fromkeys(ids)))

    new, corpora = CorrectionsFile(path, create=True), file.corpora()
    documents: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for document in file.documents():
        for corpus in corpora.get(document_key(document.text), ()):
            documents[corpus].append((document.doc_id, document.text))
    for corpus, pairs in documents.items():
        new.add_documents(pairs, corpus)
    new.set_links((), map(upgraded, file.links()))
    corrections = list(file.corrections().values())
    new.add(map(upgraded, corrections))
    return sum(correction != upgraded(correction) for correction in corrections)
