"""What becomes of corrections: a corpus, names for `kb build`, decisions for other documents, a report, and an upgrade.

The report says what corrections say about the linker, and about the reviewers. The upgrade carries them over to a new
release of the vocabulary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..kb.knowledge_base import KnowledgeBase
from ..metrics.calibration import wilson_interval
from ..metrics.counts import percent, ratio
from ..text.snippets import snippet
from ..text.words import is_acronym
from ..types import Document, Mention
from .corrections import (
    ADD,
    EVERYWHERE,
    FLAG,
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
from .queue import decision_of, sureness

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
        if correction.action not in (ADD, FLAG):
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
            mention[:3]: decisions.of(key, *mention[:2], text[mention.start : mention.end], mention.label)
            for mention in added
            if mention[:2] not in places
            and not (mention.is_inflected and any(mention.overlaps(link.start, link.end) for link in known))
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
    """Yield documents as records for `outputs.writers.write_records`, with the decided concepts as links."""
    for document in documents:
        entities = [
            {
                "start": mention.start,
                "end": mention.end,
                "text": mention.text,
                "label": mention.label,
                "snippet": snippet(document.text, mention.start, mention.end),
                "assertion": [],
                "drug_state": None,
                "dosage": None,
                "value": None,
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
    for correction in (one for one in file.corrections().values() if one.action != FLAG):
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


# --- the report

BANDS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
MOST_CORRECTED = 10
_NOTHING, REJECTED = "no mention", "rejected"
"""Outcomes of a review besides the ids of concepts."""


def review_report(file: CorrectionsFile) -> dict[str, Any]:
    """Return the measures of a review.

    `corrections` is their number by action, scope and author. `mentions` and `decided` count the mentions, and those
    that corrections decide. `precision` is the share of right links among them, in bands of probability.
    `most_corrected` has the concepts whose links were wrong most often, and `agreement` how often two reviewers decided
    the same.
    """
    corrections = list(file.corrections().values())
    corpora = file.corpora()
    decisions = Decisions(corrections, corpora)
    keyed = ((document_key(document.text), document.text) for document in file.documents())
    added = {key: decisions.added(key, text) for key, text in keyed}
    links = list(file.links())
    decided = [
        (link, decision) for link in links if (decision := decision_of(link, decisions, added.get(link.document, ())))
    ]
    authors = sorted({correction.author for correction in corrections})
    by_author = {
        author: Decisions((correction for correction in corrections if correction.author == author), corpora)
        for author in authors
    }
    return {
        "corrections": {
            field: dict(Counter(getattr(correction, field) for correction in corrections).most_common())
            for field in ("action", "scope", "author")
        },
        "mentions": len(links),
        "decided": len(decided),
        "precision": _precision(decided),
        "most_corrected": _most_corrected(decided),
        "agreement": [
            {"reviewers": list(pair), **_agreement(links, by_author[pair[0]], by_author[pair[1]])}
            for pair in combinations(authors, 2)
        ],
    }


def _precision(decided: Sequence[tuple[ProposedLink, Decision]]) -> list[dict[str, Any]]:
    """Return the share of right links in bands of probability, with its 95 % interval.

    A linker without calibration has no probabilities. Then the bands are those of the score.
    """
    rows = []
    for low, high in pairwise(BANDS):
        is_last = high == BANDS[-1]
        right = [
            _outcome(decision) == _ids(link.concept_ids)
            for link, decision in decided
            if link.concept_ids and low <= sureness(link) and (sureness(link) < high or is_last)
        ]
        if right:
            share, n = np.array([np.mean(right)]), np.array([len(right)])
            least, most = (percent(float(end[0])) for end in wilson_interval(share, n))
            rows.append({"from": low, "to": high, "n": len(right), "p": percent(share[0]), "low": least, "high": most})
    return rows


def _most_corrected(decided: Sequence[tuple[ProposedLink, Decision]]) -> list[dict[str, Any]]:
    """Return the concepts whose links were wrong most often, with what was meant instead."""
    links: Counter[str] = Counter()
    wrong: dict[str, Counter[str]] = {}
    for link, decision in decided:
        if link.concept_ids:
            proposed, outcome = _ids(link.concept_ids), _outcome(decision)
            links[proposed] += 1
            if outcome != proposed:
                wrong.setdefault(proposed, Counter())[outcome] += 1
    ranked = sorted(wrong.items(), key=lambda item: (-item[1].total(), item[0]))[:MOST_CORRECTED]
    return [
        {"id": concept, "wrong": instead.total(), "links": links[concept], "instead": dict(instead.most_common(3))}
        for concept, instead in ranked
    ]


def _agreement(links: Iterable[ProposedLink], first: Decisions, second: Decisions) -> dict[str, Any]:
    """Return how often two reviewers decided the same about a text, and Cohen's kappa (Cohen 1960).

    A text counts once, however often one decision of each applies to it.
    """
    both = set()
    for link in links:
        decision, other = decision_of(link, first), decision_of(link, second)
        if decision and other:
            both.add((text_key(link.text), link.label, _outcome(decision), _outcome(other)))
    ours, theirs = [outcomes[2] for outcomes in both], [outcomes[3] for outcomes in both]
    same = sum(map(eq, ours, theirs))
    agree = percent(ratio(same, len(both))) if both else None
    return {"texts": len(both), "agree": agree, "kappa": _kappa(ours, theirs)}


def _kappa(ours: Sequence[str], theirs: Sequence[str]) -> float | None:
    """Return Cohen's kappa; None without texts, or if chance alone would agree on all of them."""
    n = len(ours)
    first, second = Counter(ours), Counter(theirs)
    by_chance = sum(first[outcome] * second[outcome] for outcome in first) / n**2 if n else 1.0
    same = sum(map(eq, ours, theirs))
    return None if by_chance == 1 else round((same / n - by_chance) / (1 - by_chance), 4)


def _outcome(decision: Decision) -> str:
    """Return what was decided, as a text that can be compared."""
    if decision.is_no_mention:
        return _NOTHING
    return _ids(decision.concept_ids) if decision.concept_ids else REJECTED


def _ids(concept_ids: Sequence[str]) -> str:
    return "|".join(sorted(concept_ids))


# --- a new release of the vocabulary

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
