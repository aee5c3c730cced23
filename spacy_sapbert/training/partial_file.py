"""`PartialFile`: the finished pieces of a long run, saved next to its output, so that an interrupted run can resume."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import CannotWriteError


class PartialFile:
    """A file of JSON lines: a description of the run, then one line per finished piece of work.

    Args:
        output: The final output. The partial file is next to it, under a hidden name.
        run: The values that must be the same for a run to resume. The file of another run is overwritten.

    Attributes:
        done (int): The number of finished pieces.

    Raises:
        SapbertError: E507 the file cannot be written.
    """

    def __init__(self, output: Path, run: dict[str, Any]) -> None:
        self.path = output.with_name(f".{output.name}.partial")
        self.done = 0
        head = _line(run)
        try:
            if not (self.path.is_file() and self._can_resume(head)):
                self.path.write_bytes(head)
        except OSError as error:
            raise CannotWriteError(path=self.path, reason=error.strerror) from error

    def _can_resume(self, head: bytes) -> bool:
        """Return whether the file belongs to this run. If so, count its pieces, and remove an incomplete last one."""
        with self.path.open("r+b") as file:
            if file.readline() != head:
                return False
            whole = [len(line) for line in file if line.endswith(b"\n")]
            file.truncate(len(head) + sum(whole))
        self.done = len(whole)
        return True

    def add(self, piece: Any) -> None:
        """Add a finished piece.

        Args:
            piece: Data that JSON can hold.

        Raises:
            SapbertError: E507 the file cannot be written.
        """
        try:
            with self.path.open("ab") as file:
                file.write(_line(piece))
        except OSError as error:
            raise CannotWriteError(path=self.path, reason=error.strerror) from error
        self.done += 1

    def pieces(self) -> Iterator[Any]:
        """Yield all pieces in the order in which they were added. Tuples have become lists."""
        with self.path.open("rb") as file:
            file.readline()
            yield from map(json.loads, file)

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink()


def _line(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, sort_keys=True).encode() + b"\n"
