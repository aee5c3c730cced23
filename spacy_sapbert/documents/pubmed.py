"""Read PubMed as NLM distributes it, and find the records that newer ones replace or delete.

The baseline and the update files hold a `PubmedArticleSet`. An update file repeats a record that has changed as a
whole, and names the deleted ones at its end.
Elements: NLM, PubMed XML Element Descriptions, https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ..errors import SapbertError
from ..files.opening import open_unpacked
from ..files.source import BrokenRecord
from ..files.xml import ElementParser, blocks_of
from ..types import Document
from .source import DocumentSource
from .text_files import with_title

ROOT = "PubmedArticleSet"
ARTICLES = ("PubmedArticle", "PubmedBookArticle")
"""The tags of the records. A book article is a chapter of a book, as of GeneReviews."""

_CITATIONS = ("MedlineCitation", "BookDocument")
_DELETED = "DeleteCitation"
_NUMBER = re.compile("[0-9]+")
_MOST_DIGITS = 9  # a PMID has 8 at present
_NOT_NEEDED = ("AuthorList", "ChemicalList", "CommentsCorrectionsList", "GrantList", "History", "ReferenceList")
_NOT_OF_PMIDS = (*_NOT_NEEDED, "Abstract", "Article", "Book", "MeshHeadingList", "PubmedBookData", "PubmedData")
_CHUNK = 1 << 16  # as for documents: of a damaged file, both see the same part
_NO_EVENTS = np.empty((0, 3), np.int32)
_ENGLISH = "eng"
_ELSEWHERE = "Abstract available from the publisher"
"""What NLM writes instead of an abstract that PubMed does not have."""
_UNLABELLED = "UNLABELLED"
"""The label of a part that has none in the article."""
_NO_TEXT = frozenset({"annotation", "annotation-xml", "mml:annotation", "mml:annotation-xml"})
"""Copies of a formula in another notation."""


def read_pubmed(source: DocumentSource) -> Iterator[Document]:
    """Read a file of PubMed as a stream.

    The text is the title, a blank and the abstract, with the labels of its parts: `METHODS: …`. Markup in it is
    dropped, and line ends become blanks. Without an English abstract, another one takes its place, and "abstract_type"
    and "abstract_language" of `meta` name it.

    Yields:
        The documents in the order of the file. Their ids are the PMIDs.
    """
    skipped = frozenset(map(int, source.left_out))
    parser = ElementParser(Path(source.file), "PubMed", (ROOT, "|".join(ARTICLES)), without=_NOT_NEEDED)
    records = enumerate(parser.elements(source.chunks()))
    yield from source.each((record for number, record in records if number not in skipped), partial(_document, source))


def _document(source: DocumentSource, line: int, record: Element) -> Document:
    citation, pmid = _citation(record)
    doc_id = pmid_of("".join(pmid.itertext()))
    if doc_id is None:
        raise BrokenRecord("the PMID of this record is not a number")
    inner = citation.find("Article")
    article = citation if inner is None else inner  # books have no such element
    abstract, about = _abstract(citation, article)
    title = _text(article, "ArticleTitle") or _text(article, "VernacularTitle") or _text(article, "Book/BookTitle")
    text = with_title(title, abstract)
    if not text:
        raise BrokenRecord(f"record {doc_id} has neither a title nor an abstract")
    meta = {
        "title": title,
        "year": _year(article),
        "language": _texts(article, "Language"),
        "journal": _text(article, "Journal/Title"),
        "book": _text(article, "Book/BookTitle"),
        "doi": _id(record, "doi"),
        "pmcid": _id(record, "pmc"),
        "publication_types": _texts(article, "PublicationTypeList/PublicationType")
        or _texts(article, "PublicationType"),
        "mesh": _mesh(citation, major=False),
        "mesh_major": _mesh(citation, major=True),
        **about,
    }
    if (version := version_of(pmid.get("Version"))) != 1:
        meta["version"] = version
    given = {name: value for name, value in meta.items() if value}
    return Document(str(doc_id), text, title=title, meta=given, position=source.place(line))


def _citation(record: Element) -> tuple[Element, Element]:
    for citation in record:
        if citation.tag in _CITATIONS:
            pmid = citation.find("PMID")
            if pmid is not None:
                return citation, pmid
    raise BrokenRecord("this record has no PMID")


def pmid_of(text: str) -> int | None:
    """Return the PMID that a text is; None if it is not a number."""
    digits = text.strip()
    return int(digits) if len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdecimal() else None


def version_of(text: str | None) -> int:
    """Return the version of a record; 1 if none is given."""
    return pmid_of(text or "") or 1


def _abstract(citation: Element, article: Element) -> tuple[str, dict[str, str]]:
    """Return the abstract, and which one it is if it is not the English one of the article."""
    text = _labelled(article.find("Abstract"))
    if text:
        return text, {}
    others = [(other, _labelled(other)) for other in citation.iterfind("OtherAbstract")]
    given = [(other, text) for other, text in others if text and not text.startswith(_ELSEWHERE)]
    given.sort(key=lambda pair: pair[0].get("Language", _ENGLISH) != _ENGLISH)
    for other, text in given:
        return text, {"abstract_type": other.get("Type", ""), "abstract_language": other.get("Language", _ENGLISH)}
    return "", {}


def _labelled(abstract: Element | None) -> str:
    parts = []
    for part in () if abstract is None else abstract.iterfind("AbstractText"):
        label, text = part.get("Label", "").strip(), _flat(part)
        if text:
            parts.append(f"{label}: {text}" if label and label.upper() != _UNLABELLED else text)
    return " ".join(parts)


def _year(article: Element) -> int | None:
    for path in ("Journal/JournalIssue/PubDate", "Book/PubDate", "ArticleDate"):
        for date in article.iterfind(path):
            for tag in ("Year", "MedlineDate"):
                for number in _NUMBER.findall(date.findtext(tag) or ""):
                    if len(number) == 4:
                        return int(number)
    return None


def _mesh(citation: Element, *, major: bool) -> list[str]:
    """Return the ids of the MeSH headings. A heading is major if it or one of its qualifiers is."""
    ids = []
    for heading in citation.iterfind("MeshHeadingList/MeshHeading"):
        name = heading.find("DescriptorName")
        is_major = any(part.get("MajorTopicYN") == "Y" for part in heading)
        if name is not None and name.get("UI") and (is_major or not major):
            ids.append(name.get("UI", ""))
    return ids


def _id(record: Element, kind: str) -> str:
    for data in ("PubmedData", "PubmedBookData"):
        for article_id in record.iterfind(f"{data}/ArticleIdList/ArticleId"):
            if article_id.get("IdType") == kind and article_id.text:
                return article_id.text.strip()
    return ""


def _texts(article: Element, path: str) -> list[str]:
    return [text for text in map(_flat, article.iterfind(path)) if text]


def _text(article: Element, path: str) -> str:
    element = article.find(path)
    return "" if element is None else _flat(element)


def _flat(element: Element) -> str:
    return " ".join(blocks_of(element, (), lambda part: part.tag in _NO_TEXT))


# --- newer records


def superseded(scans: Mapping[Path, NDArray[np.int32]]) -> dict[Path, NDArray[np.int32]]:
    """Find the records of files of PubMed that a newer record replaces or deletes.

    Of the records of a PMID, the one with the highest version is the newest. Of the same version, it is the one in the
    last file, by the file names, and in this file the last one. A deletion counts like a record.

    38 million records take about a gigabyte, without their files.

    Args:
        scans: What `pmids_of` returns for each file.

    Returns:
        For each file that has any, the numbers of the records to leave out, for `read_pubmed`, in rising order.
    """
    ordered = sorted(scans, key=lambda path: (path.name, str(path)))
    pmids, versions, numbers = np.concatenate([_NO_EVENTS, *(scans[path] for path in ordered)]).T
    order = np.lexsort((versions, pmids))  # stable, so that the last one of a version stays the last one
    has_newer = np.zeros(len(order), bool)
    has_newer[order[:-1]] = pmids[order[1:]] == pmids[order[:-1]]
    has_newer &= numbers >= 0
    left_out, end = {}, 0
    for path in ordered:
        start, end = end, end + len(scans[path])
        if has_newer[start:end].any():
            left_out[path] = numbers[start:end][has_newer[start:end]]
    return left_out


def pmids_of(path: Path) -> NDArray[np.int32]:
    """Read only the PMIDs, the versions and the deletions of a file of PubMed. Another file has none.

    Of a file that is damaged, what comes before the damage counts, as `read_pubmed` reads it before the error.

    Returns:
        Rows of PMID, version, and the number of the record in the file, from 0, or -1 for a deletion.
    """
    events: list[tuple[int, int, int]] = []
    parser = ElementParser(path, "PubMed", (ROOT, "|".join((*ARTICLES, _DELETED))), without=_NOT_OF_PMIDS)
    number = -1
    # reading the file reports the reason
    with suppress(SapbertError, OSError), open_unpacked(path) as handle:
        for _, element in parser.elements(chain(iter(lambda: handle.read(_CHUNK), b""), [b""])):
            if element.tag == _DELETED:
                events += _events(element.iterfind("PMID"), -1)
            else:
                number += 1
                with suppress(BrokenRecord):
                    events += _events([_citation(element)[1]], number)
    return np.array(events, np.int32).reshape(-1, 3)


def _events(pmids: Iterable[Element], number: int) -> Iterator[tuple[int, int, int]]:
    for element in pmids:
        pmid = pmid_of("".join(element.itertext()))
        if pmid is not None:
            yield pmid, version_of(element.get("Version")), number
