"""What a reader did with a file: rows read, kept and dropped, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...files import ProblemReport


@dataclass
class ReadReport(ProblemReport):
    """Counts over all files that were read with this report.

    A row is what holds a concept in its format: a line, a table row, an OBO stanza.

    Attributes:
        rows_read: all rows, also the dropped ones.
        rows_dropped: rows that gave no record, by reason; "broken" for those listed in `problems`.
        records: records handed on. A row of a merged dictionary can give several.
        names: names in these records.
        names_dropped: names left out, by reason: "empty", "duplicate".
        control_characters: control characters taken out of names and definitions.
        broken (int): broken places, in whole rows or in parts of rows that were kept.
        problems (list[Problem]): the first 1,000 of these.
        notes: what else a format's reader counts.
        origins: of a source that is more than one file, what its reader tells, as JSON values: "files" with their
            checksums and, where the format has them, "release" and the files that are "absent".
        bytes_read: how far a long reading has come; 0 where the reader does not tell.
        bytes_total: see `bytes_read`.
    """

    rows_read: int = 0
    rows_dropped: Counter[str] = field(default_factory=Counter)
    records: int = 0
    names: int = 0
    names_dropped: Counter[str] = field(default_factory=Counter)
    control_characters: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    origins: dict[Path, dict[str, Any]] = field(default_factory=dict)
    bytes_read: int = 0
    bytes_total: int = 0

    @property
    def rows_kept(self) -> int:
        """Rows that gave a record."""
        return self.rows_read - self.rows_dropped.total()

    def counts(self) -> dict[str, Any]:
        """Return all counts, as JSON values."""
        others = ("problems", "origins", "bytes_read", "bytes_total")
        return {name: value for name, value in vars(self).items() if name not in others}
