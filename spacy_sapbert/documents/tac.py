"""Read TAC 2017 drug labels (Demner-Fushman et al. 2018, doi:10.1038/sdata.2018.1): adverse reactions in MedDRA.

Each label is one XML file. `Text` holds sections, `Mentions` holds offsets into a section, and `Relations` holds
relations. `Reactions` maps each string that is annotated as an adverse reaction to MedDRA terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ..files.source import BrokenRecord, excerpt
from ..files.values import parse_int
from ..files.xml import ElementParser
from ..kb.ids import split_ids
from ..types import Document, Mention
from .source import UNTYPED, DocumentSource

_REACTION = "AdverseReaction"
_PREFIX = "MEDDRA"
_BETWEEN_SECTIONS = "\n"


class _Section(NamedTuple):
    start: int  # in the text of the document
    text: str


def read_tac(source: DocumentSource) -> Iterator[Document]:
    """Read one label.

    The text joins the sections in their order. A mention in several pieces extends from the first to the last piece. It
    is counted, unless there is only whitespace between the pieces. Ids are those of preferred terms, `MEDDRA:10028997`.
    If a reaction has none, its lowest level term is used. A reaction with a string that is not a mention is counted.

    Yields:
        The label, named after its drug. Mention labels are the mention types.
    """
    labels = ElementParser(source.path, "TAC", ("Label",)).elements(source.chunks())
    yield from source.each(labels, partial(_document, source))


def _document(source: DocumentSource, line: int, label: Element) -> Document:
    drug = label.get("drug", "").strip()
    if not drug:
        raise BrokenRecord("a label without the name of its drug")
    sections = _sections(label)
    ids = _ids(label)
    source.report.relations += sum(1 for _ in label.iterfind("Relations/Relation"))
    mentions, strings = [], set()
    for element in label.iterfind("Mentions/Mention"):
        try:
            section = sections.get(element.get("section", ""))
            if section is None:
                raise BrokenRecord(f"there is no section {element.get('section')}")
            mention, string = _mention(source, line, section, element)
        except BrokenRecord as reason:
            source.broken(line, f"label {drug}, mention {element.get('id')}: {reason}")
            continue
        if mention.label == _REACTION:
            mention = mention._replace(ids=ids.get(string, ()))
            strings.add(string)
        mentions.append(mention)
    source.report.unplaced += len(ids.keys() - strings)
    text = _BETWEEN_SECTIONS.join(section.text for section in sections.values())
    mentions.sort(key=lambda mention: mention[:2])
    return Document(drug, text, tuple(mentions), position=source.place(line))


def _sections(label: Element) -> dict[str, _Section]:
    sections: dict[str, _Section] = {}
    start = 0
    for element in label.iterfind("Text/Section"):
        name = element.get("id", "")
        if name in sections:
            raise BrokenRecord(f"two sections {name}")
        sections[name] = _Section(start, element.text or "")
        start += len(sections[name].text) + len(_BETWEEN_SECTIONS)
    return sections


def _ids(label: Element) -> dict[str, tuple[str, ...]]:
    """Return the ids of each reaction by its string. The ids are empty if the reaction is not mapped."""
    ids: dict[str, dict[str, None]] = {}
    for reaction in label.iterfind("Reactions/Reaction"):
        string_ids = ids.setdefault(_fold_whitespace(reaction.get("str", "")).lower(), {})
        for terms in reaction.iterfind("Normalization"):
            raw = terms.get("meddra_pt_id") or terms.get("meddra_llt_id") or ""
            string_ids.update(dict.fromkeys(split_ids(raw, _PREFIX)))
    return {string: tuple(string_ids) for string, string_ids in ids.items()}


def _mention(source: DocumentSource, line: int, section: _Section, element: Element) -> tuple[Mention, str]:
    """Return the mention as placed in the document, and its string as reactions write it."""
    spans = _spans(element)
    start, end = min(spans)[0], max(end for _, end in spans)
    whole = section.text[max(start, 0) : end]
    in_pieces = _fold_whitespace(" ".join(section.text[max(first, 0) : last] for first, last in spans))
    # a mention across a line break has two pieces
    is_whole = in_pieces == _fold_whitespace(whole)
    annotated = _fold_whitespace(element.get("str", in_pieces))
    # `str` has single spaces, and joined pieces are not the text from first to last: compare only if needed
    compared = annotated if is_whole and annotated != in_pieces else ""
    label = element.get("type", "").strip() or UNTYPED
    mention = source.placed(line, section.text, Mention(start, end, compared, label))
    if not is_whole:
        source.report.discontinuous += 1
        if annotated != in_pieces:
            reason = f"the pieces of {excerpt(annotated)!r} in mention {element.get('id')} are {excerpt(in_pieces)!r}"
            source.report.add_mismatch(source.path, line, reason, moved=False)
    pieces = () if is_whole else tuple(sorted((first + section.start, last + section.start) for first, last in spans))
    shifted = mention._replace(start=mention.start + section.start, end=mention.end + section.start, offsets=pieces)
    return shifted, annotated.lower()


def _spans(element: Element) -> list[tuple[int, int]]:
    starts, lengths = (element.get(name, "").split(",") for name in ("start", "len"))
    try:
        pieces = [(parse_int(start), parse_int(length)) for start, length in zip(starts, lengths, strict=True)]
    except ValueError:
        given = f"start {element.get('start')!r} and len {element.get('len')!r}"
        raise BrokenRecord(f"{given} are not pairs of numbers") from None
    return [(start, start + length) for start, length in pieces]


def _fold_whitespace(text: str) -> str:
    return " ".join(text.split())
