"""Count the broken records of files, and keep examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

MAX_PROBLEMS = 1000
"""The most examples that are kept. A file in the wrong format is broken in every line."""


class Problem(NamedTuple):
    """A part of a file that was left out or repaired, and its line."""

    path: Path
    line: int
    reason: str


def keep_problem(problems: list[Problem], problem: Problem) -> None:
    """Add a problem to the examples, unless there are already `MAX_PROBLEMS`."""
    if len(problems) < MAX_PROBLEMS:
        problems.append(problem)


@dataclass
class ProblemReport:
    """Counts the broken records of files and keeps the first ones as examples.

    Attributes:
        broken: Number of broken records, or of broken parts of records.
        problems: The first 1,000 of them.
    """

    broken: int = 0
    problems: list[Problem] = field(default_factory=list)

    def add_broken(self, path: Path, line: int, reason: str) -> None:
        """Count a broken record and keep it as an example."""
        self.broken += 1
        keep_problem(self.problems, Problem(path, line, reason))
