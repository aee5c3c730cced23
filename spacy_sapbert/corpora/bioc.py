"""BioC XML (Comeau et al. 2013, doi:10.1093/database/bat064): collection, documents, passages, annotations.

Read as a stream, one document in memory at a time. Entities are refused, since they can grow without bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ..files import parse_int
from ..kb.ids import split_ids
from ..types import AnnotatedDocument, Mention
from .report import Report
from .source import UNTYPED, BrokenRecord, Source
from .xml_elements import ElementParser

# Infons that hold concept ids, in lower case, with the prefix of bare numbers in them.
_ID_INFONS = {
    "identifier": None,
    "mesh": None,
    "umls": None,
    "cui": None,
    "omim": "OMIM",
    "doid": "DOID",
    "hp": "HP",
    "hpo": "HP",
    "chebi": "CHEBI",
    "ncbi gene": "NCBIGene",
    "ncbi taxonomy": "NCBITaxon",
}
_WIDEST_GAP = 100


def read_bioc(source: Source) -> Iterator[AnnotatedDocument]:
    """Read a BioC XML file.

    Passages stand in the text where their offsets say, with blanks between them, the first one at 0. A passage whose
    offset lies in the text before it, or leaves a gap of more than 100 characters, follows after one blank, and its
    annotations with it.

    Yields:
        the documents in the order of the file.

    Raises:
        SapbertError: E205 malformed XML, E206 a DTD inside the file or an entity that it does not know, E207 the root
            is no `collection`.
    """
    parser = ElementParser(source.path, "BioC", ("collection", "document"))
    for line, element in parser.elements(source.chunks()):
        try:
            yield _document(source, line, element)
        except BrokenRecord as reason:
            source.broken(line, reason)


class _Annotation(NamedTuple):
    """
    Attributes:
        mention: as annotated, with offsets into our text. n_pieces (int): its locations.
    """

    name: str
    mention: Mention
    n_pieces: int
    role: str


def _document(source: Source, line: int, document: Element) -> AnnotatedDocument:
    doc_id = (document.findtext("id") or "").strip()
    if not doc_id:
        raise BrokenRecord("a document without id")
    source.report.relations += sum(1 for _ in document.iter("relation"))
    text, elements = _layout(document, source.report)
    annotations = []
    for element, shift in elements:
        try:
            annotations.append(_annotation(element, shift))
        except BrokenRecord as reason:
            source.broken(line, f"document {doc_id}, annotation {element.get('id')}: {reason}")
    mentions = []
    for annotation in _with_parts(annotations):
        try:
            mentions.append(_placed(source, line, text, annotation))
        except BrokenRecord as reason:
            source.broken(line, f"document {doc_id}, annotation {annotation.name}: {reason}")
    return AnnotatedDocument(doc_id, text, tuple(sorted(mentions, key=lambda mention: mention[:2])))


def _layout(document: Element, report: Report) -> tuple[str, list[tuple[Element, int]]]:
    """The text of a document, and each annotation with what to add to its offsets to have them in that text."""
    pieces: list[str] = []
    annotations: list[tuple[Element, int]] = []
    length, shift = 0, 0
    for passage in document.iter("passage"):
        chunks = [passage] if passage.find("text") is not None else passage.findall("sentence")
        for chunk in chunks:
            start = _integer(chunk.findtext("offset"), "offset of a passage")
            if not pieces:
                shift = -start
            gap = start + shift - length
            if not 0 <= gap <= _WIDEST_GAP:
                report.shifted += 1
                shift, gap = shift - gap + 1, 1
            body = chunk.findtext("text") or ""
            pieces += [" " * gap, body]
            length += gap + len(body)
            annotations += [(annotation, shift) for annotation in chunk.iter("annotation")]
        if chunks != [passage]:
            annotations += [(annotation, shift) for annotation in passage.findall("annotation")]
    annotations += [(annotation, shift) for annotation in document.findall("annotation")]
    return "".join(pieces), annotations


def _annotation(element: Element, shift: int) -> _Annotation:
    infons = {infon.get("key", "").lower(): (infon.text or "").strip() for infon in element.iter("infon")}
    spans = []
    for location in element.findall("location"):
        start = _integer(location.get("offset"), "offset of a location") + shift
        spans.append((start, start + _integer(location.get("length"), "length of a location")))
    if not spans:
        raise BrokenRecord("no location")
    ids = (concept_id for key, prefix in _ID_INFONS.items() for concept_id in split_ids(infons.get(key, ""), prefix))
    mention = Mention(
        start=min(start for start, _ in spans),
        end=max(end for _, end in spans),
        text=element.findtext("text") or "",
        label=infons.get("type") or UNTYPED,
        ids=tuple(dict.fromkeys(ids)),
    )
    return _Annotation(element.get("id", ""), mention, len(spans), infons.get("compositerole", ""))


def _integer(raw: str | None, what: str) -> int:
    try:
        return parse_int(raw or "")
    except ValueError:
        raise BrokenRecord(f"{raw!r} is not a valid {what}") from None


def _with_parts(annotations: list[_Annotation]) -> list[_Annotation]:
    """BC5CDR annotates the single mentions of a composite as well: they become its `parts`."""
    wholes = [item for item in annotations if item.role != "IndividualMention"]
    for item in annotations:
        if item.role != "IndividualMention":
            continue
        for row, whole in enumerate(wholes):
            inside = whole.mention.start <= item.mention.start and item.mention.end <= whole.mention.end
            if inside and whole.role == "CompositeMention":
                mention = whole.mention._replace(parts=(*whole.mention.parts, item.mention.text))
                wholes[row] = whole._replace(mention=mention)
                break
        else:
            wholes.append(item)
    return wholes


def _placed(source: Source, line: int, text: str, annotation: _Annotation) -> Mention:
    if annotation.n_pieces == 1:
        return source.placed(line, text, annotation.mention)
    # The pieces' joined text is not that from the first to the last, so there is nothing to compare.
    mention = source.placed(line, text, annotation.mention._replace(text=""))
    source.report.discontinuous += 1
    return mention
