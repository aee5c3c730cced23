"""Read and write UIMA CAS as XMI, the exchange format of INCEpTION, with the named entities of DKPro Core.

Offsets count UTF-16 code units, as Java does. The XML is read as `ElementParser` does, so it cannot refer to other
files or expand. To read it, no type system is needed. `TypeSystem.xml` is that of what is written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from ..files.opening import without_gz
from ..files.source import BrokenRecord
from ..files.values import parse_int
from ..files.xml import ElementParser
from ..kb.ids import is_known
from ..types import Document, Mention
from .annotation_tools import Names, mention_of, read_ids, written_id
from .bioc import ID_INFONS, INVALID_XML
from .formats import TYPE_SYSTEM
from .source import DocumentSource, Report

_XMLNS = {
    "xmlns:xmi": "http://www.omg.org/XMI",
    "xmlns:cas": "http:///uima/cas.ecore",
    "xmlns:metadata": "http:///de/tudarmstadt/ukp/dkpro/core/api/metadata/type.ecore",
    "xmlns:ner": "http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore",
    "xmi:version": "2.0",
}
TYPE_SYSTEM_FILE = Path(__file__).with_name(TYPE_SYSTEM)
_ID_FEATURES = [*ID_INFONS, "concept"]
_PLACE = ("xmi:id", "sofa", "begin", "end", "pieces")
_RELATING = ("Governor", "Dependent", "next", "referenceRelation")
_OF_TEXT = ("Token", "Sentence", "DocumentMetaData", "DocumentAnnotation")


def read_xmi(source: DocumentSource) -> Iterator[Document]:
    """Read the document of an XMI file: the text of its first view, with its named entities and custom layers.

    The label is the feature "value" or "label", or the name of the layer. Ids are "identifier" and the like, and the
    addresses and known ids in any other feature. Stacked annotations of one span and label are one mention with several
    ids. Relations and links of chains are no mentions.
    """
    roots = ElementParser(source.path, "XMI", ("xmi:XMI",)).elements(source.chunks())
    return source.each(roots, partial(_document, source))


def _document(source: DocumentSource, line: int, root: Element) -> Document:
    sofa = next((element for element in root if element.tag == "cas:Sofa"), None)
    if sofa is None or "sofaString" not in sofa.attrib:
        raise BrokenRecord("there is no text")
    text = sofa.attrib["sofaString"]
    units = utf16_offsets(text)
    about = next((element for element in root if element.tag.endswith(":DocumentMetaData")), sofa)
    doc_id = about.get("documentId") or about.get("documentTitle") or without_gz(Path(source.name)).stem
    placed = [element for element in root if element.get("sofa") == sofa.get("xmi:id") and "begin" in element.attrib]
    found = [element for element in placed if _is_mention(element)]
    _count_others(source.report, placed)
    document = source.mentions(line, Document(doc_id, text), found, partial(_mention, units))
    stacked: dict[Mention, dict[str, None]] = {}
    for mention in document.mentions:
        stacked.setdefault(mention._replace(ids=()), {}).update(dict.fromkeys(mention.ids))
    mentions = (mention._replace(ids=tuple(ids)) for mention, ids in stacked.items())
    return document._replace(mentions=tuple(mentions), position=source.place(line))


def _count_others(report: Report, placed: list[Element]) -> None:
    report.relations += sum(map(_is_relation, placed))
    others = (element.tag for element in placed if not (_is_mention(element) or _is_relation(element)))
    report.unread.update(f"layer {tag}" for tag in others if tag.rpartition(":")[2] not in _OF_TEXT)


def _is_relation(element: Element) -> bool:
    return any(feature in element.attrib for feature in _RELATING)


def _is_mention(element: Element) -> bool:
    layer, _, name = element.tag.partition(":")
    is_entity = name == "NamedEntity" or layer.startswith("custom") or any(map(element.get, _ID_FEATURES))
    return is_entity and not _is_relation(element)


def _mention(units: Sequence[int], element: Element) -> Mention:
    spans = element.get("pieces") or f"{element.attrib['begin']} {element.attrib['end']}"
    pieces = []
    for span in spans.split(";"):
        start, end = (_character(units, parse_int(offset)) for offset in span.split(" "))
        pieces.append((start, end))
    features = [*element.items(), *((child.tag, child.text or "") for child in element)]
    ids = [concept_id for name, text in features for concept_id in _ids(name, text)]
    labels = (element.get(name, "") for name in ("value", "label"))
    label = next((label for label in labels if label and not _ids("", label)), element.tag.partition(":")[2])
    return mention_of(pieces, label, ids)


def _ids(feature: str, text: str) -> list[str]:
    """Return the ids in a feature: all in one that is named for ids, else addresses and ids of known vocabularies."""
    if feature.lower() in _ID_FEATURES:
        return read_ids(text, prefix=ID_INFONS.get(feature.lower()))
    if feature in _PLACE or (not text.startswith(("http://", "https://")) and ":" not in text):
        return []
    ids = read_ids(text)
    return ids if text.startswith("http") or all(map(is_known, ids)) else []


def _character(units: Sequence[int], offset: int) -> int:
    """Return the number of the character at an offset in UTF-16 code units."""
    number = bisect_left(units, offset)
    if number == len(units) or units[number] != offset:
        raise BrokenRecord(f"the offset {offset} is outside the text, or inside a character")
    return number


def utf16_offsets(text: str) -> Sequence[int]:
    """Return the offset of each character, and of the end, in UTF-16 code units."""
    if text.isascii():
        return range(len(text) + 1)
    return [0, *accumulate(1 + (character > "\uffff") for character in text)]


def xmi_files(document: Document, names: Names) -> dict[str, str]:
    """Return the XMI of a document, by the ending of its file. Each id of a mention has a named entity of its own."""
    text = document.text.translate(INVALID_XML)
    units = utf16_offsets(text)
    root = Element("xmi:XMI", _XMLNS)
    SubElement(root, "cas:NULL", {"xmi:id": "0"})
    view = {"sofa": "1", "begin": "0", "end": str(units[-1])}
    head = {"documentTitle": document.doc_id, "documentId": document.doc_id, "language": "x-unspecified"}
    SubElement(root, "metadata:DocumentMetaData", {"xmi:id": "2", **view, **head})
    for mention in document.mentions:
        place = {
            "sofa": "1",
            "begin": str(units[mention.start]),
            "end": str(units[mention.end]),
            "value": mention.label,
        }
        if mention.offsets:
            place["pieces"] = ";".join(f"{units[start]} {units[end]}" for start, end in mention.offsets)
        for identifier in [{"identifier": written_id(concept_id)} for concept_id in mention.ids] or [{}]:
            SubElement(root, "ner:NamedEntity", {"xmi:id": str(len(root) + 1), **place, **identifier})
    members = " ".join(str(number) for number in range(2, len(root) + 1))
    about = {"xmi:id": "1", "sofaNum": "1", "sofaID": "_InitialView", "mimeType": "text"}
    SubElement(root, "cas:Sofa", {**about, "sofaString": text})
    SubElement(root, "cas:View", {"sofa": "1", "members": members})
    xml = tostring(root, encoding="unicode").translate(INVALID_XML)
    return {".xmi": f'<?xml version="1.0" encoding="UTF-8"?>\n{xml}\n'}
