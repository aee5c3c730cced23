"""Render the demo page: a form, the text with its mentions marked, and a card for each mention."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from spacy.tokens import Span
from spacy.util import filter_spans

from ...io.addresses import concept_url
from ...io.html import LOOK
from ...io.labels import LabelColors, display_label
from ...io.pipelines import LinkedDocument
from ...kb.knowledge_base import KnowledgeBase
from ...pipeline.attributes import get_abbreviation_occurrences, get_composite_splits, get_kb_ents, get_links
from ...text.abbreviations import AbbreviationOccurrence
from ...types import Concept, Link

_FOLDER = Path(__file__).parent
_STYLE = LOOK + (_FOLDER / "page.css").read_text(encoding="utf8")
_SCRIPT = (_FOLDER / "page.js").read_text(encoding="utf8")


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the page, which allows only its own style and script."""


class Shown(NamedTuple):
    """A concept on a card.

    Attributes:
        concept: The concept. If the vocabulary lacks it, its id is its name.
        url: The concept's web page; None for an id of an unknown vocabulary.
        score: The score of the concept, if any.
    """

    concept: Concept
    url: str | None
    score: float | None


class Card(NamedTuple):
    """The card of a mention.

    Attributes:
        number: The number of the mention, from 1.
        color: The color of the label, from 0.
        parts: The links of the mention, each with its concept; None if the part is not linked.
        others: Other concepts above the threshold, best first.
        occurrences: The abbreviation occurrences in the mention.
        chosen: The parts of the chosen split; empty if the mention was not split.
        composite_splits: The other possible splits, most likely first.
    """

    number: int
    mention: Span
    color: int
    parts: list[tuple[Link, Shown | None]]
    others: list[Shown]
    occurrences: list[AbbreviationOccurrence]
    chosen: tuple[str, ...]
    composite_splits: list[tuple[str, ...]]

    @property
    def linked(self) -> bool:
        return any(concept for _, concept in self.parts)


class Page:
    """Renders the page.

    Args:
        kb: The knowledge base of the linker.
        name: The name of the pipeline.
        max_chars: The maximum length of a text, in characters.
    """

    def __init__(self, kb: KnowledgeBase, name: str, max_chars: int) -> None:
        self.kb = kb
        self.about = {"name": name, "concepts": len(kb), "max_chars": max_chars}
        self._colors = LabelColors()  # a label keeps its color from one text to the next
        environment = Environment(
            loader=FileSystemLoader(_FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["display_label"] = display_label
        environment.globals.update(style=Markup(_STYLE), script=Markup(_SCRIPT))
        self._template = environment.get_template("page.html")

    def render(self, text: str, item: LinkedDocument | None = None, message: str | None = None) -> str:
        """Return the page as HTML.

        Args:
            text: The text in the form.
            item: The linked document to show below the form, if any.
            message: An error message, if any.
        """
        cards = [self._card(number, mention) for number, mention in enumerate(item.mentions, start=1)] if item else []
        pieces = list(_pieces(item.doc.text, cards)) if item else []
        marked = {card.number for _, card in pieces if card}
        return self._template.render(
            about=self.about,
            text=text,
            message=message,
            linked=item is not None,
            pieces=pieces,
            cards=cards,
            unmarked=[card for card in cards if card.number not in marked],
            labels=Counter((card.mention.label_, card.color) for card in cards),
        )

    def _card(self, number: int, mention: Span) -> Card:
        links = get_links(mention)
        parts = [(link, self._shown(link.concept_id, link.score) if link.concept_id else None) for link in links]
        taken = {link.concept_id for link in links}
        others = [self._shown(*found) for found in get_kb_ents(mention) if found[0] not in taken]
        chosen = tuple(link.text for link in links if link.split)
        composite_splits = [split for split in get_composite_splits(mention) if split != chosen]
        color = self._colors[mention.label_]
        return Card(number, mention, color, parts, others, _occurrences(mention), chosen, composite_splits)

    def _shown(self, concept_id: str, score: float | None) -> Shown:
        concept = self.kb.get(concept_id) or Concept(concept_id, concept_id)
        return Shown(concept, concept_url(concept_id), score)


def _occurrences(mention: Span) -> list[AbbreviationOccurrence]:
    start, end = mention.start_char, mention.end_char
    return [
        occurrence
        for occurrence in get_abbreviation_occurrences(mention.doc)
        if start <= occurrence.start and occurrence.end <= end
    ]


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
