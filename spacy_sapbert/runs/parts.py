"""Parts of an output: files that each hold the links of some documents, with which an interrupted run goes on.

A part appears when it is complete. At its end, it says what it was made of, and has a checksum of the whole file. So a
rerun knows what is done from the files alone, however the runs before ended.
"""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from itertools import chain
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any
from warnings import warn

from ..errors import Warnings
from ..files.output import LOCK_FILE, locked, replacing
from ..outputs.records import Record
from .engines import Engine, Results, Work

_MARK = b'{"checksum": "'
_BLANK = "0" * 32


def statement(about: Mapping[str, Any]) -> str:
    """Return what a part says of itself at its end, as JSON with room for the checksum."""
    return json.dumps({"checksum": _BLANK, **about})


class Parts:
    """The parts of an output, in a folder. It holds only paths, so that it can travel to other processes."""

    def __init__(self, folder: Path, suffix: str = ".jsonl") -> None:
        self.folder = folder
        self.suffix = suffix

    @contextmanager
    def locked(self, output: Path) -> Iterator[None]:
        """Keep other runs out, and remove at the end what processes began that were killed.

        Args:
            output: What the run writes, for the message.
        """
        with locked(self.folder / f".{LOCK_FILE}", output):
            try:
                yield
            finally:
                for unfinished in self.folder.rglob(".*.tmp"):
                    shutil.rmtree(unfinished, ignore_errors=True)

    def path_of(self, name: str) -> Path:
        """Return the file of a part."""
        return self.folder / f"{name}{self.suffix}"

    def about(self, name: str) -> dict[str, Any] | None:
        """Return what a part says of itself; None if it is missing, or damaged, which is reported."""
        path = self.path_of(name)
        if not path.exists():
            return None
        with (
            suppress(OSError, ValueError),  # ValueError: the file is empty
            path.open("rb") as file,
            mmap(file.fileno(), 0, access=ACCESS_READ) as content,
        ):
            start, checksum = _checksum(content)
            if content[start : start + len(checksum)] == checksum:
                text = content[start - len(_MARK) :].decode("latin-1")
                about: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
                del about["checksum"]
                return about
        warn(Warnings.W514.format(path=path), stacklevel=2)
        if path.is_dir():
            with suppress(OSError):  # it has files, and may be someone else's
                path.rmdir()
        return None

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Write a part with a `statement` at its end. It appears when the block ends without an error."""
        with replacing(self.path_of(name), parents=True) as path:
            yield path
            with path.open("r+b") as file, mmap(file.fileno(), 0) as content:
                start, checksum = _checksum(content)
                content[start : start + len(checksum)] = checksum

    def write(self, name: str, records: Iterable[Record], about: Mapping[str, Any]) -> None:
        """Write a part of JSON lines."""
        with self.writing(name) as path:
            lines = (*map(json.dumps, records), statement(about))
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def records(self, names: Iterable[str]) -> Iterator[Record]:
        """Yield the records of parts of JSON lines."""
        for name in names:
            yield from map(json.loads, self.path_of(name).read_text(encoding="utf-8").splitlines()[:-1])


def do_missing(work: Work, tasks: Iterable[Any], engine: Engine | None = None) -> Results:
    """Let an engine, or this process, do the tasks that are not done. Yield the results of all tasks, as they come."""
    done: deque[Any] = deque()

    def missing() -> Iterator[Any]:
        for task in tasks:
            if result := work.done(task):
                done.append(result)
            else:
                yield task

    with closing(engine(work, missing()) if engine else (work(task) for task in missing())) as results:
        for result in chain(results, [None]):
            while done:
                yield done.popleft()
            if result:
                yield result


def _checksum(content: mmap) -> tuple[int, bytes]:
    """Return where the checksum of a part is, and what it should be: a hash of all that is before and after it."""
    start = content.rfind(_MARK) + len(_MARK)
    with memoryview(content) as whole, whole[:start] as before, whole[start + len(_BLANK) :] as after:
        digest = blake2b(before, digest_size=len(_BLANK) // 2)
        digest.update(after)
    return start, digest.hexdigest().encode()
