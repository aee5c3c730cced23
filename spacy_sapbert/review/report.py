"""Report what corrections say about the linker, and about the reviewers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from ..metrics.calibration import wilson_interval
from ..metrics.counts import percent, ratio
from .correction import ProposedLink, text_key
from .corrections_file import CorrectionsFile
from .decisions import Decision, Decisions
from .queue import decision_of

BANDS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
MOST_CORRECTED = 10
NO_MENTION, REJECTED = "no mention", "rejected"
"""Outcomes of a review besides the ids of concepts."""


def review_report(file: CorrectionsFile) -> dict[str, Any]:
    """Return the measures of a review.

    Returns:
        `corrections`: the number by action, scope and author. `mentions` and `decided`: the number of mentions, and of
        those that corrections decide. `precision`: how many of the decided links are right, in bands of their
        probability. `most_corrected`: the concepts whose links were wrong most often. `agreement`: how often two
        reviewers decided the same.
    """
    corrections = list(file.corrections().values())
    corpora = file.corpora()
    decisions = Decisions(corrections, corpora)
    added = {one.key: decisions.added(one.key, one.text) for one in file.documents()}
    found = ((link, decision_of(link, decisions, added.get(link.document, ()))) for link in file.links())
    decided = [(link, decision) for link, decision in found if decision]
    authors = sorted({one.author for one in corrections})
    by_author = {author: Decisions((one for one in corrections if one.author == author), corpora) for author in authors}
    return {
        "corrections": {
            of: dict(Counter(getattr(one, of) for one in corrections).most_common())
            for of in ("action", "scope", "author")
        },
        "mentions": sum(1 for _ in file.links()),
        "decided": len(decided),
        "precision": _precision(decided),
        "most_corrected": _most_corrected(decided),
        "agreement": [
            {"reviewers": list(pair), **_agreement(file, by_author[pair[0]], by_author[pair[1]])}
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
            _outcome(found) == _ids(link.concept_ids)
            for link, found in decided
            if link.concept_ids and low <= _sureness(link) and (_sureness(link) < high or is_last)
        ]
        if right:
            share, n = np.array([np.mean(right)]), np.array([len(right)])
            least, most = (percent(float(end[0])) for end in wilson_interval(share, n))
            rows.append({"from": low, "to": high, "n": len(right), "p": percent(share[0]), "low": least, "high": most})
    return rows


def _sureness(link: ProposedLink) -> float:
    sureness = link.score if link.probability is None else link.probability
    return max(sureness or 0.0, 0.0)


def _most_corrected(decided: Sequence[tuple[ProposedLink, Decision]]) -> list[dict[str, Any]]:
    """Return the concepts whose links were wrong most often, with what was meant instead."""
    links: Counter[str] = Counter()
    wrong: dict[str, Counter[str]] = {}
    for link, found in decided:
        if link.concept_ids:
            proposed, outcome = _ids(link.concept_ids), _outcome(found)
            links[proposed] += 1
            if outcome != proposed:
                wrong.setdefault(proposed, Counter())[outcome] += 1
    ranked = sorted(wrong.items(), key=lambda item: (-item[1].total(), item[0]))[:MOST_CORRECTED]
    return [
        {"id": concept, "wrong": instead.total(), "links": links[concept], "instead": dict(instead.most_common(3))}
        for concept, instead in ranked
    ]


def _agreement(file: CorrectionsFile, first: Decisions, second: Decisions) -> dict[str, Any]:
    """Return how often two reviewers decided the same about a text, and Cohen's kappa (Cohen 1960).

    A text counts once, however often one decision of each applies to it.
    """
    both = sorted({outcomes for link in file.links() for outcomes in _both(link, first, second)})
    ours, theirs = [one[2] for one in both], [one[3] for one in both]
    same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    return {
        "texts": len(both),
        "agree": percent(ratio(same, len(both))) if both else None,
        "kappa": _kappa(ours, theirs),
    }


def _both(link: ProposedLink, first: Decisions, second: Decisions) -> Iterator[tuple[str, str, str, str]]:
    one, other = decision_of(link, first), decision_of(link, second)
    if one and other:
        yield text_key(link.text), link.label, _outcome(one), _outcome(other)


def _kappa(ours: Sequence[str], theirs: Sequence[str]) -> float | None:
    """Return Cohen's kappa; None without texts, or if chance alone would agree on all of them."""
    n = len(ours)
    first, second = Counter(ours), Counter(theirs)
    by_chance = sum(first[outcome] * second[outcome] for outcome in first) / n**2 if n else 1.0
    same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    return None if by_chance == 1 else round((same / n - by_chance) / (1 - by_chance), 4)


def _outcome(found: Decision) -> str:
    """Return what was decided, as a text that can be compared."""
    if found.is_no_mention:
        return NO_MENTION
    return _ids(found.concept_ids) if found.concept_ids else REJECTED


def _ids(concept_ids: Sequence[str]) -> str:
    return "|".join(sorted(concept_ids))
