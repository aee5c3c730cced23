"""Show links: an HTML page with each text, its mentions and a table of their links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spacy.tokens import Doc

from ..kb.knowledge_base import KnowledgeBase
from ..pipeline.mentions import mentions_of
from ..text.notes.drugs import ACTIVE, NO_MEDICATION
from .pages import LOOK, LabelColors, concept_url, display_label, display_type, open_template
from .records import doc_record
from .tables import NOT_LOOKED_UP

if TYPE_CHECKING:
    from jinja2 import Template

    from ..kb.code_systems import CodeSystems

TITLE = "Linked documents"
_FOLDER = Path(__file__).parent
_PIECES = 50  # the parts of a page that are written together

Record = Mapping[str, Any]


class _Mark(NamedTuple):
    """A mention on the page."""

    entity: Record
    anchor: str  # of its row in the table; that in the text ends in "t"
    color: str  # the class of its color
    tip: str  # the names of its concepts
    flags: str  # what is shown beside it: the state of a drug, or the assertion


class _Row(NamedTuple):
    """A row of the table of links."""

    mark: _Mark
    link: Record | None
    is_first: bool  # of the mention
    values: dict[str, Any]  # by column


class _Section(NamedTuple):
    """A document on the page."""

    heading: str
    pieces: list[str | _Mark]  # the text, as plain pieces and marks
    inner: list[_Mark]  # the marks inside others
    legend: dict[str, str]  # the color of each label; that of mentions without a link is empty
    rows: list[_Row]
    columns: list[str]  # those that have values


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
        spans_key: Show the mentions of `doc.spans[spans_key]` instead of `doc.ents`.
        language: See `KnowledgeBase.labels_of`.
        codes: Finds the codes of each link in other vocabularies.
    """
    records = (doc_record(doc, mentions_of(doc, spans_key), kb, language=language, codes=codes) for doc in docs)
    return "".join(html_pieces(records, title))


def html_pieces(records: Iterable[Record], title: str = TITLE) -> Iterator[str]:
    """Yield an HTML page of records in pieces, while the records are read."""
    records = iter(records)
    first = list(islice(records, 2))  # shows whether there are several; all of them may be too many to keep
    headings: list[str] = []
    sections = _sections(chain(first, records), headings)
    page = _template().stream(title=title, sections=sections, headings=headings, several=len(first) > 1)
    page.enable_buffering(_PIECES)
    yield from page


@cache
def _template() -> Template:
    filters: dict[str, Any] = {
        "concept_url": concept_url,
        "display_label": display_label,
        "display_type": display_type,
        "score": _score,
    }
    style = LOOK + (_FOLDER / "page.css").read_text(encoding="utf8")
    return open_template(_FOLDER / "page.html", style=style, **filters)


def _sections(records: Iterable[Record], headings: list[str]) -> Iterator[_Section]:
    """Yield the sections of a page, and add their headings to the list, which is at the end of the page."""
    colors = LabelColors()
    for number, record in enumerate(records, start=1):
        headings.append(record["id"] or f"Document {number}")
        entities = enumerate(record["entities"], start=1)
        marks = [_mark(f"d{number}m{row}", entity, colors) for row, entity in entities]
        drawn = _longest(marks)
        anchors = {mark.anchor for mark in drawn}
        inner = [mark for mark in marks if mark.anchor not in anchors]
        rows = [
            _Row(mark, link, is_first=not at, values=_values(mark, link))
            for mark in marks
            for at, link in enumerate(mark.entity["links"] or [None])
        ]
        columns = [column for column in (rows[0].values if rows else ()) if any(row.values[column] for row in rows)]
        yield _Section(headings[-1], _pieces(record["text"], drawn), inner, _legend(marks), rows, columns)


def _mark(anchor: str, entity: Record, colors: LabelColors) -> _Mark:
    color = f"c{colors[entity['label']]}"
    if not any(link["concept_id"] for link in entity["links"]):
        color += " nil"
    names = (link["preferred_name"] or link["concept_id"] or "not linked" for link in entity["links"])
    state = entity.get("drug_state")  # records of an earlier version have none
    flags = _assertion(entity) if state in (None, ACTIVE, NO_MEDICATION) else state
    return _Mark(entity, anchor, color, " + ".join(dict.fromkeys(names)) or NOT_LOOKED_UP, flags)


def _assertion(entity: Record) -> str:
    return ", ".join(entity.get("assertion", ()))


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


def _pieces(text: str, drawn: Sequence[_Mark]) -> list[str | _Mark]:
    pieces: list[str | _Mark] = []
    end = 0
    for mark in drawn:
        pieces += [text[end : mark.entity["start"]], mark]
        end = mark.entity["end"]
    return [*pieces, text[end:]]


def _legend(marks: Sequence[_Mark]) -> dict[str, str]:
    legend = {mark.entity["label"]: mark.color.split()[0] for mark in marks if mark.entity["label"]}
    return legend | ({"": "nil"} if any(mark.color.endswith("nil") for mark in marks) else {})


def _values(mark: _Mark, link: Record | None) -> dict[str, Any]:
    """Return the value of each column, which is empty if there is none."""
    label = mark.entity["label"]
    given = link or dict.fromkeys(("long_form", "name", "score", "probability", "runner_up"))
    return {
        "Mention": mark.entity["text"],
        "Label": display_label(label) if label else "",
        "Assertion": _assertion(mark.entity),
        "Drug": ", ".join(filter(None, (mark.entity.get(name) for name in ("drug_state", "dosage", "value")))),
        "Section": mark.entity.get("section") or "",
        "Concept": True,
        "Codes": _codes(given),
        "Long form": given["long_form"] or "",
        "Matched name": given["name"] or "",
        "Score": _score(given["score"]),
        "Probability": _score(given["probability"]),
        "Runner-up": given["runner_up"] or "",
        "Why": _why(link) if link else {"reason": NOT_LOOKED_UP, "rejected": None},
    }


def _codes(link: Record) -> list[list[Mapping[str, str]]]:
    """Return the codes of a link, each once, in a list for each code system."""
    by_system: dict[str, dict[str, Mapping[str, str]]] = {}
    for code in link.get("codes", ()):
        by_system.setdefault(code["system"], {}).setdefault(code["code"], code)
    return [list(codes.values()) for codes in by_system.values()]


def _why(link: Record) -> Record:
    """Return why there is a link or none, and the best candidate if there is none; empty if there is nothing to say."""
    reason = link["reason"] or link["tie"] or "; ".join(link.get("reasons", ()))  # old records have no reasons
    return {"reason": reason, "rejected": link["rejected"]} if reason or link["rejected"] else {}


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
