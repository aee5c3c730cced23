"""MED1250: MEDLINE records with the abbreviations that they define (Sohn et al. 2008, BMC Bioinformatics 9:402)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import Warnings
from .report import Report
from .source import BrokenRecord, Source

Pair = tuple[str, str]

_PAIR = re.compile(r"  \S")
_SYNONYMS = "//*"
_COMMENT = "//"


class AbbreviationRecord(NamedTuple):
    """A record with its gold pairs of short and long form.

    text (str): the title and the abstract, each on a line of its own, with runs of blanks as one.
    pairs (tuple[Pair, ...]): the gold standard.
    synonyms (tuple[Pair, ...]): pairs that mean the same but abbreviate nothing: neither right nor wrong to find.
    """

    pmid: str
    text: str
    pairs: tuple[Pair, ...]
    synonyms: tuple[Pair, ...]


def read_med1250(
    path: Path, *, encoding: str = "cp1252", strict: bool = False, report: Report | None = None
) -> Iterator[AbbreviationRecord]:
    """Read a file in the format of MED1250, labelled or not.

    A record is a PMID, lines of text, and lines `  short|long`; a blank line ends it. Lines with `//` are comments, but
    `//*  short|long` is a pair of synonyms. Lines that follow a blank line without a PMID, or with the PMID once more,
    belong to the record before: in two records of the corpus a blank line stands by mistake.

    strict (bool): stop at the first broken record. Otherwise it is left out and counted.
    report (Report | None): takes the counts; without one, a warning tells of broken records at the end.
    YIELDS (AbbreviationRecord): the records in the order of the file.
    RAISES (SapbertError): E201 a broken record in strict reading, E12x the file cannot be read.
    """
    source = Source(Path(path), report or Report(), encoding, strict)
    for start, lines in _merge(_blocks(source)):
        try:
            record = _record(lines)
        except BrokenRecord as reason:
            source.broken(start, reason)
        else:
            source.report.documents += 1
            yield record
    if report is None and source.report.broken:
        first = source.report.problems[0]
        warnings.warn(Warnings.W201.format(path=path, n=source.report.broken, first=first), stacklevel=2)


def _blocks(source: Source) -> Iterator[tuple[int, list[str]]]:
    """YIELDS (tuple[int, list[str]]): the lines between blank lines, with the number of the first."""
    block: list[str] = []
    for number, line in chain(source.lines(), [(0, "")]):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _merge(blocks: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    number, record = 0, []
