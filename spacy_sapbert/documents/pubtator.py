"""Read and write PubTator text, the format of the NCBI Disease, BC5CDR and MedMentions corpora; and read MED1250.

A record is a title line `id|t|…`, an abstract line `id|a|…`, and rows with tab-separated columns. Mentions have the
columns `id, start, end, text, type[, concept ids[, single mentions of a composite]]`. Relations have the columns `id,
type, concept id, concept id[, …]`. Offsets count characters of the title, one space and the abstract.
Ids may have codes such as `%7C` (see `spacy_sapbert.kb.ids.encode_id`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..files.source import BrokenRecord
from ..files.values import ONE_LINE, parse_int
from ..kb.ids import decode_id, encode_id, split_ids
from ..types import Document, Mention
from .source import UNTYPED, DocumentSource, Report

_HEAD = re.compile(r"([^|\t]+)\|([ta])\|(.*)", re.DOTALL)
_MENTION_COLUMNS = (5, 6, 7)
_RELATION_COLUMNS = (4, 5)


@dataclass
class _Record:
    line: int
    doc_id: str
    title: str
    abstract: str | None = None
    rows: list[tuple[int, list[str]]] = field(default_factory=list)


def read_pubtator(source: DocumentSource) -> Iterator[Document]:
    """Read a PubTator file. Blank lines between records are optional, and records may contain some.

    Yields:
        The documents in the order of the file. Records with the same id stay separate.
    """
    record: _Record | None = None
    for number, line in source.lines():
        if not line.strip():
            continue
        head = _HEAD.fullmatch(line)
        if head and head[2] == "t":
            if record:
                yield _document(source, record)
            record = _Record(number, head[1].strip(), head[3])
            continue
        try:
            _add_line(record, number, line, head)
        except BrokenRecord as reason:
            source.broken(number, reason)
    if record:
        yield _document(source, record)


def _add_line(record: _Record | None, number: int, line: str, head: re.Match[str] | None) -> None:
    columns = line.split("\t")
    if not head and len(columns) < min(_RELATION_COLUMNS):
        raise BrokenRecord("neither a title, nor an abstract, nor a row of 4 to 7 columns")
    doc_id = (head[1] if head else columns[0]).strip()
    if record is None or doc_id != record.doc_id:
        raise BrokenRecord(f"a line of document {doc_id}, but the previous title belongs to another document")
    if not head:
        record.rows.append((number, columns))
    elif record.abstract is None:
        record.abstract = head[3]
    else:
        raise BrokenRecord(f"a second abstract of document {doc_id}")


def _document(source: DocumentSource, record: _Record) -> Document:
    text = f"{record.title} {record.abstract}" if record.abstract else record.title
    mentions = []
    for number, columns in record.rows:
        try:
            if len(columns) in _RELATION_COLUMNS and _integer(columns[1]) is None:
                source.report.relations += 1
            else:
                mentions.append(source.placed(number, text, _mention(columns)))
        except BrokenRecord as reason:
            source.broken(number, reason)
    return Document(
        decode_id(record.doc_id),
        text,
        tuple(sorted(mentions, key=lambda mention: mention[:2])),
        record.title,
        {"title": record.title},
        position=source.place(record.line),
    )


def _mention(columns: list[str]) -> Mention:
    if len(columns) not in _MENTION_COLUMNS:
        raise BrokenRecord(f"{len(columns)} columns, but a mention has 5 to 7 and a relation has 4 or 5")
    start, end = _integer(columns[1]), _integer(columns[2])
    if start is None or end is None:
        raise BrokenRecord(f"offsets {columns[1]!r} and {columns[2]!r} are not both whole numbers")
    text, label, ids, parts = [*columns[3:], "", ""][:4]
    return Mention(
        start=start,
        end=end,
        text=text,
        label=label.strip() or UNTYPED,
        ids=tuple(map(decode_id, split_ids(ids))),
        parts=tuple(part.strip() for part in parts.split("|") if part.strip()),
    )


def _integer(text: str) -> int | None:
    try:
        return parse_int(text)
    except ValueError:
        return None


def pubtator_record(doc_id: str, title: str, text: str, mentions: Iterable[tuple[int, int, str, str, str]]) -> str:
    """Return a record of a PubTator file, with a blank line after it.

    Args:
        title: The title, with which the text starts. Without one, the whole text takes its place, since an empty title
            would shift all offsets by one.
        mentions: Start, end, text, type and joined ids of each mention.
    """
    doc_id = encode_id(doc_id)
    head, body = (title, text[len(title) + 1 :]) if title else (text, "")
    lines = [f"{doc_id}|t|{head.translate(ONE_LINE)}", f"{doc_id}|a|{body.translate(ONE_LINE)}"]
    for start, end, words, label, ids in mentions:
        cells = (doc_id, str(start), str(end), words.translate(ONE_LINE), label.translate(ONE_LINE), ids)
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n\n"


# --- MED1250: MEDLINE records with annotated abbreviations (Sohn et al. 2008, BMC Bioinformatics 9:402)

Pair = tuple[str, str]

Numbered = list[tuple[int, str]]
"""Lines with their numbers in the file."""

_PMID = re.compile(r"\s*\d+\s*")
_PAIR = re.compile(r"  \S")
_COMMENT = "//"
_SYNONYMS = "//*"


class AbbreviationRecord(NamedTuple):
    """A record with its gold pairs of short and long form.

    Attributes:
        pmid: Id of the record.
        text: Title and abstract, each on its own line. Each run of whitespace is one space.
        pairs: The gold standard.
        synonyms: Pairs with the same meaning that are not abbreviations. Finding them is neither right nor wrong.
    """

    pmid: str
    text: str
    pairs: tuple[Pair, ...]
    synonyms: tuple[Pair, ...]


def read_med1250(
    path: Path, *, encoding: str = "cp1252", strict: bool = False, report: Report | None = None
) -> Iterator[AbbreviationRecord]:
    """Read a file in the format of MED1250, with or without annotations.

    A record is a PMID, lines of text, and lines `  short|long`. A blank line ends it. Lines with `//` are comments, but
    `//*  short|long` is a pair of synonyms. Lines after a blank line belong to the previous record if they have no
    PMID, or the same PMID. Two records of the corpus are split in this way.

    Args:
        path: The file, plain or gzipped.
        strict: Raise an error at the first broken record. Otherwise, broken records are counted and skipped.
        report: Takes the counts. Without it, a warning at the end reports broken records.
    """
    source = DocumentSource(Path(path), report=report or Report(), encoding=encoding, strict=strict)
    numbered = ((lines[0][0], lines) for lines in _records(source))
    for record in source.each(numbered, lambda _, lines: _record(lines)):
        source.report.documents += 1
        yield record
    if report is None:
        source.report.warn_of_broken()


def _records(source: DocumentSource) -> Iterator[Numbered]:
    """Yield the lines of each record, including the blocks between blank lines that continue it."""
    record: Numbered = []
    for is_blank, lines in groupby(source.lines(), key=lambda line: not line[1].strip()):
        if is_blank:
            continue
        block = list(lines)
        has_pmid = _PMID.fullmatch(block[0][1]) is not None
        if record and (not has_pmid or block[0][1].strip() == record[0][1].strip()):
            record += block[has_pmid:]
        else:
            if record:
                yield record
            record = block
    if record:
        yield record


def _record(lines: Numbered) -> AbbreviationRecord:
    pmid = lines[0][1].strip()
    if not _PMID.fullmatch(pmid):
        raise BrokenRecord("a record that does not start with a PMID")
    text, pairs, synonyms = [], [], []
    for number, line in lines[1:]:
        if line.startswith(_SYNONYMS):
            synonyms.append(_pair(number, line.removeprefix(_SYNONYMS)))
        elif _PAIR.match(line):
            pairs.append(_pair(number, line))
        elif not line.startswith(_COMMENT):
            text.append(" ".join(line.split()))
    return AbbreviationRecord(pmid, "\n".join(text), tuple(pairs), tuple(synonyms))


def _pair(number: int, line: str) -> Pair:
    # the published output of Ab3P has the precision in a third column
    forms = [form.strip() for form in line.split("|")[:2]]
    if len(forms) < 2 or not all(forms):
        raise BrokenRecord(f"no short and long form with a | between them in line {number}")
    return forms[0], forms[1]
