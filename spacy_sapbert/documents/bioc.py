"""Read BioC (Comeau et al. 2013, doi:10.1093/database/bat064): collection, documents, passages, annotations.

XML is read as a stream, with one document in memory at a time. Entities are refused, since they can expand without
bound. JSON is read as a whole, and each document takes the form of the XML.
"""

from __future__ import annotations

import codecs
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ..files.bounds import join_bounded
from ..files.values import parse_int
from ..files.xml import ElementParser
from ..kb.ids import decode_id, split_ids
from ..types import Document, Mention
from .bioc_json import json_documents
from .report import Report
from .source import UNTYPED, BrokenRecord, Source

# Keys of infons that hold concept ids, in lower case, with the prefix for bare numbers.
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
# the type of a first passage that is a title; PMC's has the type "front" and the section type "TITLE"
_TITLES = frozenset({"title", "front", "TITLE"})
# keys of infons of the first passage in the BioC of PMC and PubTator
_ABOUT = {
    "article-id_pmid": "pmid",
    "article-id_pmc": "pmcid",
    "article-id_doi": "doi",
    "journal-title": "journal",
    "journal": "journal",
    "license": "license",
}


def read_bioc(source: Source) -> Iterator[Document]:
    """Read a BioC file, as XML or JSON.

    Passages are placed at their offsets, with spaces between them and the first one at 0. An offset is wrong if it lies
    within an earlier passage, or leaves a gap of more than 100 characters. Such a passage follows after one space, and
    its annotations move with it.

    Yields:
        The documents in the order of the file.

    Raises:
        SapbertError: E205 if the XML is malformed; E206 if the file contains a DTD or an unknown entity; E207 if the
            root is not `collection`; E217 if the file is JSON, but not BioC.
    """
    for found in read_bioc_documents(source):
        yield found.document


class BiocDocument(NamedTuple):
    """A document of a BioC file.

    Attributes:
        line: Its line; 1 for JSON.
        document: The document.
        meta: What is known of it. "title" is the first passage, if its type is that of a title, or "front" as in PMC.
            Then the text starts with it and a blank. "year" is a number. "pmid", "pmcid", "doi", "journal" and
            "license" are as PMC and PubTator give them.
    """

    line: int
    document: Document
    meta: dict[str, object]


def read_bioc_documents(source: Source) -> Iterator[BiocDocument]:
    """Read a BioC file with what is known of its documents (see `read_bioc`).

    Raises:
        SapbertError: See `read_bioc`.
    """
    for line, element in _elements(source):
        try:
            document = _document(source, line, element)
        except BrokenRecord as reason:
            source.broken(line, reason)
        else:
            yield BiocDocument(line, document, _meta(element, document.text))


def _elements(source: Source) -> Iterator[tuple[int, Element]]:
    chunks = source.chunks()
    first = next(chunks)
    if first.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"["):
        return json_documents(source.path, join_bounded(source.path, chain([first], chunks)))
    parser = ElementParser(source.path, "BioC", ("collection", "document"))
    return parser.elements(chain([first], chunks))


def _meta(document: Element, text: str) -> dict[str, object]:
    passage = document.find("passage")
    infons = [*document.findall("infon"), *(passage.findall("infon") if passage is not None else ())]
    given = {infon.get("key", ""): (infon.text or "").strip() for infon in infons}
    meta: dict[str, object] = {name: given[key] for key, name in _ABOUT.items() if given.get(key)}
    if passage is not None and _TITLES.intersection(infon.text for infon in infons):
        title = passage.findtext("text") or ""
        if title and (text == title or text.startswith(f"{title} ")):
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
        n_pieces: Number of its locations.
        role: Its composite role, or empty.
    """

    name: str
    mention: Mention
    n_pieces: int
    role: str


def _document(source: Source, line: int, document: Element) -> Document:
    doc_id = (document.findtext("id") or "").strip()
    if not doc_id:
        raise BrokenRecord("a document without id")
    source.report.relations += sum(1 for _ in document.iter("relation"))
    text, elements = _place_passages(document, source.report)
    annotations = []
    for element, shift in elements:
        try:
            annotations.append(_annotation(element, shift))
        except BrokenRecord as reason:
            source.broken(line, f"document {doc_id}, annotation {element.get('id')}: {reason}")
    mentions = []
    for annotation in _merge_composites(annotations):
        try:
            mentions.append(_place_mention(source, line, text, annotation))
        except BrokenRecord as reason:
            source.broken(line, f"document {doc_id}, annotation {annotation.name}: {reason}")
    return Document(doc_id, text, tuple(sorted(mentions, key=lambda mention: mention[:2])))


def _place_passages(document: Element, report: Report) -> tuple[str, list[tuple[Element, int]]]:
    """Return the text of a document, and each annotation with the shift of its offsets into that text."""
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
        ids=tuple(dict.fromkeys(map(decode_id, ids))),
        offsets=tuple(sorted(spans)) if len(spans) > 1 and all(start < end for start, end in spans) else (),
    )
    return _Annotation(element.get("id", ""), mention, len(spans), infons.get("compositerole", ""))


def _integer(raw: str | None, what: str) -> int:
    try:
        return parse_int(raw or "")
    except ValueError:
        raise BrokenRecord(f"{raw!r} is not a valid {what}") from None


def _merge_composites(annotations: list[_Annotation]) -> list[_Annotation]:
    """Add the single mentions of a composite, which BC5CDR also annotates, to its `parts`.

    A single mention belongs to the first composite that it is inside of. It takes O(n log n) time.
    """
    wholes = [item for item in annotations if item.role != "IndividualMention"]
    composites = [(item.mention, row) for row, item in enumerate(wholes) if item.role == "CompositeMention"]
    singles = [item for item in annotations if item.role == "IndividualMention"]
    rows = _first_around([item.mention for item in singles], composites)
    parts: dict[int, list[str]] = {}
    for item, row in zip(singles, rows, strict=True):
        if row is None:
            wholes.append(item)
        else:
            parts.setdefault(row, []).append(item.mention.text)
    for row, texts in parts.items():
        mention = wholes[row].mention
        wholes[row] = wholes[row]._replace(mention=mention._replace(parts=(*mention.parts, *texts)))
    return wholes


def _first_around(inner: list[Mention], outer: list[tuple[Mention, int]]) -> list[int | None]:
    """Return the lowest number of a mention of `outer` around each mention of `inner`, or None.

    The mentions are taken by their starts. A Fenwick tree over their ends has the lowest number of those that were
    taken. So it does not compare each mention with each other one.
    """
    ends = sorted({-mention.end for mention, _ in outer})
    lowest = [math.inf] * (len(ends) + 1)
    waiting = sorted(outer, key=lambda pair: pair[0].start, reverse=True)
    found: list[int | None] = [None] * len(inner)
    for place in sorted(range(len(inner)), key=lambda place: inner[place].start):
        while waiting and waiting[-1][0].start <= inner[place].start:
            mention, number = waiting.pop()
            at = bisect_left(ends, -mention.end) + 1
            while at < len(lowest):
                lowest[at] = min(lowest[at], number)
                at += at & -at
        at, best = bisect_right(ends, -inner[place].end), math.inf
        while at:
            best = min(best, lowest[at])
            at -= at & -at
        found[place] = None if best == math.inf else int(best)
    return found


def _place_mention(source: Source, line: int, text: str, annotation: _Annotation) -> Mention:
    if annotation.n_pieces == 1:
        return source.placed(line, text, annotation.mention)
    # The text of the pieces is not the text from first to last, so it cannot be compared.
    mention = source.placed(line, text, annotation.mention._replace(text=""))
    source.report.discontinuous += 1
    return mention
