"""Read and write BioC (Comeau et al. 2013, doi:10.1093/database/bat064): documents, passages, annotations.

XML is read as a stream, with one document in memory at a time. Entities are refused, since they can expand without
bound. JSON is read as a whole, and each document takes the form of the XML. Documents are written as a stream.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from ..errors import OtherFormatError
from ..files.opening import read_whole
from ..files.source import BrokenRecord
from ..files.values import check_writable, json_list, json_values, parse_int
from ..files.xml import ElementParser
from ..kb.ids import decode_id, split_ids
from ..types import Document, Mention
from .source import UNTYPED, DocumentSource, Report

Values = Mapping[str, Any]
"""A document, or a part of it, as BioC JSON has it."""

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
ID_INFONS: dict[str, str | None] = _TABLES["ids"]
"""Keys of infons that hold concept ids, in lower case, with the prefix for bare numbers."""
_WIDEST_GAP = 100
# the type of a first passage that is a title; PMC's has the type "front" and the section type "TITLE"
_TITLES = frozenset({"title", "front", "TITLE"})
_ABOUT: dict[str, str] = _TABLES["about"]
"""Keys of infons of the first passage in the BioC of PMC and PubTator, and those of metadata."""


def read_bioc(source: DocumentSource) -> Iterator[Document]:
    """Read a BioC file, as XML or JSON.

    Passages are placed at their offsets, with spaces between them and the first one at 0. An offset is wrong if it lies
    within an earlier passage, or leaves a gap of more than 100 characters. Such a passage follows after one space, and
    its annotations move with it. Some files count the offsets of annotations from the start of their sentence or
    passage. If only this way fits the text of an annotation, it is taken.

    Yields:
        The documents in the order of the file. The title is the first passage, if its type is that of a title, or
        "front" as in PMC. Of `meta`, "year" is a number. "pmid", "pmcid", "doi", "journal" and "license" are as PMC and
        PubTator give them.
    """
    yield from source.each(_elements(source), partial(_document, source))


def _elements(source: DocumentSource) -> Iterator[tuple[int, Element]]:
    chunks = source.chunks()
    first = next(chunks)
    if first.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"["):
        return _json_elements(source, b"".join(read_whole(source.path, chain([first], chunks))))
    parser = ElementParser(source.path, "BioC", ("collection", "document"))
    return parser.elements(chain([first], chunks))


def _meta(document: Element, text: str) -> dict[str, object]:
    passage = document.find("passage")  # not by "passage[1]", which takes quadratic time
    infons = [*document.findall("infon"), *(passage.findall("infon") if passage is not None else ())]
    given = {infon.get("key", ""): (infon.text or "").strip() for infon in infons}
    meta: dict[str, object] = {name: given[key] for key, name in _ABOUT.items() if given.get(key)}
    title = passage.findtext("text", "") if passage is not None else ""
    if title and f"{text} ".startswith(f"{title} ") and _TITLES.intersection(infon.text for infon in infons):
        meta = {"title": title, **meta}
    year = given.get("year", "")
    if "pmcid" in meta:
        meta["pmcid"] = f"PMC{str(meta['pmcid']).upper().removeprefix('PMC')}"
    if len(year) == 4 and year.isascii() and year.isdecimal():
        meta["year"] = int(year)
    return meta


class _Annotation(NamedTuple):
    """An annotation of a document.

    Attributes:
        name: Its id.
        mention: As annotated, with offsets into the text of the document.
        role: Its composite role, or empty.
    """

    name: str
    mention: Mention
    role: str


def _document(source: DocumentSource, line: int, document: Element) -> Document:
    doc_id = (document.findtext("id") or "").strip()
    if not doc_id:
        raise BrokenRecord("a document without id")
    source.report.relations += sum(1 for _ in document.iter("relation"))
    text, elements = _place_passages(document, source.report)
    annotations = []
    for element, shift, start in elements:
        try:
            annotations.append(_fitting(text, element, shift, start))
        except BrokenRecord as reason:
            source.broken(line, f"document {doc_id}, annotation {element.get('id')}: {reason}")
    mentions = []
    for annotation in _merge_composites(annotations):
        try:
            mentions.append(source.placed(line, text, annotation.mention))
        except BrokenRecord as reason:
            source.broken(line, f"document {doc_id}, annotation {annotation.name}: {reason}")
    meta = _meta(document, text)
    title = str(meta.get("title", ""))
    mentions.sort(key=lambda mention: mention[:2])
    return Document(doc_id, text, tuple(mentions), title, meta, position=source.place(line))


def _place_passages(document: Element, report: Report) -> tuple[str, list[tuple[Element, int, int]]]:
    """Return the text of a document, and each annotation with the shift of its offsets into that text, and with the
    start of its sentence or passage in the text.
    """
    pieces: list[str] = []
    annotations: list[tuple[Element, int, int]] = []
    length, shift = 0, 0
    for passage in document.iter("passage"):
        chunks = [passage] if passage.find("text") is not None else passage.findall("sentence")
        first: int | None = None
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
            place = length - len(body)
            first = place if first is None else first
            annotations += [(annotation, shift, place) for annotation in chunk.iter("annotation")]
        if chunks != [passage]:
            annotations += [(annotation, shift, first or 0) for annotation in passage.findall("annotation")]
    annotations += [(annotation, shift, 0) for annotation in document.findall("annotation")]
    return "".join(pieces), annotations


def _annotation(element: Element, shift: int) -> _Annotation:
    infons = {infon.get("key", "").lower(): (infon.text or "").strip() for infon in element.iter("infon")}
    spans = []
    for location in element.findall("location"):
        start = _integer(location.get("offset"), "offset of a location") + shift
        spans.append((start, start + _integer(location.get("length"), "length of a location")))
    if not spans:
        raise BrokenRecord("no location")
    pieces = tuple(sorted(spans)) if len(spans) > 1 and all(start < end for start, end in spans) else ()
    ids = (concept_id for key, prefix in ID_INFONS.items() for concept_id in split_ids(infons.get(key, ""), prefix))
    mention = Mention(
        start=min(start for start, _ in spans),
        end=max(end for _, end in spans),
        text=(element.findtext("text") or "") if pieces or len(spans) == 1 else "",
        label=infons.get("type") or UNTYPED,
        ids=tuple(dict.fromkeys(map(decode_id, ids))),
        offsets=pieces,
    )
    return _Annotation(element.get("id", ""), mention, infons.get("compositerole", ""))


def _fitting(text: str, element: Element, shift: int, start: int) -> _Annotation:
    """Return an annotation with the offsets of the file, or else from the start of its sentence, if they fit better."""
    annotation = _annotation(element, shift)
    if not _fits(text, annotation) and annotation.mention.text:
        from_start = _annotation(element, start)
        return from_start if _fits(text, from_start) else annotation
    return annotation


def _fits(text: str, annotation: _Annotation) -> bool:
    """Return whether the text of an annotation is at its offsets."""
    mention = annotation.mention
    spans = mention.offsets or [mention[:2]]
    there = "".join(text[start:end] for start, end in spans)
    return "".join(there.lower().split()) == "".join(mention.text.lower().split())


def _integer(raw: str | None, what: str) -> int:
    try:
        return parse_int(raw or "")
    except ValueError:
        raise BrokenRecord(f"{raw!r} is not a valid {what}") from None


def _merge_composites(annotations: list[_Annotation]) -> list[_Annotation]:
    """Add the single mentions of a composite, which BC5CDR also annotates, to its `parts`.

    A single mention belongs to the composite around it; of several ones, to the one that reaches farthest. It takes
    O(n log n) time.
    """
    wholes = [item for item in annotations if item.role != "IndividualMention"]
    composites = [row for row, item in enumerate(wholes) if item.role == "CompositeMention"]
    composites.sort(key=lambda row: wholes[row].mention.start, reverse=True)
    singles = [(number, item) for number, item in enumerate(annotations) if item.role == "IndividualMention"]
    farthest, end = 0, -1
    parts: dict[int, list[tuple[int, str]]] = {}
    for number, item in sorted(singles, key=lambda pair: pair[1].mention.start):
        while composites and wholes[composites[-1]].mention.start <= item.mention.start:
            row = composites.pop()
            if wholes[row].mention.end > end:
                farthest, end = row, wholes[row].mention.end
        if item.mention.end <= end:
            parts.setdefault(farthest, []).append((number, item.mention.text))
        else:
            wholes.append(item)
    for row, texts in parts.items():
        mention = wholes[row].mention
        mention = mention._replace(parts=(*mention.parts, *(text for _, text in sorted(texts))))
        wholes[row] = wholes[row]._replace(mention=mention)
    return wholes


# --- JSON

_LISTS = {"passages": "passage", "sentences": "sentence", "annotations": "annotation", "relations": "relation"}


def _json_elements(source: DocumentSource, content: bytes) -> Iterator[tuple[int, Element]]:
    """Yield the documents of BioC JSON as elements of XML, each with line 1.

    The content is a collection, a list of collections, an object with a list of documents, or a document on each line.
    The answers of PubTator have such forms.
    """
    try:
        values = json_values(content.removeprefix(codecs.BOM_UTF8))
        check_writable(values)
    except ValueError as error:
        raise _not_bioc(source, error) from error
    documents = [document for value in values for document in _json_documents(value)]
    if not documents:
        raise _not_bioc(source, "it has no documents with passages")
    for document in documents:
        yield 1, _element_of("document", document)


def _not_bioc(source: DocumentSource, reason: object) -> OtherFormatError:
    remedy = "If each line is an object with a text, the format is jsonl."
    return OtherFormatError(path=source.file, reason=f"this is not BioC JSON: {reason}", remedy=remedy)


def _json_documents(value: Any) -> Iterator[Values]:
    """Yield the objects with passages, at most two lists deep."""
    for collection in value if isinstance(value, list) else [value]:
        if not isinstance(collection, dict):
            continue
        if isinstance(collection.get("passages"), list):
            yield collection
            continue
        for documents in collection.values():
            for document in documents if isinstance(documents, list) else ():
                if isinstance(document, dict) and isinstance(document.get("passages"), list):
                    yield document


def _element_of(tag: str, value: Values) -> Element:
    element = Element(tag)
    for key, content in value.items():
        if key == "infons" and isinstance(content, dict):
            for name, infon in content.items():
                SubElement(element, "infon", key=str(name)).text = "" if infon is None else str(infon)
        elif key == "locations" and isinstance(content, list):
            for location in content:
                attributes = location if isinstance(location, dict) else {}
                SubElement(element, "location", {str(name): str(number) for name, number in attributes.items()})
        elif key in _LISTS and isinstance(content, list):
            element.extend(_element_of(_LISTS[key], item) for item in content if isinstance(item, dict))
        elif key == "id" and tag == "annotation":
            element.set("id", str(content))
        elif key in ("id", "offset", "text") and content is not None:
            SubElement(element, key).text = str(content)
    return element


# --- writing

# the date is empty, so that the same documents give the same bytes
_COLLECTION = {"source": "spacy-sapbert", "date": "", "key": ""}
INVALID_XML = dict.fromkeys({*range(ord(" ")), 0xFFFE, 0xFFFF} - set(map(ord, "\t\n\r")), " ")


def bioc_xml(documents: Iterable[Values]) -> Iterator[str]:
    """Yield a BioC XML collection, one document at a time.

    XML allows no control characters except tab and line ends. Each of the others becomes a blank, so that offsets stay.

    Args:
        documents: The documents as BioC JSON has them, with the keys in the order of the XML.
    """
    head = "".join(f"<{name}>{value}</{name}>\n" for name, value in _COLLECTION.items())
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<collection>\n{head}'
    for document in documents:
        xml = tostring(_element_of("document", document), encoding="unicode")
        yield xml.translate(INVALID_XML).replace("\r", "&#13;") + "\n"  # parsers turn a plain CR into LF
    yield "</collection>\n"


def bioc_json(documents: Iterable[Values]) -> Iterator[str]:
    """Yield a BioC JSON collection, one document at a time."""
    head = json.dumps({**_COLLECTION, "infons": {}, "documents": []})
    return json_list(head.removesuffix("]}"), documents, "\n]}\n")
