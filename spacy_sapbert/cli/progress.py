"""What a command tells people: on standard error, so that the output can be piped on."""

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
    """Return `Console`: writes to standard error; what is printed stands there as it is, with no markup read in it."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True)


def track(
    items: Iterable[T], console: Console, unit: str = "documents", *, total: int | None = None, shown: bool = True
) -> Iterator[T]:
    """Pass items on and show how many there were; nothing is shown where the console is no terminal.

    Args:
        unit: what the items are called.
        total: how many there will be, where that is known.
        shown: False for no progress at all, e.g. where the output goes to the same terminal.
    """
    columns: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.completed:,} " + unit), TimeElapsedColumn()]
    if total is not None:
        columns.insert(1, BarColumn())
    with Progress(*columns, console=console, disable=not (shown and console.is_terminal), transient=True) as progress:
        yield from progress.track(items, total=total)


@contextmanager
def telling(console: Console, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far work is that tells it by itself; nothing is shown where the console is no terminal.

    Args:
        unit: what is counted.

    Yields:
        to be told how many are done, and how many there are.
    """
    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.completed:,} " + unit), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def show_values(result: Mapping[str, Any]) -> None:
    """Print values by their names: a row each, also for those in a mapping, and all of them as JSON.

    An underscore in a name is shown as a space.
    """
    table = Table(box=None, show_header=False)
    for name, value in result.items():
        for part, content in value.items() if isinstance(value, Mapping) else [("", value)]:
            shown = f"{content:,}" if type(content) is int else str(content)
            table.add_row(f"{name} {part}".replace("_", " "), shown)
    show(table, result)


def show(table: Table, result: Mapping[str, Any]) -> None:
    """Print a table for people on standard error, and all of the result as JSON on standard output (see `json_to`)."""
    stderr_console().print(table)
    with open_output(_json_file.get()) as write:
        write(json.dumps(result, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def json_to(path: Path | None) -> Iterator[None]:
    """Have `show` write JSON to a file, not to standard output; None for standard output."""
    token = _json_file.set(path)
    try:
        yield
    finally:
        _json_file.reset(token)


def table_of_numbers(label: str, *headings: str) -> Table:
    """Return an empty one with a column of names and right-aligned columns of numbers."""
    table = Table(label)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
