"""Report what was read from a corpus, and which records were broken."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..files.report import Problem, counter, keep_problem
from ..files.report import Report as FileReport
from ..types import Document
from .mention_types import types_of


@dataclass
class Report(FileReport):
    """Counts over all files that were read with this report.

    The label of each field describes what it counts.

    Attributes:
        labels: Mentions of each type. A mention with several types counts for each of them.
        broken (int): Broken records, which are left out.
        problems (list[Problem]): The first 1,000 broken records. `broken` counts all of them.
        mismatches: The first 1,000 mentions that differ from the text at their offsets. `mismatched` counts all of
            them.
    """

    documents: int = counter("documents")
    duplicates: int = counter("… with the id of an earlier document")
    unlisted: int = counter("documents outside the split, left out")
    missing: int = counter("ids of the split without a document")
    mentions: int = counter("mentions")
    without_id: int = counter("… without a concept id")
    unknown: int = counter("… with ids, of which the vocabulary has none")
    discontinuous: int = counter("… in several pieces, read from the first to the last")
    mismatched: int = counter("… that differ from the text at their offsets")
    moved: int = counter("… … moved to the same text nearby")
    alone: int = counter("… without context, because the example does not contain them exactly once")
    repeated: int = counter("… that occur several times in their sentence, read at the first place")
    unplaced: int = counter("reactions without a mention, left out")
    relations: int = counter("relations, left out")
    shifted: int = counter("passages with overlapping or widely separated offsets, moved")
    filtered: int = counter("mentions of other types, left out")
    misaligned: int = counter("mentions inside a token: in the gold list, but without a span")
    overlapping: int = counter("spans that overlap a longer span: without an entity")
    labels: Counter[str] = field(default_factory=Counter)
    mismatches: list[Problem] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set, repr=False)

    def add(self, document: Document) -> None:
        """Count a document and its mentions."""
        self.documents += 1
        self.duplicates += document.doc_id in self._seen
        self._seen.add(document.doc_id)
        self.mentions += len(document.mentions)
        self.without_id += sum(not mention.ids for mention in document.mentions)
        self.labels.update(name for mention in document.mentions for name in types_of(mention.label))

    def add_mismatch(self, path: Path, line: int, reason: str, moved: bool) -> None:
        """Count a mention with an annotated text that differs from the text at its offsets."""
        self.mismatched += 1
        self.moved += moved
        keep_problem(self.mismatches, Problem(path, line, reason))
