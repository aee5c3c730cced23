"""Read MED1250: MEDLINE records with annotated abbreviations (Sohn et al. 2008, BMC Bioinformatics 9:402)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..files.source import BrokenRecord
from .source import DocumentSource, Report

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
