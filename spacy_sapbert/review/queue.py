"""`ReviewQueue`: the mentions that a person should look at first, and which of them are decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ..corrections.correction import Correction, ProposedLink, text_key
from ..corrections.decisions import Decision, Decisions
from .mentions import ReviewMention

Group = Sequence[ReviewMention]
LEAST_DOUBT = 0.01
"""No link is surer than this, so that frequent texts come before rare ones among links that seem sure."""
UNLINKED_DOUBT = 0.5
"""The share of unlinked mentions that are wrong, where the linker is not calibrated."""


def doubt(mention: ReviewMention) -> float:
    """Return an estimate of the probability that a link is wrong, from 0 to 1.

    A calibrated linker gives it. Otherwise, the score takes its place.
    """
    link = mention.link
    if not link.concept_ids:
        return UNLINKED_DOUBT if link.probability is None else max(link.probability, 1 - link.probability)
    sure = link.score if link.probability is None else link.probability
    return 1 - min(max(sure or 0.0, 0.0), 1.0)


def by_expected_errors(group: Group) -> float:
    """Put the texts with the most wrong links first, as far as probabilities tell."""
    return -sum(max(doubt(one), LEAST_DOUBT) for one in group)


def by_probability(group: Group) -> float:
    """Put the least probable links first."""
    return -max(map(doubt, group))


def by_frequency(group: Group) -> float:
    """Put the most frequent texts first."""
    return -len(group)


def by_document(group: Group) -> float:
    """Keep the order of the documents."""
    return 0.0


ORDERS: Mapping[str, Callable[[Group], float]] = {
    "expected-errors": by_expected_errors,
    "probability": by_probability,
    "frequency": by_frequency,
    "document": by_document,
}


class Progress(NamedTuple):
    """How far a review is.

    Attributes:
        decided: The number of mentions that corrections decide.
        mentions: The number of all mentions.
        texts: The number of different texts that are still open.
    """

    decided: int
    mentions: int
    texts: int


class ReviewQueue:
    """The mentions in the order in which a person should look at them.

    Mentions with the same text, label and concepts are one group, since one correction can decide them all. Texts
    that were decided otherwise elsewhere come first: two decisions about one text deserve a look.

    Args:
        mentions: The mentions, in the order of the documents.
        order: Where a group stands; the least value comes first.
    """

    def __init__(self, mentions: Iterable[ReviewMention], order: Callable[[Group], float] = by_expected_errors) -> None:
        self.mentions = list(mentions)
        self._numbers: dict[str, list[int]] = {}
        groups: dict[tuple[object, ...], list[int]] = {}
        for number, one in enumerate(self.mentions):
            self._numbers.setdefault(one.text_key, []).append(number)
            groups.setdefault((one.text_key, one.link.label, one.best), []).append(number)
        self._group_of = {number: numbers for numbers in groups.values() for number in numbers}
        ranked = sorted(groups.values(), key=lambda numbers: order([self.mentions[number] for number in numbers]))
        self._order = list(range(len(self.mentions))) if order is by_document else list(chain.from_iterable(ranked))
        self._labels = {
            key: len({self.mentions[number].link.label for number in numbers}) for key, numbers in self._numbers.items()
        }
        self._corrections: dict[int, Correction] = {}
        self._corpora: Mapping[str, Collection[str]] = {}
        self._decisions = Decisions([], {})
        self._decided: dict[int, Decision] = {}
        self._disagreeing: list[int] = []

    def update(self, corrections: Mapping[int, Correction], corpora: Mapping[str, Collection[str]]) -> None:
        """Take over the corrections as they are now.

        Args:
            corrections: All corrections that were not undone, by number.
            corpora: The corpora of each document, see `Decisions`.
        """
        changed = {
            text_key(one.text)
            for before, after in ((self._corrections, corrections), (corrections, self._corrections))
            for number, one in before.items()
            if number not in after
        }
        if corpora != self._corpora:  # corrections can hold in other documents now
            changed = set(self._numbers)
        self._corrections, self._corpora = dict(corrections), corpora
        self._decisions = Decisions(corrections.values(), corpora)
        for key in changed:
            for number in self._numbers.get(key, ()):
                self._decide(number)
        chosen: dict[str, set[tuple[str, ...]]] = {}
        for one in corrections.values():
            if one.decides:
                chosen.setdefault(text_key(one.text), set()).add(tuple(sorted(one.concept_ids)))
        self._disagreeing = [
            number
            for key, ids in chosen.items()
            for number in self._numbers.get(key, ())
            if number not in self._decided and tuple(sorted(self.mentions[number].best)) not in ids
        ]

    def decision(self, number: int) -> Decision | None:
        """Return what holds for a mention; None if it is open."""
        return self._decided.get(number)

    def disagrees(self, number: int) -> bool:
        """Return whether the mention is open, and its text was decided otherwise elsewhere."""
        return number in self._disagreeing

    def next(self, skip: Container[int] = ()) -> int | None:
        """Return the number of the next open mention; None if there is none.

        Args:
            skip: The numbers of mentions that are not wanted.
        """
        candidates = chain(self._disagreeing, self._order)
        return next((one for one in candidates if one not in self._decided and one not in skip), None)

    def group(self, number: int) -> list[int]:
        """Return the numbers of all mentions with the same text, label and concepts, in the order of the documents."""
        return self._group_of[number]

    def needs_label(self, number: int) -> bool:
        """Return whether the text has several labels, so that a correction must name the label that it holds for."""
        return self._labels[self.mentions[number].text_key] > 1

    @property
    def progress(self) -> Progress:
        """How far the review is."""
        open_groups = {id(self._group_of[number]) for number in self._order if number not in self._decided}
        return Progress(len(self._decided), len(self.mentions), len(open_groups))

    def _decide(self, number: int) -> None:
        found = decision_of(self.mentions[number].link, self._decisions)
        if found:
            self._decided[number] = found
        else:
            self._decided.pop(number, None)


def decision_of(link: ProposedLink, decisions: Decisions) -> Decision | None:
    """Return what decisions say about a mention; None if they leave it open.

    A mention is also decided if all its concepts were rejected. Without a link, the best candidate is one of them.
    """
    found = decisions.of(link.document, link.start, link.end, link.text, link.label)
    is_rejected = bool(found.rejected) and found.rejected.issuperset(link.concept_ids)
    return found if found.correction or is_rejected else None
