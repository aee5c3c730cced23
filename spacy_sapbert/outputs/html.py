"""Render records as an HTML page: each text with its mentions marked, and a table of their links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc

from ..kb.code_systems import CodeSystems
from ..kb.knowledge_base import KnowledgeBase
from ..pipeline.mentions import mentions_of
from .addresses import concept_url
from .labels import LabelColors, display_label, display_type
from .records import doc_record
from .tables import NOT_LOOKED_UP

TITLE = "Linked documents"
LOOK = (Path(__file__).parent / "look.css").read_text(encoding="utf8")
"""The style that all pages share."""
_STYLE = LOOK + (Path(__file__).parent / "page.css").read_text(encoding="utf8")
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
"""
_TAIL = "</body>\n</html>\n"
_TO_CONTENTS = '<p class="jump"><a href="#contents">List of documents</a></p>\n'

_IN_TEXT = "t"  # ends the anchor of a mention in the text; that of its row has no ending

Entity = Mapping[str, Any]
Link = Mapping[str, Any]


class _Mark(NamedTuple):
    """A mention on the page.

    Attributes:
        anchor: The anchor of its row in the table.
        color: The class of its color.
    """

    entity: Entity
    anchor: str
    color: str


def render_page(
    docs: Iterable[Doc],
    kb: KnowledgeBase,
    title: str,
    *,
    spans_key: str | None = None,
    language: str = "",
    codes: CodeSystems | None = None,
) -> str:
    """Return one self-contained HTML page of linked documents.

    Args:
        docs: Docs from a pipeline with a `sapbert_linker`.
        kb: The knowledge base of the linker (`linker.kb`), for the names of concepts.
        title: The title of the page.
        spans_key: Show the mentions of `doc.spans[spans_key]` instead of `doc.ents`.
        language: See `KnowledgeBase.labels_of`.
        codes: Finds the codes of each link in other vocabularies.
    """
    records = (doc_record(doc, mentions_of(doc, spans_key), kb, language=language, codes=codes) for doc in docs)
    return "".join(html_pieces(records, title))


def html_pieces(records: Iterable[Mapping[str, Any]], title: str = TITLE) -> Iterator[str]:
    """Yield an HTML page of records in pieces, one per record."""
    yield _HEAD.format(title=escape(title), style=_STYLE)
    colors = LabelColors()
    # the second record shows whether there are several; all of them may be too many to keep
    first, rest = _first_two(records)
    yield f"{_TO_CONTENTS if len(first) > 1 else ''}</header>\n<main>\n"
    headings = []
    for number, record in enumerate(chain(first, rest), start=1):
        headings.append(escape(record["id"] or f"Document {number}"))
        yield _section(number, headings[-1], record, colors)
    yield "</main>\n" + (_contents(headings) if len(headings) > 1 else "") + _TAIL


def _first_two(records: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], Iterator[Mapping[str, Any]]]:
    rest = iter(records)
    return list(islice(rest, 2)), rest


def _section(number: int, heading: str, record: Mapping[str, Any], colors: LabelColors) -> str:
    marks = [_mark(f"d{number}m{row}", entity, colors) for row, entity in enumerate(record["entities"], start=1)]
    table = _legend(marks) + _table(marks, heading) if marks else "<p>No mention was found.</p>\n"
    return f'<section id="d{number}">\n<h2>{heading}</h2>\n{_text(record["text"], marks)}{table}</section>\n'


def _contents(headings: Sequence[str]) -> str:
    """Return the list of all documents. It is at the end, since the page is written as a stream."""
    items = [f'<li><a href="#d{number}">{heading}</a></li>\n' for number, heading in enumerate(headings, start=1)]
    title = '<h2 id="documents">Documents</h2>'
    return f'<nav id="contents" aria-labelledby="documents">\n{title}\n<ol>\n{"".join(items)}</ol>\n</nav>\n'


def _mark(anchor: str, entity: Entity, colors: LabelColors) -> _Mark:
    color = f"c{colors[entity['label']]}"
    return _Mark(entity, anchor, color if any(link["concept_id"] for link in entity["links"]) else f"{color} nil")


def _text(text: str, marks: Sequence[_Mark]) -> str:
    drawn = _longest(marks)
    pieces = []
    end = 0
    for mark in drawn:
        pieces += [escape(text[end : mark.entity["start"]]), _anchor(mark)]
        end = mark.entity["end"]
    shown = f'<p class="text" dir="auto">{"".join(pieces)}{escape(text[end:])}</p>\n'
    anchors = {mark.anchor for mark in drawn}
    inner = [mark for mark in marks if mark.anchor not in anchors]
    return shown + (f'<p class="inner">Inside other mentions: {" ".join(map(_anchor, inner))}</p>\n' if inner else "")


def _longest(marks: Sequence[_Mark]) -> list[_Mark]:
    """Return the marks that do not overlap, the longest first, in the order of the text."""
    taken: set[int] = set()
    drawn = []
    for mark in sorted(marks, key=lambda mark: (mark.entity["start"] - mark.entity["end"], mark.entity["start"])):
        start, end = mark.entity["start"], mark.entity["end"]
        # a mark that overlaps a longer one has its first or last character inside it
        if start not in taken and end - 1 not in taken:
            taken.update(range(start, end))
            drawn.append(mark)
    return sorted(drawn, key=lambda mark: mark.entity["start"])


def _anchor(mark: _Mark) -> str:
    names = (link["preferred_name"] or link["concept_id"] for link in mark.entity["links"])
    tip = " + ".join(dict.fromkeys(name or "not linked" for name in names)) or NOT_LOOKED_UP
    flags = _flags(mark)
    shown = f' data-assertion="{escape(flags)}"' if flags else ""
    place = f'id="{mark.anchor}{_IN_TEXT}" href="#{mark.anchor}"'
    return f'<a class="mention {mark.color}" {place} title="{escape(tip)}"{shown}>{_bdi(mark.entity["text"])}</a>'


def _flags(mark: _Mark) -> str:
    return ", ".join(mark.entity.get("assertion", ()))  # records of an earlier version have none


def _legend(marks: Sequence[_Mark]) -> str:
    labels = {mark.entity["label"]: mark.color.split()[0] for mark in marks}
    shown = [
        f'<span><i class="swatch {color}"></i>{_bdi(display_label(label))}</span>'
        for label, color in labels.items()
        if label
    ]
    if any(mark.color.endswith("nil") for mark in marks):
        shown.append('<span><i class="swatch nil"></i>not linked</span>')
    return f'<p class="legend">{"".join(shown)}</p>\n' if shown else ""


def _table(marks: Sequence[_Mark], heading: str) -> str:
    """Return the table of all links. A column without values is left out."""
    rows = [(mark, link) for mark in marks for link in mark.entity["links"] or [None]]
    cells = [[cell(mark, link) for cell in _CELLS.values()] for mark, link in rows]
    used = [any(column) for column in zip(*cells, strict=True)]
    names = [name for name, kept in zip(_CELLS, used, strict=True) if kept]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = []
    anchored: set[str] = set()
    for (mark, _), of_row in zip(rows, cells, strict=True):
        kept = (cell for cell, is_used in zip(of_row, used, strict=True) if is_used)
        anchor = "" if mark.anchor in anchored else f' id="{mark.anchor}"'
        anchored.add(mark.anchor)
        body.append(f"<tr{anchor}>{''.join(map(_cell, names, kept))}</tr>\n")
    caption = f"<caption>Links of {heading}</caption>\n"
    return f"<table>\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(body)}</tbody>\n</table>\n"


def _cell(name: str, content: str) -> str:
    kind = ' class="number"' if name in _NUMBERS else "" if content else ' class="empty"'
    return f'<td data-name="{name}"{kind}><div>{content}</div></td>'


def _mention_cell(mark: _Mark, link: Link | None) -> str:
    part = f"<small>{escape(link['text'])}</small>" if link and link["split"] else ""
    back = f'href="#{mark.anchor}{_IN_TEXT}" title="Show it in the text"'
    return f'<a class="mention {mark.color}" {back}>{_bdi(mark.entity["text"])}</a>{part}'


def _label_cell(mark: _Mark, link: Link | None) -> str:
    label = mark.entity["label"]
    return escape(display_label(label)) if label else ""


def _assertion_cell(mark: _Mark, link: Link | None) -> str:
    return escape(_flags(mark))


def _concept_cell(mark: _Mark, link: Link | None) -> str:
    if not link or not link["concept_id"]:
        return "not linked"
    types = "".join(f" · {_bdi(display_type(type))}" for type in link["types"])
    return f"{_bdi(link['preferred_name'] or '')}<small>{_linked_id(link['concept_id'])}{types}</small>"


def _codes_cell(mark: _Mark, link: Link | None) -> str:
    """Return the codes of a link, one line a code system. System and predicate of a code are its tooltip."""
    by_system: dict[str, dict[str, str]] = {}
    for code in (link or {}).get("codes", ()):
        tip = ", ".join(filter(None, (code["system"], code["predicate"])))
        shown = f'<span title="{escape(tip)}">{_linked_id(code["code"])}</span>'
        by_system.setdefault(code["system"], {}).setdefault(code["code"], shown)
    return "".join(f"<div>{' · '.join(of_system.values())}</div>" for of_system in by_system.values())


def _name_cell(mark: _Mark, link: Link | None) -> str:
    return escape(link["name"] or "") if link else ""


def _long_form_cell(mark: _Mark, link: Link | None) -> str:
    return escape(link["long_form"] or "") if link else ""


def _score_cell(mark: _Mark, link: Link | None) -> str:
    return _number(link["score"]) if link else ""


def _probability_cell(mark: _Mark, link: Link | None) -> str:
    return _number(link["probability"]) if link else ""


def _runner_up_cell(mark: _Mark, link: Link | None) -> str:
    return _other(link["runner_up"]) if link else ""


def _why_cell(mark: _Mark, link: Link | None) -> str:
    if not link:
        return NOT_LOOKED_UP
    rejected = f"<small>best: {_other(link['rejected'])}</small>" if link["rejected"] else ""
    reasons = "; ".join(link.get("reasons", ()))  # records of an earlier version have none
    return escape(link["reason"] or link["tie"] or reasons) + rejected


_CELLS: dict[str, Callable[[_Mark, Link | None], str]] = {
    "Mention": _mention_cell,
    "Label": _label_cell,
    "Assertion": _assertion_cell,
    "Concept": _concept_cell,
    "Codes": _codes_cell,
    "Long form": _long_form_cell,
    "Matched name": _name_cell,
    "Score": _score_cell,
    "Probability": _probability_cell,
    "Runner-up": _runner_up_cell,
    "Why": _why_cell,
}
_NUMBERS = ("Score", "Probability")


def _other(other: Mapping[str, Any] | None) -> str:
    if not other:
        return ""
    name = _bdi(other["preferred_name"] or other["name"])
    return f"{name} ({_linked_id(other['concept_id'])}) {_number(other['score'])}"


def _linked_id(concept_id: str) -> str:
    url = concept_url(concept_id)
    return f'<a href="{escape(url)}">{_bdi(concept_id)}</a>' if url else _bdi(concept_id)


def _bdi(text: str) -> str:
    """Return a text whose marks of direction change nothing around it."""
    return f"<bdi>{escape(text)}</bdi>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
