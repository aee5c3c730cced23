"""Count what is read from files, and keep broken records as examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from .opening import file_name

MAX_PROBLEMS = 1000
"""The most examples that are kept. A file in the wrong format is broken in every line."""

_LONGEST_QUOTE, _LONGEST_REASON = 80, 1000  # characters


class Problem(NamedTuple):
    """A part of a file that was left out or repaired, and where it is.

    Attributes:
        unit: What `line` counts, if not lines.
    """

    path: Path
    line: int
    reason: str
    unit: str = "line"

    def __str__(self) -> str:
        return f"{file_name(self.path)}, {self.unit} {self.line}: {self.reason}"


def counter(label: str) -> Any:
    """Return a field of a report that counts something.

    Args:
        label: What it counts, for people.
    """
    return field(default=0, metadata={"label": label})


@dataclass
class Report:
    """Counts what is read from files, and keeps the first broken records as examples.

    Readers of a kind have a report with more counters, see `counter`.

    Attributes:
        broken: Number of broken records, or of broken parts of records.
        problems: The first 1,000 of them.
        show: Called with each broken record, if set.
    """

    broken: int = 0
    problems: list[Problem] = field(default_factory=list)
    show: Callable[[Problem], object] | None = field(default=None, repr=False, compare=False)

    def add_broken(self, path: Path, line: int, reason: str, unit: str = "line") -> None:
        """Count a broken record and keep it as an example."""
        self.broken += 1
        problem = Problem(path, line, reason[:_LONGEST_REASON], unit)
        keep_problem(self.problems, problem)
        if self.show:
            self.show(problem)

    def rows(self) -> list[tuple[str, int]]:
        """Return the counters with their labels, in the order of the fields, and the broken records last."""
        counts = [(item.metadata["label"], getattr(self, item.name)) for item in fields(self) if item.metadata]
        return [*counts, ("broken records, left out", self.broken)]


def keep_problem(problems: list[Problem], problem: Problem) -> None:
    """Add a problem to the examples, unless there are already `MAX_PROBLEMS`."""
    if len(problems) < MAX_PROBLEMS:
        problems.append(problem)


def excerpt(text: str) -> str:
    """Return a text as a message quotes it: the beginning of a long one."""
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
