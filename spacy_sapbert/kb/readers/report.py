"""Report what a reader did with a file: rows read, kept and dropped, and the reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...files.report import Report


@dataclass
class ReadReport(Report):
    """Counts over all files that were read with this report.

    A row is what holds a concept in its format: a line, a table row or an OBO stanza.

    Attributes:
        rows_read: All rows, including dropped rows.
        rows_dropped: Rows that gave no record, by reason. "broken" counts those listed in `problems`.
        records: Records that were yielded. A row of a merged dictionary can give several.
        names: Names in these records.
        names_dropped: Names left out, by reason: "empty" or "duplicate".
        control_characters: Control characters removed from names and definitions.
        broken (int): Broken places, in whole rows or in parts of rows that were kept.
        problems (list[Problem]): The first 1,000 broken places.
        notes: Other counts of a reader.
        origins: Facts about a source of several files, as JSON values. "files" lists them with their checksums. Some
            formats add "release" and the "absent" files.
        bytes_read: Progress of a long read. 0 if the reader does not report it.
        bytes_total: Total size for `bytes_read`.
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
        """Number of rows that gave a record."""
        return self.rows_read - self.rows_dropped.total()

    def counts(self) -> dict[str, Any]:
        """Return all counts as JSON values."""
        others = ("problems", "show", "origins", "bytes_read", "bytes_total")
        return {name: value for name, value in vars(self).items() if name not in others}
