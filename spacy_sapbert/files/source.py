"""`Source`: a file that others wrote and how it is read. `Report`: what is counted, and which records are broken."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, TypeVar

from ..errors import BadRecordError
from .opening import OpenedFile, file_name, open_text, open_unpacked, read_whole, undecodable

MAX_PROBLEMS = 1000
"""The most examples that are kept. A file in the wrong format is broken in every line."""

_LONGEST_QUOTE, _LONGEST_REASON = 80, 1000  # characters
_CHUNK = 1 << 16
_REMEDY = "if it has another encoding, give --encoding"
Item = TypeVar("Item")
Record = TypeVar("Record")
_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that cannot be decoded, see the error handler "surrogateescape"


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


class BrokenRecord(Exception):
    """A record that cannot be read. The message gives the reason, without position or full stop."""


@dataclass(frozen=True)
class Source:
    """A file, plain or gzipped, or standard input.

    Attributes:
        path: The file. `STDIN` is standard input.
        report: Takes the counts and the problems.
        encoding: Encoding of text. For "utf-8", a byte order mark can show another one.
        strict: Whether a broken record raises an error instead of being reported.
        lenient: Whether a line that cannot be decoded is a broken record. Otherwise, it is an error.
        opened: The file, if it is open already. It can then be read once.
    """

    path: Path
    report: Report = field(default_factory=Report)
    encoding: str = "utf-8"
    strict: bool = False
    lenient: bool = False
    opened: OpenedFile | None = field(default=None, kw_only=True)

    @property
    def file(self) -> str:
        """The path of the file, for messages."""
        return file_name(self.path)

    def place(self, number: int, unit: str = "line") -> str:
        """Return a place in the file, for messages."""
        return f"{self.file}, {unit} {number}"

    def open(self, newline: str | None = None) -> AbstractContextManager[TextIO]:
        """Open the file as text, see `open_text`."""
        return open_text(self.path, encoding=self.encoding, newline=newline, opened=self.opened)

    def open_bytes(self, *, lines: bool = False) -> AbstractContextManager[BinaryIO]:
        """Open the unpacked bytes of the file, see `open_unpacked`."""
        return open_unpacked(self.path, lines=lines, opened=self.opened)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers from 1, without line ends: LF, CR LF, or CR in a file without LF.

        Any other CR belongs to its line: some abstracts contain one where their source had a line break.
        """
        number = 0
        for line, reason in self.decoded_lines():
            # Only the last line may lack an LF. If that is also the first line, the file has no LF.
            pieces = line.split("\r") if number == 0 and not line.endswith("\n") else [line]
            for piece in pieces:
                number += 1
                if reason:
                    self.broken(number, reason)
                else:
                    yield number, piece.removesuffix("\n").removesuffix("\r")

    def filled_lines(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of each line that is not blank."""
        return ((number, line) for number, line in self.lines() if line.strip())

    def decoded_lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line with its end, and why it cannot be decoded; empty if it can."""
        with open_text(self.path, self.encoding, "\n", errors="surrogateescape", opened=self.opened) as lines:
            for number, line in enumerate(lines, start=1):
                reason = ""
                if not line.isascii() and _ESCAPED.search(line):
                    error = _decoding_error(line, self.encoding)
                    if not self.lenient:
                        raise undecodable(self.file, number, self.encoding, error)
                    reason = f"this is not {self.encoding} ({error.reason}); {_REMEDY}"
                    line = _ESCAPED.sub("\ufffd", line)
                yield line, reason

    def text(self) -> str:
        """Return the whole text, with its line ends."""
        try:
            with open_text(self.path, self.encoding, "", lines=False, opened=self.opened) as handle:
                return "".join(read_whole(self.path, iter(lambda: handle.read(1 << 20), "")))
        except BadRecordError as error:
            if self.lenient:
                raise BrokenRecord(f"this is not {self.encoding}; {_REMEDY}") from error
            raise

    def chunks(self) -> Iterator[bytes]:
        """Yield the unpacked bytes, at most 64 KB at a time, and an empty chunk at the end."""
        chunk = b" "
        with self.open_bytes() as handle:
            while chunk:
                chunk = handle.read(_CHUNK)
                yield chunk

    def each(self, items: Iterable[tuple[int, Item]], read: Callable[[int, Item], Record]) -> Iterator[Record]:
        """Yield what `read` makes of each line number and item. Report those with which it raises a `BrokenRecord`."""
        for line, item in items:
            try:
                record = read(line, item)
            except BrokenRecord as reason:
                self.broken(line, reason)
            else:
                yield record

    def broken(self, line: int, reason: object, unit: str = "line") -> None:
        """Report a record that cannot be read."""
        if self.strict:
            raise BadRecordError(path=self.file, line=line, reason=reason, unit=unit)
        self.report.add_broken(self.path, line, str(reason), unit)


def _decoding_error(line: str, encoding: str) -> UnicodeDecodeError:
    """Return the error of a line that was decoded with "surrogateescape"."""
    raw = line.encode(encoding, "surrogateescape")
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        return error
    return UnicodeDecodeError(encoding, raw, 0, len(raw), "invalid bytes")


def read_yaml(path: Path, expected: str) -> dict[str, Any]:
    """Read the keys and values of a YAML file.

    Args:
        path: The file.
        expected: What the file must have, for the message if it is not a mapping.

    Raises:
        BadRecordError: It is not YAML, or not a mapping.
        CannotReadError, DamagedError: It cannot be read.
    """
    import srsly  # it reads plain data only, and no tags of Python

    with open_text(path) as file:
        text = file.read()
    try:
        values = srsly.yaml_loads(text)
    except ValueError as error:
        cause = error.__context__
        mark, problem = getattr(cause, "problem_mark", None), getattr(cause, "problem", None) or "nested too deeply"
        line = mark.line + 1 if mark else 1
        reason = f"this is not YAML ({problem})"
        raise BadRecordError(path=path, line=line, reason=reason, remedy="Correct it.") from error
    if not isinstance(values, dict):
        raise BadRecordError(path=path, line=1, reason=expected, remedy="Write it like this.")
    return values
