"""What a long run has done so far, on disk beside its output, so that the same run goes on after it was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import Errors, SapbertError


class PartialFile:
    """A file of JSON lines: what the run is, then one line for each piece of its work.

    Args:
        output: what will be written in the end; the file lies beside it, under a hidden name.
        run: what must be the same for a run to go on; what another run left there is thrown away.

    Attributes:
        done (int): pieces that are done already.

    Raises:
        SapbertError: E507 the file cannot be written.
    """

    def __init__(self, output: Path, run: dict[str, Any]) -> None:
        self.path = output.with_name(f".{output.name}.partial")
        self.done = 0
        head = _line(run)
        try:
            if not (self.path.is_file() and self._goes_on(head)):
                self.path.write_bytes(head)
        except OSError as error:
            raise SapbertError(Errors.E507.format(path=self.path, reason=error.strerror)) from error

    def _goes_on(self, head: bytes) -> bool:
        """Count the pieces that are there, and take away one that was cut off. RETURNS (bool): it is of this run."""
        with self.path.open("r+b") as file:
            if file.readline() != head:
                return False
            whole = [len(line) for line in file if line.endswith(b"\n")]
            file.truncate(len(head) + sum(whole))
        self.done = len(whole)
        return True

    def add(self, piece: Any) -> None:
        """
        Args:
            piece: what JSON can hold.

        Raises:
            SapbertError: E507.
        """
        try:
            with self.path.open("ab") as file:
                file.write(_line(piece))
        except OSError as error:
            raise SapbertError(Errors.E507.format(path=self.path, reason=error.strerror)) from error
        self.done += 1

    def pieces(self) -> Iterator[Any]:
        """Yield all pieces, in the order in which they were added; tuples have become lists."""
        with self.path.open("rb") as file:
            file.readline()
            yield from map(json.loads, file)

    def remove(self) -> None:
        self.path.unlink()


def _line(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, sort_keys=True).encode() + b"\n"
