"""Render the demo page: a form, the text with its mentions marked, and a card for each mention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from spacy.util import filter_spans

from ..kb.knowledge_base import KnowledgeBase
from ..outputs.labels import LabelColors, display_label
from ..outputs.records import LinkedDocument
from ..outputs.templates import LOOK, open_template
from .cards import Card, CardMaker
from .safety import page_policy

_FOLDER = Path(__file__).parent
_STYLE = LOOK + (_FOLDER / "page.css").read_text(encoding="utf8")
_SCRIPT = (_FOLDER / "page.js").read_text(encoding="utf8")
_BEGINNING = 120
"""How many characters of a long definition are shown at first."""
POLICY = page_policy(_STYLE, _SCRIPT, others="form-action 'self'")
"""The Content-Security-Policy of the page, which allows only its own style and script."""


class Page:
    """Renders the page.

    Args:
        kb: The knowledge base of the linker.
        name: The name of the pipeline.
        max_chars: The maximum length of a text, in characters.
    """

    def __init__(self, kb: KnowledgeBase, name: str, max_chars: int) -> None:
        self.kb = kb
        self._about = {"name": name, "concepts": len(kb), "max_chars": max_chars}
        self._colors = LabelColors()  # a label keeps its color from one text to the next
        self._template = open_template(
            _FOLDER / "page.html", style=_STYLE, script=_SCRIPT, display_label=display_label, halves=_halves
        )

    def render(self, text: str, item: LinkedDocument | None = None, message: str | None = None) -> str:
        """Return the page as HTML.

        Args:
            text: The text in the form.
            item: The linked document to show below the form, if any.
            message: An error message, if any.
        """
        make = CardMaker(self.kb)
        mentions = item.mentions if item else []
        cards = [
            make(number, mention, self._colors[mention.label_]) for number, mention in enumerate(mentions, start=1)
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
        )


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
