"""Export corrections: as an annotated corpus for training, and as names for `kb build`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ..text.snippets import snippet
from ..text.words import is_acronym
from ..types import Document, Mention
from .correction import ADD, EVERYWHERE, NO_MENTION, OCCURRENCE, Correction, ProposedLink, text_key
from .corrections_file import CorrectionsFile
from .decisions import Decisions
from .queue import decision_of

DEFAULT_LABEL = "CONCEPT"
"""The label of an added mention to which nobody gave one."""
_NO_LINK: dict[str, Any] = {
    **dict.fromkeys(("name", "preferred_name", "score", "probability", "long_form", "reason", "tie"), None),
    **dict.fromkeys(("runner_up", "rejected"), None),
    "types": [],
    "reasons": [],
    "split": False,
}
"""The values of a link that a decision does not have."""
_HEADINGS = ("keep", "name", "id", "matched_name", "similarity", "occurrences")


def reviewed_documents(file: CorrectionsFile, counts: Counter[str], *, complete: bool = False) -> Iterator[Document]:
    """Yield the documents with corrections as a corpus. Its mentions are those that were decided.

    A mention whose concepts were only rejected is one without a concept.

    Args:
        file: The corrections.
        counts: Takes the counts of documents, mentions and undecided mentions.
        complete: Leave out documents with an undecided mention, which an NER would learn to overlook.
    """
    decisions = file.decisions()
    links: dict[str, dict[tuple[int, int], ProposedLink]] = {}
    # a correction from Python can be about a mention that no pipeline has proposed
    for one in file.corrections().values():
        if one.action != ADD:
            corrected = ProposedLink(one.document, one.start, one.end, one.text, one.label)
            links.setdefault(one.document, {})[one.start, one.end] = corrected
    for link in file.links():
        links.setdefault(link.document, {})[link.start, link.end] = link
    for document in file.documents():
        known = [link for link in links.get(document.key, {}).values() if _fits(link, document.text)]
        mentions, undecided = _mentions(document.key, document.text, known, decisions)
        if not mentions and undecided == len(known):
            counts["documents without a correction"] += 1
        elif complete and undecided:
            counts["incomplete documents left out"] += 1
        else:
            counts.update({"documents": 1, "mentions": len(mentions), "undecided mentions left out": undecided})
            yield Document(document.doc_id, document.text, tuple(sorted(mentions)))


def _mentions(key: str, text: str, links: list[ProposedLink], decisions: Decisions) -> tuple[list[Mention], int]:
    """Return the decided mentions of a document, and the number of undecided ones."""
    found: dict[tuple[int, int], Mention] = {}
    undecided = 0
    added = decisions.added(key, text)
    for link in links:
        decision = decision_of(link, decisions, added)
        if decision is None:
            undecided += 1
        elif not decision.is_no_mention:
            ids = decision.concept_ids or ()
            found[link.start, link.end] = Mention(link.start, link.end, link.text, link.label or DEFAULT_LABEL, ids)
    for start, end, label in added:
        decision = decisions.of(key, start, end, text[start:end], label)
        ids = decision.concept_ids or ()
        found.setdefault((start, end), Mention(start, end, text[start:end], label or DEFAULT_LABEL, ids))
    return list(found.values()), undecided


def _fits(link: ProposedLink, text: str) -> bool:
    return text[link.start : link.end] == link.text


def mention_records(documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    """Yield documents as records for `io.outputs.write_records`, with the decided concepts as links."""
    for document in documents:
        entities = [
            {
                "start": one.start,
                "end": one.end,
                "text": one.text,
                "label": one.label,
                "snippet": snippet(document.text, one.start, one.end),
                "assertion": [],
                "kb_id": "|".join(one.ids),
                "kb_ents": [],
                "links": [{**_NO_LINK, "concept_id": each, "text": one.text} for each in one.ids],
            }
            for one in document.mentions
        ]
        yield {"id": document.doc_id, "text": document.text, "entities": entities, "abbreviations": []}


def name_rows(file: CorrectionsFile, counts: Counter[str]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table of names, which `kb build` reads with the sources of the vocabulary.

    A text becomes a name if one concept was decided for it, and the same everywhere. Short forms become names only if a
    correction holds everywhere, since they mean different things in different documents.

    Args:
        file: The corrections.
        counts: Takes the counts of names, and of texts that are left out.
    """
    decisions = file.decisions()
    by_text: dict[str, list[Correction]] = {}
    for correction in file.corrections().values():
        by_text.setdefault(text_key(correction.text), []).append(correction)
    yield _HEADINGS
    for corrections in by_text.values():
        reason = _reason_against(corrections, decisions)
        counts[reason or "names"] += 1
        if not reason:
            last = [one for one in corrections if one.decides and one.concept_ids][-1]
            yield "y", " ".join(last.text.split()), last.concept_ids[0], "", "", str(len(corrections))


def _reason_against(corrections: list[Correction], decisions: Decisions) -> str:
    """Return why a text does not become a name; empty if it does."""
    decided = {one.concept_ids for one in corrections if one.decides and one.concept_ids}
    if not decided:
        return "texts without a decided concept"
    if len(decided) > 1 or any(one.action == NO_MENTION and one.scope != OCCURRENCE for one in corrections):
        return "texts with different decisions"
    (ids,) = decided
    if any(not decisions.of(*one[2:6], one.label).rejected.isdisjoint(ids) for one in corrections):
        return "texts with different decisions"
    if len(ids) > 1:
        return "composites"
    is_short = is_acronym(" ".join(corrections[0].text.split()))
    if is_short and not any(one.scope == EVERYWHERE and one.decides and one.concept_ids for one in corrections):
        return "short forms that were not decided everywhere"
    return ""
