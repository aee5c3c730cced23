"""`ReviewQueue`: the mentions that a person should look at first, why, and which of them are decided."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import BadRecordError
from ..files.opening import open_text
from ..files.values import parse_json
from ..text.inflections import inflections, same_start
from ..text.languages import ENGLISH, LANGUAGES, rules_of
from ..text.normalize import plain
from ..text.words import case_counts, is_acronym, is_general
from .corrections import (
    ADD,
    NO_MENTION,
    OCCURRENCE,
    Added,
    Correction,
    Decision,
    Decisions,
    ProposedLink,
    document_key,
    forms_of,
    text_key,
)

Record = Mapping[str, Any]
SHORT_FORM = "a short form that the document does not define"
GENERAL = "a general word"
CASE = "the name is in capitals"
OTHER_WORDS = "other words than the name"
NEAR = "another concept is nearly as probable"
WRONG_ELSEWHERE = "another text with this link was wrong"
SHARES: Mapping[str, float] = MappingProxyType({SHORT_FORM: 0.5, CASE: 0.2, OTHER_WORDS: 0.2, NEAR: 0.2, GENERAL: 0.05})
"""The share of each kind that is wrong, apart from what the probability says.

Chosen on training and development documents of NCBI Disease, BC5CDR (diseases and chemicals), NLM-Gene and on notes.
"""
OFTEN = 0.2
"""A kind with a smaller share is not shown to the reviewer."""
IMPROBABLE = 3
"""Links with probabilities from 0.5 to 0.9 are wrong about so many times as often as these say."""
ELSEWHERE = 0.5
"""The share of what is doubtful or not where decisions about other texts with the same link say the contrary."""
NEAR_PROBABILITY = 0.2
USUAL = 0.2
"""With a greater share of short forms among the texts of a label, they are its usual names, such as gene symbols."""


class ReviewMention(NamedTuple):
    """A mention to review: what the pipeline made of it, with the candidates and reasons of its record.

    Attributes:
        best: The linked concepts. If there are none, the best candidate, if any.
        doubts: The kinds of links that are wrong more often than their probability says, see `doubts`.
        elsewhere: How many other texts with this link were right, less those that were wrong.
    """

    doc_id: str
    link: ProposedLink
    entity: Record
    best: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    elsewhere: int = 0

    @property
    def often_wrong(self) -> list[str]:
        """Its doubts, without those that are seldom justified."""
        return [kind for kind in self.doubts if SHARES[kind] >= OFTEN] + [WRONG_ELSEWHERE] * (self.elsewhere < 0)


def review_mentions(record: Record) -> Iterator[ReviewMention]:
    """Yield the mentions of a record (see `outputs.records.record_of`), in the order of the text."""
    key = document_key(record["text"])
    for entity in record["entities"]:
        links = entity["links"]
        linked = tuple(dict.fromkeys(link["concept_id"] for link in links if link["concept_id"]))
        rejected = tuple(dict.fromkeys(link["rejected"]["concept_id"] for link in links if link["rejected"]))
        proposed = ProposedLink(
            key,
            entity["start"],
            entity["end"],
            entity["text"],
            entity["label"],
            linked,
            _lowest(link["probability"] for link in links),
            _lowest(link["score"] for link in links),
        )
        yield ReviewMention(record["id"], proposed, entity, linked or rejected)


def _lowest(values: Iterator[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def read_links(path: Path) -> Iterator[Record]:
    """Read the records that `spacy-sapbert link` wrote as JSON lines."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = parse_json(line)
                for mention in review_mentions(record):
                    link = mention.link
                    if not link.text or link.start < 0 or record["text"][link.start : link.end] != link.text:
                        raise ValueError(f"the text has no {link.text!r} at {link.start}")
            except (LookupError, ValueError, TypeError, AttributeError) as error:
                reason = f"there is no {error}" if isinstance(error, KeyError) else error
                remedy = "Give the JSON lines that `spacy-sapbert link` wrote, or a pipeline and documents."
                raise BadRecordError(remedy, path=path, line=number, reason=reason) from error
            yield dict(record)


Group = Sequence[ReviewMention]
COVERED = Decision(Correction(NO_MENTION, OCCURRENCE, "", 0, 1, "an added mention takes its place"), frozenset())
"""What holds for a mention that an added one overlaps."""
LEAST_DOUBT = 0.01
"""No link is surer than this, so that frequent texts come before rare ones among links that seem sure."""
UNLINKED_DOUBT = 0.5
"""The share of unlinked mentions that are wrong, where the linker is not calibrated."""


def sureness(link: ProposedLink) -> float:
    """Return the probability of a link, or else its score, from 0 on."""
    return max((link.score if link.probability is None else link.probability) or 0.0, 0.0)


def improbability(mention: ReviewMention) -> float:
    """Return the probability that a link is wrong, from 0 to 1, as far as the linker tells."""
    link = mention.link
    if not link.concept_ids:
        return UNLINKED_DOUBT if link.probability is None else max(link.probability, 1 - link.probability)
    return 1 - min(sureness(link), 1.0)


def doubt(mention: ReviewMention) -> float:
    """Return an estimate of the probability that a link is wrong, from 0 to 1, with the kinds of doubt."""
    is_calibrated = mention.link.concept_ids and mention.link.probability is not None
    right = (1 - improbability(mention)) ** (IMPROBABLE if is_calibrated else 1)
    right *= math.prod(1 - SHARES[kind] for kind in mention.doubts) * (ELSEWHERE if mention.elsewhere < 0 else 1)
    return (1 - right) * (ELSEWHERE if mention.elsewhere > 0 else 1)


def by_expected_errors(group: Group) -> float:
    """Put the most doubtful texts first, and frequent ones before rare ones, but less than in proportion."""
    return -sum(max(doubt(mention), LEAST_DOUBT) for mention in group) / math.sqrt(len(group))


def by_document(group: Group) -> float:
    """Keep the order of the documents."""
    return 0.0


ORDERS: Mapping[str, Callable[[Group], float]] = {
    "expected-errors": by_expected_errors,
    "probability": lambda group: -max(map(improbability, group)),  # the least probable links first
    "frequency": lambda group: -len(group),  # the most frequent texts first
    "document": by_document,
}


class Progress(NamedTuple):
    """How far a review is: the decided mentions, all mentions, and the different texts that are still open."""

    decided: int
    mentions: int
    texts: int


class ReviewQueue:
    """The mentions in the order in which a person should look at them.

    Mentions with the same label and concepts are one group if their texts are inflections of each other, since one
    correction can decide them all. Texts that were decided otherwise elsewhere come first: two decisions about one text
    deserve a look. An added mention replaces those that it overlaps.

    Args:
        order: The rank of a group; the least value comes first.
        texts: The texts of the documents, by key.
        language: The code of the language of the texts.
    """

    def __init__(
        self,
        mentions: Iterable[ReviewMention],
        order: Callable[[Group], float] = by_expected_errors,
        texts: Mapping[str, str] | None = None,
        language: str = ENGLISH.code,
    ) -> None:
        self._rules = rules_of(language) if language in LANGUAGES else ENGLISH
        given = list(mentions)
        doubts = doubts_of(given, language)
        self.mentions = [mention._replace(doubts=kinds) for mention, kinds in zip(given, doubts, strict=True)]
        self._texts = dict(texts or {})
        self._added: dict[str, list[Added]] = {}
        self._of_document: dict[str, list[int]] = {}
        self._numbers: dict[str, list[int]] = {}
        self._labels: dict[str, set[str]] = {}
        self._with_link: dict[tuple[str, ...], list[int]] = {}
        groups: dict[tuple[object, ...], list[int]] = {}
        for number, mention in enumerate(self.mentions):
            key = self.key(number)
            for form in {key, text_key(mention.link.text)}:
                self._numbers.setdefault(form, []).append(number)
            self._labels.setdefault(key, set()).add(mention.link.label)
            self._of_document.setdefault(mention.link.document, []).append(number)
            groups.setdefault((key, mention.link.label, mention.best), []).append(number)
            self._with_link.setdefault(mention.link.concept_ids, []).append(number)
        self._group_of = {number: numbers for numbers in groups.values() for number in numbers}
        self._rank, self._ranks = order, dict[int, float]()
        self._sums: Counter[tuple[str, ...]] = Counter()
        self._rank_groups(range(len(self.mentions)))
        self._corrections: dict[int, Correction] = {}
        self._corpora: Mapping[str, Collection[str]] = {}
        self.decisions = Decisions([], {})
        self._decided: dict[int, Decision] = {}
        self._disagreeing: list[int] = []

    def update(self, corrections: Mapping[int, Correction], corpora: Mapping[str, Collection[str]]) -> None:
        """Take over the corrections that were not undone, by number, and the corpora of each document."""
        differing = [
            correction
            for before, after in ((self._corrections, corrections), (corrections, self._corrections))
            for number, correction in before.items()
            if number not in after
        ]
        changed = {form for correction in differing for form in self._forms(correction.text)}
        added = {one.text for one in (*self._corrections.values(), *corrections.values()) if one.action == ADD}
        documents = self._with_one_of({text for text in added if not changed.isdisjoint(self._forms(text))})
        if corpora != self._corpora:  # corrections can hold in other documents now
            changed, documents = set(self._numbers), set(self._texts)
        self._corrections, self._corpora = dict(corrections), corpora
        self.decisions = Decisions(corrections.values(), corpora, self._rules)
        for key in documents:
            self._added[key] = self.decisions.added(key, self._texts[key])
        numbers = {number for key in changed for number in self._numbers.get(key, ())}
        for number in numbers.union(*(self._of_document.get(key, ()) for key in documents)):
            self._decide(number)
        self._disagreeing = list(self._undecided(corrections.values()))
        self._learn()

    def _undecided(self, corrections: Iterable[Correction]) -> Iterator[int]:
        """Yield the open mentions whose text was decided otherwise elsewhere."""
        chosen: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for correction in corrections:
            if correction.decides:
                chosen[inflections(correction.text, self._rules).key].add(tuple(sorted(correction.concept_ids)))
        for key, ids in chosen.items():
            for number in self._numbers.get(key, ()):
                is_open = number not in self._decided and self.key(number) == key
                if is_open and tuple(sorted(self.mentions[number].best)) not in ids:
                    yield number

    def decision(self, number: int) -> Decision | None:
        """Return what holds for a mention; None if it is open."""
        return self._decided.get(number)

    def disagrees(self, number: int) -> bool:
        """Return whether the mention is open, and its text was decided otherwise elsewhere."""
        return number in self._disagreeing

    def next(self, skip: Container[int] = ()) -> int | None:
        """Return the number of the next open mention that is not in `skip`; None if there is none."""
        ordered = chain(self._disagreeing, self._order)
        return next((number for number in ordered if number not in self._decided and number not in skip), None)

    def group(self, number: int) -> list[int]:
        """Return the numbers of all mentions of a group, in the order of the documents."""
        return self._group_of[number]

    def of_document(self, document: str) -> Sequence[int]:
        """Return the numbers of the mentions of a document, by its key."""
        return self._of_document.get(document, ())

    def needs_label(self, number: int) -> bool:
        """Return whether the text has several labels, so that a correction must name the label that it holds for."""
        return len(self._labels[self.key(number)]) > 1

    def key(self, number: int) -> str:
        """Return what the text of a mention and its inflections have in common."""
        return inflections(self.mentions[number].link.text, self._rules).key

    @property
    def progress(self) -> Progress:
        """How far the review is."""
        open_groups = {id(self._group_of[number]) for number in self._order if number not in self._decided}
        return Progress(len(self._decided), len(self.mentions), len(open_groups))

    def _forms(self, text: str) -> set[str]:
        """Return what a text has in common with those that its correction can decide."""
        return {form for _, form in forms_of(text, self._rules)}

    def _with_one_of(self, texts: Collection[str]) -> set[str]:
        """Return the keys of the documents that can contain one of these texts or an inflection of it."""
        starts = [same_start(text, self._rules) for text in texts]
        folded = ((document, plain(text).casefold()) for document, text in self._texts.items() if starts)
        return {document for document, text in folded if any(start in text for start in starts)}

    def _learn(self) -> None:
        """Rank the groups again if decisions about other texts with the same links changed."""
        decided = {
            (self.mentions[number].link.concept_ids, self.key(number)): frozenset(decision.concept_ids or ())
            for number, decision in self._decided.items()
            if decision is not COVERED and self.mentions[number].link.concept_ids
        }
        right = Counter(ids for (ids, _), chosen in decided.items() if chosen == set(ids))
        sums = Counter({ids: 2 * right[ids] - n for ids, n in Counter(ids for ids, _ in decided).items()})
        changed = [ids for ids in {*sums, *self._sums} if sums[ids] != self._sums[ids]]
        numbers = [number for ids in changed for number in self._with_link[ids]]
        for number in numbers:
            self.mentions[number] = self.mentions[number]._replace(
                elsewhere=sums[self.mentions[number].link.concept_ids]
            )
        self._sums = sums
        if numbers:
            self._rank_groups(numbers)

    def _rank_groups(self, numbers: Iterable[int]) -> None:
        """Rank the groups of some mentions, and put all into order."""
        for group in {self._group_of[number][0]: self._group_of[number] for number in numbers}.values():
            self._ranks[group[0]] = self._rank([self.mentions[number] for number in group])
        order = [
            number for first in sorted(self._ranks, key=self._ranks.__getitem__) for number in self._group_of[first]
        ]
        self._order = sorted(order) if self._rank is by_document else order

    def _decide(self, number: int) -> None:
        link = self.mentions[number].link
        decision = decision_of(link, self.decisions, self._added.get(link.document, ()))
        if decision:
            self._decided[number] = decision
        else:
            self._decided.pop(number, None)


def decision_of(link: ProposedLink, decisions: Decisions, added: Iterable[Added] = ()) -> Decision | None:
    """Return what decisions say about a mention; None if they leave it open.

    A mention is also decided if all its concepts were rejected (without a link, the best candidate is one of them), or
    if a mention that was added to its document overlaps it.
    """
    if any(other.overlaps(link.start, link.end) and not other.is_inflected for other in added):
        return COVERED
    decision = decisions.of(*link[:5])
    is_rejected = bool(decision.rejected) and decision.rejected.issuperset(link.concept_ids)
    return decision if decision.correction or is_rejected else None


# --- doubts


def doubts_of(mentions: Sequence[ReviewMention], language: str = ENGLISH.code) -> list[tuple[str, ...]]:
    """Return the kinds of doubt for each mention, see `SHARES`. Mentions without a link have none."""
    texts: dict[tuple[str, str], bool] = {}
    for mention in mentions:
        key = mention.link.text, mention.link.label
        texts[key] = texts.get(key, True) and _is_undefined(mention)
    labels = Counter(label for _, label in texts)
    short = Counter(label for (_, label), is_short in texts.items() if is_short)
    usual = {label for label, n in labels.items() if short[label] > USUAL * n}
    kinds = []
    for mention in mentions:
        text, label, links = mention.link.text, mention.link.label, mention.entity.get("links", ())
        applies = {
            SHORT_FORM: label not in usual and _is_undefined(mention),
            GENERAL: language == ENGLISH.code and any(map(is_general, (text, text.removesuffix("s")))),
            CASE: any(map(_differs_in_case, links)),
            OTHER_WORDS: any(link.get("reasons") for link in links),
            NEAR: any(map(_is_near, links)),
        }
        kinds.append(tuple(kind for kind, holds in applies.items() if holds and mention.link.concept_ids))
    return kinds


def _is_undefined(mention: ReviewMention) -> bool:
    text = mention.link.text
    is_short = is_acronym(text) or case_counts(text)
    return is_short and not any(link.get("long_form") for link in mention.entity.get("links", ()))


def _differs_in_case(link: Mapping[str, Any]) -> bool:
    """Return whether a text that is not in capitals is a name in capitals: "star" for STAR."""
    text, name = link.get("text") or "", link.get("name") or ""
    return name.isupper() and not text.isupper() and name.lower() == text.lower() and not link.get("long_form")


def _is_near(link: Mapping[str, Any]) -> bool:
    other = link.get("runner_up") or {}
    return bool(link.get("tie")) or (other.get("probability") or 0) >= NEAR_PROBABILITY
