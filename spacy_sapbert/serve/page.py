"""Render the demo page: a form, the text with its mentions marked, and a card for each mention."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Span
from spacy.util import filter_spans

from ..kb.knowledge_base import KnowledgeBase
from ..outputs.pages import LOOK, LabelColors, concept_url, display_label, display_type, open_template
from ..outputs.records import LinkedDocument
from ..pipeline.attributes import get_abbreviation_occurrences, get_composite_splits, get_kb_ents, get_links
from ..text.abbreviations import AbbreviationOccurrence
from ..types import Alternative, Concept, Link
from .safety import page_policy

_FOLDER = Path(__file__).parent
_STYLE = LOOK + (_FOLDER / "page.css").read_text(encoding="utf8")
_SCRIPT = (_FOLDER / "page.js").read_text(encoding="utf8")
_BEGINNING = 120
"""How many characters of a long definition are shown at first."""
_CLOSE = 0.005  # two scores that are this near look the same with two digits
POLICY = page_policy(_STYLE, _SCRIPT, directives="form-action 'self'")
"""The Content-Security-Policy of the page, which allows only its own style and script."""


class Card(NamedTuple):
    """The card of a mention.

    Attributes:
        parts: A link for each part, with the candidates that are compared, the best one first.
        others: Concepts above the threshold that no part compares, best first.
        occurrences: The abbreviation occurrences in the mention.
        chosen: The parts of the chosen split; empty if the mention was not split.
        splits: The other possible splits, most likely first.
    """

    number: int
    mention: Span
    color: int
    parts: list[tuple[Link, list[Link | Alternative]]]
    others: list[Alternative]
    occurrences: list[AbbreviationOccurrence]
    chosen: tuple[str, ...]
    splits: list[tuple[str, ...]]

    @property
    def linked(self) -> bool:
        return any(link.concept_id for link, _ in self.parts)


class Page:
    """Renders the page."""

    def __init__(self, kb: KnowledgeBase, name: str, max_chars: int) -> None:
        self.kb = kb
        self._about = {"name": name, "concepts": len(kb), "max_chars": max_chars}
        self._colors = LabelColors()  # a label keeps its color from one text to the next
        self._template = open_template(
            _FOLDER / "page.html",
            style=_STYLE,
            script=_SCRIPT,
            display_label=display_label,
            halves=_halves,
            reasons=reasons_of,
        )

    def render(self, text: str, item: LinkedDocument | None = None, message: str | None = None) -> str:
        """Return the page as HTML, with a text in the form and, if given, the linked document or an error message."""
        occurrences = get_abbreviation_occurrences(item.doc) if item else ()
        cards = [
            _card(number, mention, self._colors[mention.label_], occurrences_in(mention, occurrences))
            for number, mention in enumerate(item.mentions if item else (), start=1)
        ]
        pieces = list(_pieces(item.doc.text, cards)) if item else []
        marked = {card.number for _, card in pieces if card}
        return self._template.render(
            about=self._about,
            text=text,
            message=message,
            linked_text=item is not None,
            pieces=pieces,
            cards=cards,
            unmarked=[card for card in cards if card.number not in marked],
            labels=Counter((card.mention.label_, card.color) for card in cards),
            # what the vocabulary says of a concept is read once for each text
            describe=cache(partial(concept_card, self.kb)),
            refer=cache(lambda concept_id: references(self.kb, [concept_id])[0]),
        )


def _card(number: int, mention: Span, color: int, occurrences: list[AbbreviationOccurrence]) -> Card:
    links = get_links(mention)
    parts = [
        (link, [candidate for candidate in (link, link.rejected, link.runner_up) if candidate and candidate.concept_id])
        for link in links
    ]
    compared = {candidate.concept_id for _, candidates in parts for candidate in candidates}
    others = [Alternative(id, score, "") for id, score in get_kb_ents(mention) if id not in compared]
    if len(parts) == 1 and parts[0][1]:
        parts[0][1].extend(others)
        others = []
    chosen = tuple(link.text for link in links if link.split)
    splits = [split for split in get_composite_splits(mention) if split != chosen]
    return Card(number, mention, color, parts, others, occurrences, chosen, splits)


def occurrences_in(mention: Span, occurrences: Sequence[AbbreviationOccurrence]) -> list[AbbreviationOccurrence]:
    """Return the occurrences of abbreviations in a mention, from those of the document, which are sorted."""
    first, last = (
        bisect_left(occurrences, offset, key=attrgetter("start")) for offset in (mention.start_char, mention.end_char)
    )
    return [occurrence for occurrence in occurrences[first:last] if occurrence.end <= mention.end_char]


def reasons_of(link: Link) -> Iterator[str]:
    """Yield sentences that say why the best candidate of a link was chosen, or why nothing was linked."""
    for reason in filter(None, (link.reason, link.tie, *link.reasons)):
        yield f"{reason[0].upper()}{reason[1:]}" + ("" if reason.endswith((".", "!", "?")) else ".")
    if not (link.concept_id and link.runner_up) or link.tie or link.reasons or link.score is None:
        return
    ahead = link.score - link.runner_up.score
    if ahead > _CLOSE:
        yield f"Chosen because its name fits best: {link.score:.2f} against {link.runner_up.score:.2f}."
    elif ahead > 0:
        yield f"Both fit almost equally well. The difference of the scores is only {ahead:.5f}."
    else:
        yield "Both have the same score."


def _halves(text: str) -> tuple[str, str]:
    """Return the beginning of a long text, up to a blank, and the rest. The rest of a short text is empty."""
    if len(text) <= 1.5 * _BEGINNING:
        return text, ""
    end = text.rfind(" ", 0, _BEGINNING)
    return (text[:end], text[end:]) if end > 0 else (text[:_BEGINNING], text[_BEGINNING:])


def _pieces(text: str, cards: Sequence[Card]) -> Iterator[tuple[str, Card | None]]:
    """Yield all pieces of the text, each with its card if it is marked.

    Of overlapping mentions, only the longest is marked.
    """
    by_span = {(card.mention.start, card.mention.end): card for card in cards}
    end = 0
    for mention in filter_spans([card.mention for card in cards]):
        yield text[end : mention.start_char], None
        yield mention.text, by_span[mention.start, mention.end]
        end = mention.end_char
    yield text[end:], None


class Reference(NamedTuple):
    """A concept, or another code, with its web page, and with its preferred name, or else its id."""

    id: str
    url: str | None
    name: str


class ConceptCard(NamedTuple):
    """What the vocabulary says of a concept, with types as words. If the vocabulary lacks it, its name is the id."""

    id: str
    url: str | None
    name: str
    types: list[str]
    definition: str
    synonyms: tuple[str, ...]
    parents: list[Reference]
    codes: list[Reference]


def concept_card(kb: KnowledgeBase, concept_id: str) -> ConceptCard:
    """Return the card of a concept."""
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
    names = {id: label.preferred for id, label in kb.labels_of(ids).items()}
    return [Reference(id, concept_url(id), names.get(id) or id) for id in ids]
