"""Show progress and results: tables and progress bars on standard error, JSON on standard output or in a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from .output import open_output, refuse_input

T = TypeVar("T")
Show = Callable[[Table, Mapping[str, Any]], None]

SECONDS_BETWEEN_LINES = 30.0
"""How often a line is written where there is no terminal."""

json_on_terminals: ContextVar[bool] = ContextVar("json_on_terminals", default=False)


def stderr_console() -> Console:
    """Return a console that writes plain text to standard error, without markup."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True)


def track(
    items: Iterable[T],
    console: Console,
    unit: str = "documents",
    *,
    total: int | None = None,
    done: int = 0,
    share: Callable[[], float] | None = None,
    shown: bool = True,
) -> Iterator[T]:
    """Pass items on, and show their number, the rate, and the time left.

    Args:
        items: The items.
        console: The console. Without a terminal, it gets a line every 30 seconds.
        unit: The name of the items.
        total: The number of items, if known, with those that were done before.
        done: The number of items that were done before.
        share: Returns the share of the work that is done, from 0 to 1, where the total is not known.
        shown: False hides the progress, for example if the output goes to the same terminal.
    """
    if not shown:
        yield from items
        return
    with _display(console, unit, total, done, share) as update:
        for item in items:
            yield item
            done += 1
            update(done, total)


@contextmanager
def progress_callback(
    console: Console, unit: str, share: Callable[[], float] | None = None
) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of work that reports it by a callback, as `track` does.

    Args:
        console: The console.
        unit: The name of the counted items.
        share: As for `track`.

    Yields:
        A function to call with the number of finished items and their total; 0 if it is not known.
    """
    with _display(console, unit, share=share) as update:
        yield update


@contextmanager
def _display(
    console: Console, unit: str, total: int | None = None, done: int = 0, share: Callable[[], float] | None = None
) -> Iterator[Callable[[int, int | None], None]]:
    if not console.is_terminal:
        yield _Lines(console, unit, done, share)
        return
    columns: list[ProgressColumn] = [
        SpinnerColumn(),
        BarColumn(),
        _Count(unit),
        _Rate(),
        TimeElapsedColumn(),
        _TimeLeft(),
    ]
    if share is not None:
        columns.insert(2, _ShareDone(share))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total, completed=done)

        def update(completed: int, total: int | None) -> None:
            expected = total or _expected(completed, share)
            progress.update(task, completed=completed, total=expected, exact=bool(total))

        yield update


class _Lines:
    """Writes a line every 30 seconds."""

    def __init__(self, console: Console, unit: str, done: int, share: Callable[[], float] | None) -> None:
        self._console = console
        self._unit = unit
        self._before = done
        self._share = share
        self._start = self._last = monotonic()

    def __call__(self, done: int, total: int | None) -> None:
        now = monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        rate = (done - self._before) / (now - self._start)
        parts = [f"{_count(done, total)} {self._unit}", _per_second(rate)]
        expected = total or _expected(done, self._share)
        if expected and rate:
            parts.append(f"{_duration(max(0, expected - done) / rate)} left")
        self._console.print(", ".join(parts))


class _Count(TextColumn):
    """The number of finished items, and their total if it is exact."""

    def __init__(self, unit: str) -> None:
        super().__init__("")
        self._unit = unit

    def render(self, task: Task) -> Text:
        exact = task.fields.get("exact", True) and task.total is not None
        return Text(f"{_count(int(task.completed), int(task.total or 0) if exact else None)} {self._unit}")


class _ShareDone(ProgressColumn):
    """The share of the work that is done."""

    def __init__(self, share: Callable[[], float]) -> None:
        super().__init__()
        self._share = share

    def render(self, task: Task) -> Text:
        share = self._share()
        return Text(f"{share:.0%}" if share else "")  # 0 if the reader does not report it


class _Rate(ProgressColumn):
    """The number of items per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(_per_second(speed) if speed else "")


class _TimeLeft(TimeRemainingColumn):
    """The time left, or nothing where it is not known."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task).append(" left")


def _expected(done: int, share: Callable[[], float] | None) -> int | None:
    """Estimate the total from the share of the work that is done."""
    part = share() if share else 0.0
    return round(done / part) if part else None


def _count(done: int, total: int | None) -> str:
    return f"{done:,} of {total:,}" if total else f"{done:,}"


def _per_second(rate: float) -> str:
    return f"{rate:,.1f} per second" if rate < 100 else f"{rate:,.0f} per second"


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def show_values(result: Mapping[str, Any]) -> None:
    """Print values by name, one row each, including those of nested mappings; and print all of them as JSON.

    Underscores in names are shown as spaces.
    """
    table = Table(box=None, show_header=False)
    for name, value in result.items():
        for part, content in value.items() if isinstance(value, Mapping) else [("", value)]:
            shown = f"{content:,}" if type(content) is int else str(content)
            table.add_row(f"{name} {part}".replace("_", " "), shown)
    show(table, result)


def show(table: Table, result: Mapping[str, Any]) -> None:
    """Print a table on standard error, and the whole result as JSON on standard output.

    A terminal gets the table alone, unless `json_on_terminals` is set.
    """
    stderr_console().print(table)
    if json_on_terminals.get() or not sys.stdout.isatty():
        with open_output(None) as write:
            write(_as_json(result))


@contextmanager
def results_to(output: Path | None, inputs: Iterable[Path | None]) -> Iterator[Show]:
    """Open the file for a result before long work, so that it is known at once whether it can be written.

    Args:
        output: The file. None is standard output.
        inputs: The files that are read, which the output must not replace.

    Yields:
        A function like `show`, which writes the JSON to the file. It appears when the block ends without an error.
    """
    if output is None:
        yield show
        return
    refuse_input(output, inputs)
    with open_output(output) as write:

        def show_and_write(table: Table, result: Mapping[str, Any]) -> None:
            stderr_console().print(table)
            write(_as_json(result))

        yield show_and_write


def _as_json(result: Mapping[str, Any]) -> str:
    return json.dumps(result, indent=2, ensure_ascii=False) + "\n"


def table_of_numbers(label: str, *headings: str, rows: Iterable[Sequence[object]] = ()) -> Table:
    """Return a table with a column of names and right-aligned columns of numbers.

    Args:
        label: The heading of the names.
        headings: Those of the numbers.
        rows: A name and its values. Floats have two decimals, and None is a dash. Texts stay as they are.
    """
    table = Table(label)
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
