"""Show progress and results: tables and progress bars on standard error, JSON on standard output or in a file."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from textwrap import shorten
from time import monotonic
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from .output import open_output, refuse_input
from .source import Problem

T = TypeVar("T")
Show = Callable[..., None]

SECONDS_BETWEEN_LINES = 30.0
"""How often a line is written where there is no terminal."""

_SHOWN_PROBLEMS = 10
_SHOWN_COUNTS = 20
_SHOWN_ROWS = 50
_LONGEST_CELL = 80  # characters
_MOST_COLUMNS = 8
_WIDTH = 240  # characters, where there is no terminal

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


def show(result: Mapping[str, Any], shown: Mapping[str, Any] | None = None) -> None:
    """Print a result as tables on standard error, and as JSON on standard output.

    A terminal gets the tables alone, unless `json_on_terminals` is set.

    Args:
        result: The result.
        shown: What the tables show instead. See `tables_of`.
    """
    print_tables(result if shown is None else shown)
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

        def show_and_write(result: Mapping[str, Any], shown: Mapping[str, Any] | None = None) -> None:
            print_tables(result if shown is None else shown)
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


# --- tables


def print_tables(result: Mapping[str, Any]) -> None:
    """Print the tables of a result on standard error. Without a terminal, their rows are not wrapped."""
    console = stderr_console()
    if not console.is_terminal:
        console.width = _WIDTH
    for table in tables_of(result):
        console.print(table, soft_wrap=False)


def tables_of(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a result: one of single values, and one of each group of equal rows.

    Mappings with the same keys are the rows of one table, wherever they are in the result. So are the mappings of a
    list, of which the first 50 are shown. Of more than 20 counts in a mapping, the largest are shown.
    Underscores in names are shown as blanks. Floats below 1 have four digits, and others two decimals.
    """
    groups: dict[tuple[str, ...], list[tuple[str, Mapping[str, Any]]]] = {}
    lists: dict[str, list[Mapping[str, Any]]] = {}
    for name, row in _rows("", result, lists):
        groups.setdefault(tuple(row), []).append((name, row))
    values, tables = Table(box=None, show_header=False), []
    for keys, rows in groups.items():
        if len(rows) > 1:
            lines = [["", *map(_label, keys)], *([name, *row.values()] for name, row in rows)]
            tables.append(_table(lines if len(keys) <= _MOST_COLUMNS else list(zip(*lines, strict=True))))
        else:
            ((name, row),) = rows
            for key, value in (_largest(row) if name else row).items():
                values.add_row(f"{name} {_label(key)}".strip(), _cell(value))
    for name, items in lists.items():
        headings = dict.fromkeys(key for item in items for key in item)
        lines = [[*map(_label, headings)], *([item.get(key, "") for key in headings] for item in items[:_SHOWN_ROWS])]
        tables.append(_table(lines, f"{name}: {len(items):,}"))
    return [values, *tables] if values.rows else tables


def _rows(
    name: str, result: Mapping[str, Any], lists: dict[str, list[Mapping[str, Any]]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a mapping and those in it as rows, by name. Lists of mappings go to `lists`."""
    row: dict[str, Any] = {}
    below: dict[str, Mapping[str, Any]] = {}
    for key, value in result.items():
        path = f"{name} {_label(key)}".strip()
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            lists[path] = value
        elif not isinstance(value, Mapping):
            row.update({key: value} if value != [] else {})
        elif name and row and not any(isinstance(part, Mapping | list) for part in value.values()):
            row.update({f"{key} {part}": content for part, content in value.items()})
        else:
            below[path] = value
    if row:
        yield name, row
    for path, value in below.items():
        yield from _rows(path, value, lists)


def _label(key: object) -> str:
    label = str(key)
    return label if "/" in label else label.replace("_", " ")  # a path stays as it is


def _largest(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the largest counts, and the sum of the others, since there can be hundreds of types."""
    if len(row) <= _SHOWN_COUNTS or not all(type(value) is int for value in row.values()):
        return row
    ordered = sorted(row.items(), key=lambda item: -item[1])
    return {**dict(ordered[:_SHOWN_COUNTS]), "others": sum(count for _, count in ordered[_SHOWN_COUNTS:])}


def _table(lines: Sequence[Sequence[Any]], title: str | None = None) -> Table:
    """Return a table of a line of headings and lines of values. A column with a number is right-aligned."""
    table = Table(title=title, title_justify="left")
    for heading, *column in zip(*lines, strict=True):
        is_number = any(isinstance(value, int | float) for value in column)
        table.add_column(heading, justify="right" if is_number else "left")
    for line in lines[1:]:
        table.add_row(*(shorten(_cell(value), _LONGEST_CELL, placeholder=" …") for value in line))
    return table


def _cell(value: object) -> str:
    """Return the text of a value in a table."""
    if isinstance(value, Mapping):
        value = [f"{key} {_cell(part)}" for key, part in value.items()]
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.2f}" if abs(value) >= 1 or not value else f"{value:.4g}"
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)
