"""Show progress and results: tables and progress bars on standard error, JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..files import open_output

T = TypeVar("T")

_json_file: ContextVar[Path | None] = ContextVar("json_file", default=None)


def stderr_console() -> Console:
    """Return a console that writes plain text to standard error, without markup."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True)


def track(
    items: Iterable[T], console: Console, unit: str = "documents", *, total: int | None = None, shown: bool = True
) -> Iterator[T]:
    """Pass items on, and show their number on a terminal.

    Args:
        items: The items.
        console: The console. Without a terminal, nothing is shown.
        unit: The name of the items.
        total: The number of items, if known.
        shown: False hides the progress, for example if the output goes to the same terminal.
    """
    columns: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.completed:,} " + unit), TimeElapsedColumn()]
    if total is not None:
        columns.insert(1, BarColumn())
    with Progress(*columns, console=console, disable=not (shown and console.is_terminal), transient=True) as progress:
        yield from progress.track(items, total=total)


@contextmanager
def progress_callback(console: Console, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of work that reports it by a callback.

    Args:
        console: The console. Without a terminal, nothing is shown.
        unit: The name of the counted items.

    Yields:
        A function to call with the number of finished items and their total.
    """
    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.completed:,} " + unit), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


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
    """Print a table on standard error, and the whole result as JSON on standard output (see `json_to`)."""
    stderr_console().print(table)
    with open_output(_json_file.get()) as write:
        write(json.dumps(result, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def json_to(path: Path | None) -> Iterator[None]:
    """Let `show` write JSON to a file. None is standard output."""
    token = _json_file.set(path)
    try:
        yield
    finally:
        _json_file.reset(token)


def table_of_numbers(label: str, *headings: str) -> Table:
    """Return an empty table with a column of names and right-aligned columns of numbers."""
    table = Table(label)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
