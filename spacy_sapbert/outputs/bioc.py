"""Write records as BioC collections in XML or JSON (Comeau et al. 2013, doi:10.1093/database/bat064)."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from .corpus_ids import joined_ids
from .passages import PassagePlaces
from .tables import table_rows

SOURCE = "spacy-sapbert"
_XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<collection>\n'
# XML has no date of its own here, so that the same documents give the same bytes
_COLLECTION = {"source": SOURCE, "date": "", "key": ""}
# the columns of the table that an annotation has as fields of its own
_ELSEWHERE = frozenset({"doc_id", "start", "end", "offsets", "passage", "text", "label", "snippet", "concept_id"})
_FIRST_VALID = " "
_INVALID = {code: " " for code in (*range(ord(_FIRST_VALID)), 0xFFFE, 0xFFFF) if chr(code) not in "\t\n\r"}
_IN_TEXT = {"\r": "&#13;"}  # parsers turn a plain CR into LF
Values = dict[str, Any]


def bioc_pieces(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a BioC XML collection, one document at a time.

    XML allows no control characters except tab and line ends. Each of the others becomes a blank, so that offsets stay.
    """
    yield _XML_HEAD + "".join(f"{_element(name, value)}\n" for name, value in _COLLECTION.items())
    for record in records:
        yield _document_xml(_document(record))
    yield "</collection>\n"


def bioc_json_pieces(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a BioC JSON collection, one document at a time."""
    head = json.dumps({**_COLLECTION, "infons": {}, "documents": []})
    yield head.removesuffix("]}")
    for number, record in enumerate(records):
        yield ("," if number else "") + "\n" + json.dumps(_document(record), ensure_ascii=False)
    yield "\n]}\n"


def _document(record: Mapping[str, Any]) -> Values:
    """Return a document as BioC JSON has it. The title is a passage of its own, and so is each joined record."""
    text = record["text"]
    bounds = [bound for bound in _bounds(record) if bound[0] < bound[1] or bound[0] == 0]
    passages = [_passage(text, *bound) for bound in bounds]
    starts = [start for start, _, _ in bounds]
    for number, entity in enumerate(record["entities"], start=1):
        # a mention may begin in the title and end in the text
        inside = max(0, bisect_right(starts, entity["start"]) - 1)
        passages[inside]["annotations"].append(_annotation(number, record, entity))
    return {"id": record["id"], "infons": {}, "passages": passages, "annotations": [], "relations": []}


def _bounds(record: Mapping[str, Any]) -> list[tuple[int, int, str]]:
    """Return start, end and type of the passages."""
    title, places = record.get("title", ""), PassagePlaces(record)
    first, *others = zip(places.starts, places.ends, strict=True)
    begin = [(0, len(title), "title"), (len(title) + 1, first[1], "abstract")] if title else [(0, first[1], "text")]
    return [*begin, *((start, end, "text") for start, end in others)]


def _passage(text: str, start: int, end: int, type: str) -> Values:
    infons = {"type": type}
    rest: Values = {"sentences": [], "annotations": [], "relations": []}
    return {"offset": start, "infons": infons, "text": text[start:end], **rest}


def _annotation(number: int, record: Mapping[str, Any], entity: Mapping[str, Any]) -> Values:
    text = record["text"]
    pieces = entity.get("offsets") or [[entity["start"], entity["end"]]]
    return {
        "id": str(number),
        "infons": _infons(record, entity),
        "text": " ".join(text[start:end] for start, end in pieces),
        "locations": [{"offset": start, "length": end - start} for start, end in pieces],
    }


def _infons(record: Mapping[str, Any], entity: Mapping[str, Any]) -> dict[str, str]:
    """Return type, ids and the values of each link. The keys of the second part of a composite end in `.2`."""
    rows = list(table_rows([{**record, "entities": [entity], "passages": ()}]))  # BioC counts in the document
    infons = {"type": entity["label"], "identifier": joined_ids(entity)}
    for number, row in enumerate(rows, start=1):
        suffix = f".{number}" if number > 1 else ""
        own = {name: value for name, value in row.items() if name not in _ELSEWHERE and _is_told(value)}
        infons |= {f"{name}{suffix}": "true" if value is True else str(value) for name, value in own.items()}
        pieces = row["offsets"] if row["split"] else None
        if pieces:
            infons[f"offsets{suffix}"] = pieces
    return infons


def _is_told(value: object) -> bool:
    return value is not None and value is not False


def _document_xml(document: Values) -> str:
    passages = "".join(
        f"<passage>{_infons_xml(passage['infons'])}{_element('offset', passage['offset'])}"
        f"{_element('text', passage['text'])}\n{''.join(map(_annotation_xml, passage['annotations']))}</passage>\n"
        for passage in document["passages"]
    )
    return f"<document>{_element('id', document['id'])}\n{passages}</document>\n"


def _annotation_xml(annotation: Values) -> str:
    locations = "".join(
        f'<location offset="{place["offset"]}" length="{place["length"]}"/>' for place in annotation["locations"]
    )
    inner = _infons_xml(annotation["infons"]) + locations + _element("text", annotation["text"])
    return f"<annotation id={_quoted(annotation['id'])}>{inner}</annotation>\n"


def _infons_xml(infons: Mapping[str, str]) -> str:
    return "".join(f"<infon key={_quoted(key)}>{_escaped(value)}</infon>" for key, value in infons.items())


def _element(name: str, value: object) -> str:
    return f"<{name}>{_escaped(str(value))}</{name}>"


def _escaped(text: str) -> str:
    return escape(text.translate(_INVALID), _IN_TEXT)


def _quoted(text: str) -> str:
    return quoteattr(text.translate(_INVALID))
