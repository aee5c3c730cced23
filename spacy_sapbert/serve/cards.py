"""Gather what the card of a mention shows: its concepts, the other candidates, and why the first one was chosen."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache, partial
from operator import attrgetter
from typing import NamedTuple

from spacy.tokens import Span

from ..kb.knowledge_base import KnowledgeBase
from ..outputs.addresses import concept_url
from ..outputs.labels import display_type
from ..pipeline.attributes import get_abbreviation_occurrences, get_composite_splits, get_kb_ents, get_links
from ..text.abbreviations import AbbreviationOccurrence
from ..types import Concept, Link

_CLOSE = 0.005  # two scores that are this near look the same with two digits


class Reference(NamedTuple):
    """A concept, or another code, by its id.

    Attributes:
        id: The id.
        url: Its web page; None for an id of an unknown vocabulary.
        name: The preferred name, or the id if the vocabulary lacks it.
    """

    id: str
    url: str | None
    name: str


class ConceptCard(NamedTuple):
    """What the vocabulary says of a concept.

    Attributes:
        id: The id.
        url: See `Reference`.
        name: See `Reference`.
        types: Semantic types as words.
        definition: The definition, or an empty text.
        synonyms: The other names.
        parents: The concepts above it.
        codes: Its ids in other vocabularies.
    """

    id: str
    url: str | None
    name: str
    types: list[str]
    definition: str
    synonyms: tuple[str, ...]
    parents: list[Reference]
    codes: list[Reference]


def concept_card(kb: KnowledgeBase, concept_id: str) -> ConceptCard:
    """Return the card of a concept. If the vocabulary lacks it, its name is the id."""
    concept = kb.get(concept_id) or Concept(concept_id, concept_id)
    parents = dict.fromkeys(primary for parent in concept.parents for primary in kb.find_id(parent) or (parent,))
    codes = dict.fromkeys([*concept.alternative_ids, *kb.xrefs(concept_id)])
    return ConceptCard(
        concept_id,
        concept_url(concept_id),
        concept.canonical_name,
        list(map(display_type, concept.types)),
        concept.definition or "",
        concept.aliases,
        references(kb, parents),
        [Reference(code, concept_url(code), code) for code in codes],
    )


def references(kb: KnowledgeBase, concept_ids: Iterable[str]) -> list[Reference]:
    """Return concepts with their names."""
    ids = list(concept_ids)
    labels = kb.labels_of(ids)
    names = {id: label.preferred for id, label in labels.items()}
    return [Reference(id, concept_url(id), names.get(id) or id) for id in ids]


class Choice(NamedTuple):
    """A row of the comparison of candidates. A value that is not known is None."""

    reference: Reference
    score: float | None
    probability: float | None
    matched: str | None
    chosen: bool


class Part(NamedTuple):
    """One part of a mention. A mention that is not split has one part.

    Attributes:
        about: The linked concept, if any.
        choices: The candidates, the best one first.
        why: Sentences that say why the best one was chosen or rejected.
    """

    link: Link
    about: ConceptCard | None
    choices: list[Choice]
    why: list[str]


class Card(NamedTuple):
    """The card of a mention.

    Attributes:
        number: The number of the mention, from 1.
        color: The color of the label, from 0.
        others: Concepts above the threshold that no part compares, best first.
        occurrences: The abbreviation occurrences in the mention.
        chosen: The parts of the chosen split; empty if the mention was not split.
        composite_splits: The other possible splits, most likely first.
    """

    number: int
    mention: Span
    color: int
    parts: list[Part]
    others: list[Choice]
    occurrences: list[AbbreviationOccurrence]
    chosen: tuple[str, ...]
    composite_splits: list[tuple[str, ...]]

    @property
    def linked(self) -> bool:
        return any(part.about for part in self.parts)


class CardMaker:
    """Makes the cards of one text. What the vocabulary says of a concept is read once.

    Args:
        kb: The knowledge base of the linker.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._describe = cache(partial(concept_card, kb))
        self._refer = cache(lambda concept_id: references(kb, [concept_id])[0])
        self._occurrences_of = cache(get_abbreviation_occurrences)

    def __call__(self, number: int, mention: Span, color: int) -> Card:
        links = get_links(mention)
        parts = [self._part(link) for link in links]
        compared = {choice.reference.id for part in parts for choice in part.choices}
        others = [self._choice(id, score) for id, score in get_kb_ents(mention) if id not in compared]
        if len(parts) == 1 and parts[0].choices:
            parts[0].choices.extend(others)
            others = []
        chosen = tuple(link.text for link in links if link.split)
        composite_splits = [split for split in get_composite_splits(mention) if split != chosen]
        return Card(number, mention, color, parts, others, self._occurrences(mention), chosen, composite_splits)

    def _part(self, link: Link) -> Part:
        about = self._describe(link.concept_id) if link.concept_id else None
        choices = []
        if link.concept_id:
            choices.append(self._choice(link.concept_id, link.score, link.probability, link.name, chosen=True))
        choices += [
            self._choice(other.concept_id, other.score, other.probability, other.name)
            for other in (link.rejected, link.runner_up)
            if other
        ]
        return Part(link, about, choices, list(reasons_of(link)))

    def _choice(
        self,
        concept_id: str,
        score: float | None,
        probability: float | None = None,
        matched: str | None = None,
        *,
        chosen: bool = False,
    ) -> Choice:
        return Choice(self._refer(concept_id), score, probability, matched, chosen)

    def _occurrences(self, mention: Span) -> list[AbbreviationOccurrence]:
        occurrences = self._occurrences_of(mention.doc)
        first, last = (
            bisect_left(occurrences, offset, key=attrgetter("start"))
            for offset in (mention.start_char, mention.end_char)
        )
        return [occurrence for occurrence in occurrences[first:last] if occurrence.end <= mention.end_char]


def reasons_of(link: Link) -> Iterator[str]:
    """Yield sentences that say why the best candidate of a link was chosen, or why nothing was linked."""
    yield from (_sentence(reason) for reason in (link.reason, link.tie, *link.reasons) if reason)
    if not (link.concept_id and link.runner_up) or link.tie or link.reasons or link.score is None:
        return
    ahead = link.score - link.runner_up.score
    if ahead > _CLOSE:
        yield f"Chosen because its name fits best: {link.score:.2f} against {link.runner_up.score:.2f}."
    elif ahead > 0:
        yield f"Both fit almost equally well. The difference of the scores is only {ahead:.5f}."
    else:
        yield "Both have the same score."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")
