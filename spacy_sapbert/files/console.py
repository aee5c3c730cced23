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
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from .output import open_output, refuse_input
from .source import Problem

T = TypeVar("T")
Show = Callable[[Table, Mapping[str, Any]], None]

SECONDS_BETWEEN_LINES = 30.0
"""How often a line is written where there is no terminal."""

_SHOWN_PROBLEMS = 10

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
        console: The console. Without a terminal, it gets a line every 30 seconds.
        total: The number of items, if known, with those that were done before.
        done: The number of items that were done before.
        share: Returns the share of the work that is done, from 0 to 1, where the total is not known.
        shown: False hides the progress, for example if the output goes to the same terminal.
    """
    if not shown:
        yield from items
        return
    with progress_callback(console, unit, share, done=done) as update:
        for item in items:
            yield item
            done += 1
            update(done, total or 0)


@contextmanager
def progress_callback(
    console: Console, unit: str, share: Callable[[], float] | None = None, *, done: int = 0
) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of work that reports it by a callback, as `track` does.

    Args:
        share: As for `track`.
        done: The number of items that were done before.

    Yields:
        A function to call with the number of finished items and their total; 0 if it is not known.
    """
    started = last = monotonic()
    before = done

    def expected(done: int) -> int:
        """Estimate the total from the share of the work that is done; 0 if the reader does not report it."""
        part = share() if share else 0.0
        return round(done / part) if part else 0

    def line(done: int, total: int) -> str:
        rate = (done - before) / max(monotonic() - started, 1e-9)
        count = f"{done:,} of {total:,} {unit}" if total else f"{done:,} {unit}"
        parts = [count, f"{rate:,.1f} per second" if rate < 100 else f"{rate:,.0f} per second"]
        if rate and (end := total or expected(done)):
            parts.append(f"{timedelta(seconds=round(max(0, end - done) / rate))} left")
        return ", ".join(parts)

    def print_line(done: int, total: int) -> None:
        nonlocal last
        if monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = monotonic()
            console.print(line(done, total))

    if not (console.is_terminal or console.is_jupyter):
        yield print_line
        return
    columns = SpinnerColumn(), BarColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def draw(done: int, total: int) -> None:
            end = total or expected(done)
            progress.update(task, completed=done, total=end or None, description=line(done, total))

        yield draw


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


def show_problems(console: Console, problems: Sequence[Problem], number: int = 0) -> None:
    """Show the first broken records, and how many more there are."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        console.print(str(problem), markup=False, soft_wrap=True)
    if number > _SHOWN_PROBLEMS:
        console.print(f"… and {number - _SHOWN_PROBLEMS:,} more")


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
