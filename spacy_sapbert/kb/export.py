"""Export a knowledge base as scispaCy JSON lines, a table, SSSLM or a BioSyn dictionary."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import ChoiceError
from ..files.values import read_sections, table_lines
from ..types import Name, Record
from .ids import curie_of, split_ids
from .knowledge_base import KnowledgeBase
from .readers.table import FIELDS

# Number of concepts read together: one by one, each would cost several queries.
_BLOCK = 4096
_SEPARATOR = "|"

# What a format may not hold, and a query with a row for each instance
_CONTENT = read_sections(Path(__file__).with_suffix(".sql"))
_OF_ALL = ("annotation counts of names", "narrow, broad and related scopes of names")
_OF_CONCEPTS = ("alternative ids", "types", "definitions", "parents", "cross-references")
_OF_NAMES = ("sources of names, but one", "languages of names", *_OF_ALL)


@dataclass
class ExportReport:
    """Counts what an export wrote, and what its format cannot hold.

    Attributes:
        concepts: Number of concepts written.
        names: Number of names written. A name of several concepts counts once for each.
        left_out: By kind, what is not in the file.
    """

    concepts: int = 0
    names: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def export_lines(kb: KnowledgeBase, format: str, report: ExportReport) -> Iterator[str]:
    """Export a knowledge base, concept by concept in row order.

    The formats are:

    - "scispacy": what scispaCy's `KnowledgeBase` loads, one JSON object per concept.
    - "table": tab-separated, with the columns that `read_table` expects. `|` joins the values of a cell. A concept has
      one row for each source and language of its names, and one for every name that contains `|`. An apostrophe is put
      before a cell that a spreadsheet would run as a formula; `read_table` removes it.
    - "ssslm": literal mappings of SSSLM, one row for each name.
    - "biosyn": `id[|alternative id…]||name`, one line for every name of every concept, the preferred name first. An
      alternative id of several concepts is left out, since its lines would read as one more concept.

    Args:
        format: One of `FORMATS`.
        report: Counts what is written and left out, while the lines are read.

    Returns:
        The lines, with their line ends.

    Raises:
        ChoiceError: The format is unknown.
    """
    if format not in FORMATS:
        raise ChoiceError(given=format, what="format of an export", choices=FORMATS)
    chosen = FORMATS[format]
    for kind in chosen.left_out:
        report.left_out[kind] += int(kb.query(f"SELECT count(*) FROM ({_CONTENT[kind]})")[0][0])
    lines = (line for record in stream_records(kb) for line in chosen.write(record, kb, report))
    return chain(chosen.header, lines)


def stream_records(kb: KnowledgeBase) -> Iterator[Record]:
    """Yield every concept in row order, see `KnowledgeBase.records`."""
    for first in range(0, len(kb), _BLOCK):
        yield from kb.records(range(first, min(first + _BLOCK, len(kb))))


# --- formats


def _scispacy(record: Record, kb: KnowledgeBase, report: ExportReport) -> Iterator[str]:
    preferred, *aliases = _unique_texts(record.names)
    report.concepts += 1
    report.names += 1 + len(aliases)
    # scispaCy's `Entity` accepts exactly these keys. It opens files in the local encoding, so the JSON is ASCII.
    entity = {
        "concept_id": record.concept_id,
        "canonical_name": preferred,
        "aliases": aliases,
        "types": record.types,
        "definition": record.definition,
    }
    yield json.dumps(entity) + "\n"


def _table(record: Record, kb: KnowledgeBase, report: ExportReport) -> Iterator[str]:
    cells = {
        "id": _one_line(record.concept_id),
        "alternative_ids": _join_values(record.alternative_ids, "alternative ids", report),
        "types": _join_values(record.types, "types", report),
        "definition": _one_line(record.definition or ""),
        "parents": _join_values(record.parents, "parents", report),
        "xrefs": _join_values(record.xrefs, "cross-references", report),
    }
    report.concepts += 1
    report.names += len(_unique_texts(record.names))
    rows = []
    for first, *others in _rows(record.names):
        cells |= {"name": _one_line(first.text), "source": _one_line(first.source), "language": first.language}
        cells["synonyms"] = _SEPARATOR.join(_one_line(name.text) for name in others)
        rows.append([cells.get(column, "") for column in FIELDS])
        cells = {"id": cells["id"]}  # only the first row holds the other fields of the concept
    yield from table_lines(rows, quoted=False)


def _ssslm(record: Record, kb: KnowledgeBase, report: ExportReport) -> Iterator[str]:
    concept_id = curie_of(record.concept_id)
    if ":" not in concept_id:
        report.left_out["concepts whose id has no prefix"] += 1
        return
    report.concepts += 1
    report.names += len(_unique_texts(record.names))
    for text, scope, source, language in record.names:
        predicate = _PREDICATES.get(scope, "oboInOwl:hasExactSynonym")
        cells = (text, concept_id, record.names[0].text, predicate, language * (len(language) == 2), source)
        # no apostrophe before a formula, since other programs would take it for a part of the name
        yield "\t".join(f'"{cell}"' for cell in (_one_line(cell).replace('"', '""') for cell in cells)) + "\n"


def _rows(names: Iterable[Name]) -> Iterator[list[Name]]:
    """Yield groups of names that fit in one row: from one source, in one language, without the separator.

    Only the first name of a row may contain the separator.
    """
    groups: dict[tuple[str, str], list[Name]] = defaultdict(list)
    for name in names:
        groups[name.source, name.language].append(name)
    for first, *others in groups.values():
        yield [first, *(name for name in others if _SEPARATOR not in name.text)]
        yield from ([name] for name in others if _SEPARATOR in name.text)


def _join_values(values: tuple[str, ...], kind: str, report: ExportReport) -> str:
    joined = [_one_line(value) for value in values if _SEPARATOR not in value]
    report.left_out[f"{kind} that hold {_SEPARATOR}"] += len(values) - len(joined)
    return _SEPARATOR.join(joined)


def _biosyn(record: Record, kb: KnowledgeBase, report: ExportReport) -> Iterator[str]:
    texts = [*map(_one_line, _unique_texts(record.names))]
    whole = [text for text in texts if "||" not in text]  # BioSyn splits a line at every ||
    report.left_out["names that hold ||"] += len(texts) - len(whole)
    # a dictionary reader must read an id back as this one id, since many separators can join ids
    if not whole or split_ids(record.concept_id) != (record.concept_id,):
        report.left_out["concepts whose id or names cannot be written"] += 1
        return
    ids = [record.concept_id]
    for other in record.alternative_ids:
        if split_ids(other) != (other,):
            report.left_out["alternative ids that cannot be written"] += 1
        elif len(kb.find_id(other)) > 1:
            report.left_out["alternative ids of several concepts"] += 1
        else:
            ids.append(other)
    report.concepts += 1
    report.names += len(whole)
    yield from (f"{_SEPARATOR.join(ids)}||{text}\n" for text in whole)


def _unique_texts(names: Iterable[Name]) -> list[str]:
    return list(dict.fromkeys(name.text for name in names))


def _one_line(text: str) -> str:
    """Replace each run of whitespace by one space, so that the text cannot break its line or cell."""
    return " ".join(text.split())


class _Format(NamedTuple):
    """How to write a format, and the kinds of `_CONTENT` that it cannot hold."""

    write: Callable[[Record, KnowledgeBase, ExportReport], Iterator[str]]
    left_out: tuple[str, ...]
    header: tuple[str, ...] = ()


_SSSLM = "text\tcurie\tname\tpredicate\tlanguage\tsource\n"
_PREDICATES = {"preferred": "rdfs:label"}
_PREDICATES |= {scope: f"oboInOwl:has{scope.title()}Synonym" for scope in ("narrow", "broad", "related")}
FORMATS = {
    "scispacy": _Format(_scispacy, ("alternative ids", "parents", "cross-references", *_OF_NAMES)),
    "table": _Format(_table, ("predicates of cross-references", *_OF_ALL), ("\t".join(FIELDS) + "\n",)),
    "ssslm": _Format(_ssslm, (*_OF_CONCEPTS, "annotation counts of names"), (_SSSLM,)),
    "biosyn": _Format(_biosyn, ("types", "definitions", "parents", "cross-references", *_OF_NAMES)),
}
