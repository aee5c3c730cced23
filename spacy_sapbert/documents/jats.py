"""Read the full articles of PubMed Central, which are JATS XML (NISO Z39.96).

A file has one article, or several in a `pmc-articleset` or in an answer of PMC's OAI service.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from xml.etree.ElementTree import Element

from ..files.source import BrokenRecord
from ..files.xml import ElementParser, blocks_of, root_tag
from ..types import Document
from .source import DocumentSource
from .text_files import with_title

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
_PATHS: dict[str, list[str]] = _TABLES["paths"]
"""The tags from the root to an article, by the root."""
# in the order in which they give a document its id; PMC has changed these names
_PMC_IDS = ("pmcid", "pmc", "pmcaid")
_LEFT_OUT, _APART = frozenset(chain(*_TABLES["left out"].values())), frozenset(_TABLES["apart"])
"""The tags of what is left out, and of what has a line of its own."""


def read_jats(source: DocumentSource) -> Iterator[Document]:
    """Read the articles of a file as a stream.

    The text is the title, the abstract, the titles and paragraphs of the sections, and the captions of figures and
    tables. Each of them has a line of its own, but the title is followed by a blank. References, footnotes, the cells
    of tables, formulas that stand alone, and raised numbers of references are left out.

    Yields:
        The documents in the order of the file. The id is that of PMC, else the PMID, else the DOI.
    """
    chunks = source.chunks()
    first = next(chunks)
    path = _PATHS.get(root_tag(first), _PATHS["article"])
    parser = ElementParser(Path(source.file), "JATS", path, without=("ref-list", "table", "contrib-group"))
    yield from source.each(parser.elements(chain([first], chunks)), partial(_document, source))


def _document(source: DocumentSource, line: int, article: Element) -> Document:
    front = article.find("front")
    if front is None:
        raise BrokenRecord("an article without the element <front>")
    about = front.find("article-meta")
    ids = {} if about is None else _ids(about)
    doc_id = ids.get("pmcid") or ids.get("pmid") or ids.get("doi") or source.numbered(line)
    titles = [_flat(front.find(f"article-meta/title-group/{tag}")) for tag in ("article-title", "subtitle")]
    title = ": ".join(filter(None, titles))
    abstract, language = _abstract(front)
    parts = [*abstract, *(block for tag in ("body", "floats-group") for block in _blocks(article.find(tag)))]
    text = with_title(title, "\n".join(parts))
    if not text:
        raise BrokenRecord(f"the article {doc_id} has no text")
    meta = {
        "title": title,
        **ids,
        "year": _year(front),
        "journal": next(map(_flat, front.iterfind("journal-meta//journal-title")), ""),
        "abstract_language": language,
    }
    given = {name: value for name, value in meta.items() if value}
    return Document(doc_id, text, title=title, meta=given, position=source.place(line))


def _ids(about: Element) -> dict[str, str]:
    given = {article_id.get("pub-id-type", ""): _flat(article_id) for article_id in about.iterfind("article-id")}
    number = next((given[kind].upper().removeprefix("PMC") for kind in _PMC_IDS if given.get(kind)), "")
    ids = {"pmcid": f"PMC{number}" if number else "", "pmid": given.get("pmid", ""), "doi": given.get("doi", "")}
    return {name: value for name, value in ids.items() if value}


def _abstract(front: Element) -> tuple[list[str], str]:
    """Return the lines of the abstract, and its language if it is a translation.

    Summaries of other kinds, such as graphical ones, count if there is no other abstract.
    """
    abstracts = front.findall("article-meta/abstract")
    plain = [abstract for abstract in abstracts if not abstract.get("abstract-type")] or abstracts
    if plain:
        return [block for abstract in plain for block in _blocks(abstract)], ""
    translated = front.find("article-meta/trans-abstract")
    return _blocks(translated), "" if translated is None else translated.get("xml:lang", "")


def _year(front: Element) -> int | None:
    """Return the year of the first publication. The date on which PMC has opened the article counts if it is alone."""
    years: list[int] = []
    released: list[int] = []
    for date in front.iterfind("article-meta/pub-date"):
        year = _flat(date.find("year"))
        if len(year) == 4 and year.isascii() and year.isdecimal():
            kind = date.get("pub-type") or date.get("date-type") or ""
            (released if kind == "pmc-release" else years).append(int(year))
    return min(years or released, default=None)


def _flat(element: Element | None) -> str:
    return "" if element is None else " ".join(blocks_of(element, ("break",), _is_left_out))


def _blocks(element: Element | None) -> list[str]:
    if element is None:
        return []
    title = element.find("title")
    if element.tag in ("abstract", "trans-abstract") and title is not None:
        element.remove(title)  # it is "Abstract"
    return blocks_of(element, _APART, _is_left_out)


def _is_left_out(element: Element) -> bool:
    if element.tag in _LEFT_OUT:
        return True
    # the raised number of a reference, which would stick to the word before it
    if element.tag == "sup":
        return any(map(_cites, element.iterfind("xref")))
    return element.tag == "xref" and _cites(element) and element.find("sup") is not None


def _cites(xref: Element) -> bool:
    return xref.get("ref-type") in ("bibr", "fn", "table-fn")
