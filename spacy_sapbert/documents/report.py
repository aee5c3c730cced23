"""Report what was read from a corpus, and which records were broken."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..files.report import Problem, ProblemReport, keep_problem
from ..types import Document
from .mention_types import types_of


def _count(label: str) -> Any:
    return field(default=0, metadata={"label": label})


@dataclass
class Report(ProblemReport):
    """Counts over all files that were read with this report.

    The label of each field describes what it counts.

    Attributes:
        labels: Mentions of each type. A mention with several types counts for each of them.
        broken (int): Broken records, which are left out.
        problems (list[Problem]): The first 1,000 broken records. `broken` counts all of them.
        mismatches: The first 1,000 mentions that differ from the text at their offsets. `mismatched` counts all of
            them.
    """

    documents: int = _count("documents")
    duplicates: int = _count("… with the id of an earlier document")
    unlisted: int = _count("documents outside the split, left out")
    missing: int = _count("ids of the split without a document")
    mentions: int = _count("mentions")
    without_id: int = _count("… without a concept id")
    unknown: int = _count("… with ids, of which the vocabulary has none")
    discontinuous: int = _count("… in several pieces, read from the first to the last")
    mismatched: int = _count("… that differ from the text at their offsets")
    moved: int = _count("… … moved to the same text nearby")
    alone: int = _count("… without context, because the example does not contain them exactly once")
    repeated: int = _count("… that occur several times in their sentence, read at the first place")
    unplaced: int = _count("reactions without a mention, left out")
    relations: int = _count("relations, left out")
    shifted: int = _count("passages with overlapping or widely separated offsets, moved")
    filtered: int = _count("mentions of other types, left out")
    misaligned: int = _count("mentions inside a token: in the gold list, but without a span")
    overlapping: int = _count("spans that overlap a longer span: without an entity")
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

    def rows(self) -> list[tuple[str, int]]:
        """Return all counts with readable labels, in the order of the fields."""
        labeled = [(item.metadata["label"], getattr(self, item.name)) for item in fields(self) if item.metadata]
        return [*labeled, ("broken records, left out", self.broken)]
