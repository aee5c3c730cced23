"""Logs of a training run: a JSON Lines file, lines and a progress bar for people, and the time that is left."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import CannotWriteError
from ..files.output import open_output
from ..settings_block import check_counts

LOG_FILE = "log.jsonl"


class RunLog:
    """Writes the values of each step and each evaluation as a line of JSON to `log.jsonl`.

    A resumed run continues the file from its checkpoint. The file is closed after each line, so that a killed run
    leaves a complete log.
    """

    def __init__(self, output: Path, done: int) -> None:
        self._path = output / LOG_FILE
        earlier = [line for line in read_log(self._path) if line["step"] <= done] if self._path.is_file() else []
        with open_output(self._path) as write:
            for line in earlier:
                write(_as_line(line))

    def add(self, values: Mapping[str, Any]) -> None:
        """Log the values of a step or the measures of an evaluation, including `step`."""
        try:
            with self._path.open("a", encoding="utf-8") as handle:
                handle.write(_as_line(values))
        except OSError as error:
            raise CannotWriteError(path=self._path, reason=error.strerror) from error

    def close(self) -> None:
        """Close the log at the end of the run."""


class VisibleLog(RunLog):
    """Also prints a line every few steps to standard error, below which a terminal shows a progress bar."""

    def __init__(self, output: Path, done: int, total: int, every: int) -> None:
        from ..files.console import progress_callback, stderr_console

        super().__init__(output, done)
        self._total = total
        self._every = every
        self._console = stderr_console()
        self._bar = ExitStack()
        self._show: Callable[[int, int], None] = lambda step, total: None
        if self._console.is_terminal:
            self._show = self._bar.enter_context(progress_callback(self._console, "steps"))

    def add(self, values: Mapping[str, Any]) -> None:
        super().add(values)
        step = values["step"]
        if "loss" not in values:
            measures = ", ".join(f"{name} {value:.2f}" for name, value in values.items() if name != "step")
            self._console.print(f"step {step:,}: {measures}")
            return
        self._show(step, self._total)
        if step % self._every == 0:
            self._console.print(
                f"step {step:,}: loss {values['loss']:.4f}, {values['pairs_per_s']:.0f} pairs/s, "
                f"{values['mined_pairs']:,.0f} mined pairs, {values['minutes_left']:.0f} minutes left"
            )

    def close(self) -> None:
        self._bar.close()


# from the output folder, the number of steps done and the number of all steps
MakeLog = Callable[[Path, int, int], RunLog]


def json_lines() -> MakeLog:
    """Log to a file only."""
    return lambda output, done, total: RunLog(output, done)


def progress_bar(every: int = 50) -> MakeLog:
    """Log to a file, print a line now and then, and show a progress bar on a terminal.

    Args:
        every: Print a line after this number of steps.
    """
    check_counts("ProgressBar", every=every)
    return lambda output, done, total: VisibleLog(output, done, total, every)


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the logged values in order. An incomplete last line is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def _as_line(values: Mapping[str, Any]) -> str:
    return json.dumps(values) + "\n"


# --- what is logged


class Clock:
    """Measures the time of a run over all its starts, and whether the time of this start is over."""

    def __init__(self, before: float, max_minutes: float | None) -> None:
        self._before = before
        self._started = time.monotonic()
        self._most = math.inf if max_minutes is None else max_minutes
        self._steps = 0
        self._first = 0.0  # time after the first step, which may include preparations

    def timed_values(self, step: int, total: int, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a finished step with the time spent and the estimated time left."""
        self._first = self._first or self._now
        pace = (self._now - self._first) / self._steps if self._steps else self._now
        self._steps += 1
        left = min((total - step) * pace, self._most - self._now)
        return {"step": step, **values, "minutes": round(self.minutes, 3), "minutes_left": round(left, 2)}

    @property
    def minutes(self) -> float:
        """The time of the run in minutes, over all its starts."""
        return self._before + self._now

    @property
    def is_over(self) -> bool:
        """Whether the time of this start is over."""
        return self._now >= self._most

    @property
    def _now(self) -> float:
        return (time.monotonic() - self._started) / 60
