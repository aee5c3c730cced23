"""What a reader did with a file: rows read, kept and dropped, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# A file read in the wrong format is broken in every row; more examples than this help nobody.
MAX_EXAMPLES = 1000


class BrokenRow(NamedTuple):
    """A row, or a part of one, that could not be read."""

    path: Path
    line: int
    reason: str


@dataclass
class ReadReport:
    """Counts over all files that were read with this report.

    A row is what holds a concept in its format: a line, a table row, an OBO stanza.

    rows_read (int): all rows, also the dropped ones.
    rows_dropped (Counter[str]): rows that gave no record, by reason; "broken" for those listed in `broken`.
    records (int): records handed on. A row of a merged dictionary can give several.
    names (int): names in these records.
    names_dropped (Counter[str]): names left out, by reason: "empty", "duplicate".
    control_characters (int): control characters taken out of names and definitions.
    n_broken (int): broken places, in whole rows or in parts of rows that were kept.
    broken (list[BrokenRow]): the first `MAX_EXAMPLES` of these.
    """

    rows_read: int = 0
    rows_dropped: Counter[str] = field(default_factory=Counter)
    records: int = 0
    names: int = 0
    names_dropped: Counter[str] = field(default_factory=Counter)
    control_characters: int = 0
    n_broken: int = 0
    broken: list[BrokenRow] = field(default_factory=list)

    @property
    def rows_kept(self) -> int:
        return self.rows_read - self.rows_dropped.total()

    def add_broken(self, path: Path, line: int, reason: str) -> None:
        """Count a broken place and keep it as an example."""
        self.n_broken += 1
        if len(self.broken) < MAX_EXAMPLES:
            self.broken.append(BrokenRow(path, line, reason))
