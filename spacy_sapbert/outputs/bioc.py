"""Turn records of links into documents of BioC."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from .tables import PassageOffsets, joined_ids, table_rows

# the columns of the table that an annotation has as fields of its own
_ELSEWHERE = frozenset({"doc_id", "start", "end", "offsets", "passage", "text", "label", "snippet", "concept_id"})
Values = dict[str, Any]


def bioc_document(record: Mapping[str, Any]) -> Values:
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
    title, places = record.get("title", ""), PassageOffsets(record)
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
        own = {
            name: value
            for name, value in row.items()
            if name not in _ELSEWHERE and value is not None and value is not False
        }
        infons |= {f"{name}{suffix}": "true" if value is True else str(value) for name, value in own.items()}
        pieces = row["offsets"] if row["split"] else None
        if pieces:
            infons[f"offsets{suffix}"] = pieces
    return infons
