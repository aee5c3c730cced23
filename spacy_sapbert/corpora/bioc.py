"""BioC XML (Comeau et al. 2013, doi:10.1093/database/bat064): collection, documents, passages, annotations.

Read as a stream, one document in memory at a time. Entities are refused, since they can grow without bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ..errors import Errors, SapbertError
from ..kb.ids import split_ids
from ..types import AnnotatedDocument, Mention
from .report import Report
from .source import UNTYPED, BrokenRecord, Source

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

    YIELDS (AnnotatedDocument): the documents in the order of the file.
    RAISES (SapbertError): E205 malformed XML, E206 a DTD inside the file or an entity that it does not know, E207 the
        root is no `collection`.
    """
    for line, element in _DocumentParser(source.path).documents(source.chunks()):
        try:
            yield _document(source, line, element)
        except BrokenRecord as reason:
            source.broken(line, reason)


class _DocumentParser:
    """Cuts the XML into `document` elements and tells the line where each starts, which iterparse cannot."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = self._entity
        self._depth = 0
        self._line = 0
        self._tree: TreeBuilder | None = None
        self._ready: list[tuple[int, Element]] = []

    def documents(self, chunks: Iterable[bytes]) -> Iterator[tuple[int, Element]]:
        """YIELDS (tuple[int, Element]): line and element of each document, also of those just before an error."""
        for chunk in chunks:
            error = None
            try:
                self._parser.Parse(chunk, not chunk)
            except expat.ExpatError as caught:
                error = caught
            yield from self._ready
            self._ready.clear()
            if error:
                reason = expat.errors.messages[error.code]
                raise SapbertError(Errors.E205.format(path=self._path, line=error.lineno, reason=reason)) from error

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth == 0 and tag != "collection":
            raise SapbertError(Errors.E207.format(path=self._path, root=tag))
        if self._depth == 1 and tag == "document":
            self._line = self._parser.CurrentLineNumber
            self._tree = TreeBuilder()
            self._parser.CharacterDataHandler = self._tree.data
        self._depth += 1
        if self._tree:
            self._tree.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if not self._tree:
            return
        self._tree.end(tag)
        if self._depth == 1:
            self._ready.append((self._line, self._tree.close()))
            self._tree = None
            self._parser.CharacterDataHandler = None

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, has_internal_subset: bool) -> None:
        if has_internal_subset:
            self._refuse("a DTD inside the file")

    def _entity(self, name: str, is_parameter_entity: bool) -> None:
        self._refuse(f"the entity &{name};")

    def _refuse(self, what: str) -> None:
        line = self._parser.CurrentLineNumber
        raise SapbertError(Errors.E206.format(path=self._path, line=line, what=what))


class _Annotation(NamedTuple):
    """mention (Mention): as annotated, with offsets into our text. n_pieces (int): its locations."""

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
        return int(raw or "")
    except ValueError:
        raise BrokenRecord(f"{raw!r} is no {what}") from None


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
