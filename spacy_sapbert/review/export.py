"""Export corrections: as an annotated corpus, as names for `kb build`, and as decisions for other documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..text.snippets import snippet
from ..text.words import is_acronym
from ..types import Document, Mention
from .corrections import (
    ADD,
    EVERYWHERE,
    NO_MENTION,
    OCCURRENCE,
    REJECT,
    Correction,
    Decision,
    Decisions,
    ProposedLink,
    document_key,
    text_key,
)
from .corrections_file import CorrectionsFile
from .queue import decision_of

DEFAULT_LABEL = "CONCEPT"
"""The label of an added mention to which nobody gave one."""
_WITHOUT = ("name", "preferred_name", "score", "probability", "long_form", "reason", "tie", "runner_up", "rejected")
_NO_LINK: dict[str, Any] = {**dict.fromkeys(_WITHOUT), "types": [], "reasons": [], "split": False}
"""The values of a link that a decision does not have."""
_HEADINGS = ("keep", "name", "id", "matched_name", "similarity", "occurrences")


class ReviewedDocument(NamedTuple):
    """A document of a review.

    Attributes:
        decided: What was decided about its mentions, and about those that were added, by start, end and label.
        undecided: The number of its mentions that are open.
    """

    document: Document
    decided: Mapping[tuple[int, int, str], Decision]
    undecided: int


def reviewed(file: CorrectionsFile) -> Iterator[ReviewedDocument]:
    """Yield all documents of a review, with what was decided about their mentions."""
    decisions = file.decisions()
    links: dict[str, dict[tuple[int, int], ProposedLink]] = {}
    # a correction from Python can be about a mention that no pipeline has proposed
    for correction in file.corrections().values():
        if correction.action != ADD:
            corrected = ProposedLink(*correction[2:6], correction.label)
            links.setdefault(corrected.document, {})[corrected.start, corrected.end] = corrected
    for link in file.links():
        links.setdefault(link.document, {})[link.start, link.end] = link
    for document in file.documents():
        key, text = document_key(document.text), document.text
        known = [link for link in links.get(key, {}).values() if text[link.start : link.end] == link.text]
        added = decisions.added(key, text)
        both = {(link.start, link.end, link.label): decision_of(link, decisions, added) for link in known}
        decided = {place: decision for place, decision in both.items() if decision is not None}
        places = {place[:2] for place in decided}
        decided |= {
            mention: decisions.of(key, *mention[:2], text[mention.start : mention.end], mention.label)
            for mention in added
            if mention[:2] not in places
        }
        yield ReviewedDocument(document, decided, sum(decision is None for decision in both.values()))


def reviewed_documents(file: CorrectionsFile, counts: Counter[str], *, complete: bool = False) -> Iterator[Document]:
    """Yield the documents with corrections as a corpus. Its mentions are those that were decided.

    A mention whose concepts were only rejected is one without a concept. `complete` leaves out documents with an
    undecided mention, which an NER would learn to overlook. `counts` takes the numbers of documents, mentions and
    undecided mentions.
    """
    for document, decided, undecided in reviewed(file):
        mentions = [
            Mention(start, end, document.text[start:end], label or DEFAULT_LABEL, decision.concept_ids or ())
            for (start, end, label), decision in sorted(decided.items())
            if not decision.is_no_mention
        ]
        if not decided:
            counts["documents without a correction"] += 1
        elif complete and undecided:
            counts["incomplete documents left out"] += 1
        else:
            counts.update({"documents": 1, "mentions": len(mentions), "undecided mentions left out": undecided})
            yield document._replace(mentions=tuple(mentions))


def general_decisions(corrections: Iterable[Correction], corpora: Mapping[str, Collection[str]]) -> list[Correction]:
    """Return corrections in their order, so that what was decided for a corpus holds in all documents.

    This is not so for short forms, which mean different things in different documents, and for texts with different
    decisions. `corpora` has the corpora of each document, by its key.
    """
    given = list(corrections)
    latest: dict[str, dict[tuple[str, ...], tuple[bool, tuple[str, ...]]]] = {}
    for correction in given:
        if correction.scope != OCCURRENCE and correction.action != REJECT:
            within = [] if correction.scope == EVERYWHERE else sorted(corpora.get(correction.document, ()))
            decision = correction.action == NO_MENTION, correction.concept_ids
            latest.setdefault(text_key(correction.text), {})[(correction.label, *within)] = decision
    differing = {key for key, decisions in latest.items() if len({*decisions.values()}) > 1}

    def stays(correction: Correction) -> bool:
        key = text_key(correction.text)
        return correction.scope == OCCURRENCE or is_acronym(key) or key in differing

    return [correction if stays(correction) else correction._replace(scope=EVERYWHERE) for correction in given]


def mention_records(documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    """Yield documents as records for `io.outputs.write_records`, with the decided concepts as links."""
    for document in documents:
        entities = [
            {
                "start": mention.start,
                "end": mention.end,
                "text": mention.text,
                "label": mention.label,
                "snippet": snippet(document.text, mention.start, mention.end),
                "assertion": [],
                "section": None,
                "kb_id": "|".join(mention.ids),
                "kb_ents": [],
                "links": [{**_NO_LINK, "concept_id": concept_id, "text": mention.text} for concept_id in mention.ids],
            }
            for mention in document.mentions
        ]
        yield {"id": document.doc_id, "text": document.text, "entities": entities, "abbreviations": []}


def name_rows(file: CorrectionsFile, counts: Counter[str]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table of names, which `kb build` reads with the sources of the vocabulary.

    A text becomes a name if one concept was decided for it, and the same everywhere. Short forms become names only if a
    correction holds everywhere, since they mean different things in different documents. `counts` takes the numbers of
    names, and of texts that are left out.
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
            last = [correction for correction in corrections if correction.decides and correction.concept_ids][-1]
            yield "y", " ".join(last.text.split()), last.concept_ids[0], "", "", str(len(corrections))


def _reason_against(corrections: list[Correction], decisions: Decisions) -> str:
    """Return why a text does not become a name; empty if it does."""
    decided = {correction.concept_ids for correction in corrections if correction.decides and correction.concept_ids}
    if not decided:
        return "texts without a decided concept"
    if len(decided) > 1 or any(
        correction.action == NO_MENTION and correction.scope != OCCURRENCE for correction in corrections
    ):
        return "texts with different decisions"
    (ids,) = decided
    if any(not decisions.of(*correction[2:6], correction.label).rejected.isdisjoint(ids) for correction in corrections):
        return "texts with different decisions"
    if len(ids) > 1:
        return "composites"
    is_short = is_acronym(" ".join(corrections[0].text.split()))
    if is_short and not any(
        correction.scope == EVERYWHERE and correction.decides and correction.concept_ids for correction in corrections
    ):
        return "short forms that were not decided everywhere"
    return ""
