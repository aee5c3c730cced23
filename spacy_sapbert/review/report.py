"""Report what corrections say about the linker, and about the reviewers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from operator import eq
from typing import Any

import numpy as np

from ..metrics.calibration import wilson_interval
from ..metrics.counts import percent, ratio
from .corrections import Decision, Decisions, ProposedLink, document_key, text_key
from .corrections_file import CorrectionsFile
from .queue import decision_of, sureness

BANDS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
MOST_CORRECTED = 10
NO_MENTION, REJECTED = "no mention", "rejected"
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
        return NO_MENTION
    return _ids(decision.concept_ids) if decision.concept_ids else REJECTED


def _ids(concept_ids: Sequence[str]) -> str:
    return "|".join(sorted(concept_ids))
