"""Logs of a training run: a JSON Lines file and a progress bar."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..errors import Errors, SapbertError
from ..files.output import open_output
from .setting_checks import check_counts

LOG_FILE = "log.jsonl"


class RunLog(Protocol):
    """Receives the values of each step and each evaluation, including `step`. It is closed at the end."""

    def step(self, values: Mapping[str, Any]) -> None: ...

    def evaluated(self, values: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


# from the output folder, the number of steps done and the number of all steps
MakeLog = Callable[[Path, int, int], RunLog]


class JsonLines:
    """Writes one line of JSON per step to `log.jsonl`. A resumed run continues the file from its checkpoint.

    Raises:
        SapbertError: E507 the file cannot be written.
    """

    def __init__(self, output: Path, done: int) -> None:
        self._path = output / LOG_FILE
        kept = [line for line in read_log(self._path) if line["step"] <= done] if self._path.is_file() else []
        with open_output(self._path) as write:
            for line in kept:
                write(_as_line(line))

    def step(self, values: Mapping[str, Any]) -> None:
        """Log the values of a step."""
        try:
            with self._path.open("a", encoding="utf-8") as handle:
                handle.write(_as_line(values))
        except OSError as error:
            raise SapbertError(Errors.E507.format(path=self._path, reason=error.strerror)) from error

    evaluated = step

    def close(self) -> None:
        """Do nothing: the file is closed after each line, so that a killed run leaves a complete log."""


class WithProgressBar:
    """Writes `JsonLines`, and shows a progress bar on standard error, or a line now and then without a terminal."""

    def __init__(self, output: Path, done: int, total: int, every: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._lines = JsonLines(output, done)
        self._every = every
        self._console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
        columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
        self._bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task = self._bar.add_task("", total=total, completed=done)
        self._bar.start()

    def step(self, values: Mapping[str, Any]) -> None:
        """Log the values of a step."""
        self._lines.step(values)
        message = (
            f"loss {values['loss']:.4f}, {values['pairs_per_s']:.0f} pairs/s, {values['mined_pairs']:,.0f} mined pairs"
        )
        self._bar.update(self._task, completed=values["step"], description=message)
        if not self._console.is_terminal and values["step"] % self._every == 0:
            self._console.print(f"step {values['step']:,}: {message}, {values['minutes_left']:.0f} minutes left")

    def evaluated(self, values: Mapping[str, Any]) -> None:
        """Log the measures of an evaluation."""
        self._lines.evaluated(values)
        message = ", ".join(f"{name} {value:.2f}" for name, value in values.items() if name != "step")
        self._console.print(f"step {values['step']:,}: {message}")

    def close(self) -> None:
        """Close the log."""
        if self._console.is_terminal:  # older versions of rich write an empty line elsewhere
            self._bar.stop()
        self._lines.close()


def json_lines() -> MakeLog:
    """Log to a file only."""
    return lambda output, done, total: JsonLines(output, done)


def progress_bar(every: int = 50) -> MakeLog:
    """Log to a file and show a progress bar.

    Args:
        every: Without a terminal, print a line after this number of steps.

    Raises:
        SapbertError: E335 it is not above 0.
    """
    check_counts(every=every)
    return lambda output, done, total: WithProgressBar(output, done, total, every)


def _as_line(values: Mapping[str, Any]) -> str:
    return json.dumps(values) + "\n"


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the logged values in order. An incomplete last line is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]
