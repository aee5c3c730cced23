"""Report what was read from documents, and which records were broken."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from ..errors import BadRecordError, Warnings
from ..files.opening import OpenedFile
from ..files.report import Problem, counter, keep_problem
from ..files.report import Report as FileReport
from ..types import Document, types_of

_SHOWN_DUPLICATES = 10


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
        joined: Records that were joined to documents, since consecutive ids repeat.
        documents_of_joined: The documents that they became.
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
    joined: int = 0
    documents_of_joined: int = 0
    _ids: set[int] = field(default_factory=set, repr=False)

    def add(self, document: Document) -> None:
        """Count a document and its mentions."""
        self.documents += 1
        self.mentions += len(document.mentions)
        self.without_id += sum(not mention.ids for mention in document.mentions)
        self.labels.update(name for mention in document.mentions for name in types_of(mention.label))
        known = len(self._ids)
        self._ids.add(hash(document.doc_id))  # 64 bits, which take less memory than the ids
        self.duplicates += len(self._ids) == known

    def add_mismatch(self, path: Path, line: int, reason: str, moved: bool) -> None:
        """Count a mention with an annotated text that differs from the text at its offsets."""
        self.mismatched += 1
        self.moved += moved
        keep_problem(self.mismatches, Problem(path, line, reason))

    def warn_of_broken(self) -> None:
        """Warn of broken records, if there are any."""
        if self.broken:
            first = self.problems[0]
            message = Warnings.W201.format(path=first.path, n=self.broken, line=first.line, reason=first.reason)
            warnings.warn(message, stacklevel=3)

    def joined_message(self) -> str:
        """Return how many records were joined to documents; empty if none were."""
        if not self.joined:
            return ""
        counts = f"{self.joined:,} records are passages of {self.documents_of_joined:,} documents"
        return f"{counts}, since consecutive ids repeat; `convert --no-join-passages` reads each record alone"


class Problems(Report):
    """Shows records that are left out, and ids that occur twice, as soon as they are read.

    Args:
        console: The console for the messages.
        strict: Raise an error at the first broken record.

    Attributes:
        total_bytes: The bytes of all inputs; 0 if their number is not known.
    """

    def __init__(self, console: Console, *, strict: bool = False) -> None:
        super().__init__(show=lambda problem: self._show(str(problem)))
        self.console = console
        self.strict = strict

        self.total_bytes = 0
        self._read_bytes: Callable[[], int] = lambda: 0

    @contextmanager
    def reading(self, file: OpenedFile) -> Iterator[None]:
        """Count the bytes of a file while it is read."""
        before = self._read_bytes()
        self._read_bytes = lambda: before + file.position()
        try:
            yield
        finally:
            after = self._read_bytes()
            self._read_bytes = lambda: after

    def share(self) -> float:
        """Return the share of the inputs that was read, from 0 to 1; 0 if it is not known."""
        return min(1.0, self._read_bytes() / self.total_bytes) if self.total_bytes else 0.0

    @property
    def count(self) -> int:
        """The number of records that are left out."""
        return self.broken

    def report(self, position: str, reason: object) -> None:
        """Report a record that is left out, by its position."""
        if self.strict:
            raise BadRecordError(position=position, reason=reason)
        self.broken += 1
        self._show(f"{position}: {reason}")

    def show_passages(self) -> None:
        """Show how many records were joined to documents, if any. Call it once, after all documents are read."""
        if self.joined:
            self.console.print(self.joined_message())

    def check_id(self, document: Document) -> None:
        """Count a document, and show that an earlier one has its id. Only the first ones are shown."""
        known = self.duplicates
        self.add(document)
        if known < self.duplicates <= _SHOWN_DUPLICATES:
            rest = "; further ones are not shown" if self.duplicates == _SHOWN_DUPLICATES else ""
            reason = f"an earlier document has the same id {document.doc_id!r}; both are linked{rest}"
            self.console.print(f"{document.position}: {reason}")

    def _show(self, message: str) -> None:
        self.console.print(f"{message}; left out")
