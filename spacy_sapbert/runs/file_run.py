"""Link documents to one output: as a stream, or in parts, with which an interrupted run goes on.

The parts of `links.csv` lie in the folder `.links.csv.parts`. Each one holds the records of the documents that were
linked together, and appears when it is complete. A part that is missing, or whose documents have changed, is linked
again. The output is written from the parts at the end.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ..documents.input_documents import Problems, sound
from ..errors import Errors, SapbertError
from ..files.output import LOCK_FILE, locked, replacing
from ..files.values import digest_of
from ..outputs.records import Record
from ..types import NIL, Document
from .document_linker import NO_LIMIT, Failure, LinkingPipeline, LinkSettings, View, cut, linker_of
from .engines import run_local

_RUN = "run.json"
_Chunk = tuple[int, Sequence[Document]]  # numbered documents that are linked together


class ChunkResult(NamedTuple):
    """What was made of a numbered chunk of documents.

    Attributes:
        records: The records of the documents. Those that lie in a part are left out.
        failures: Why other documents have none.
        counts: The documents, their mentions, and how many of these are linked.
        is_old: Whether an interrupted run has made it.
    """

    number: int
    records: Sequence[Any]
    failures: Sequence[Failure]
    counts: Counter[str]
    is_old: bool = False


@dataclass(frozen=True)
class ChunkWork:
    """Links numbered chunks of documents. It travels to other processes."""

    settings: LinkSettings
    view: View = LinkingPipeline.record

    def __call__(self, chunk: _Chunk) -> ChunkResult:
        """Link the documents of a chunk."""
        number, documents = chunk
        records, failures = [], []
        counts = Counter(documents=0, mentions=0, linked=0)
        for result in linker_of(self.settings).link(documents, self.view):
            if isinstance(result, Failure):
                failures.append(result)
                continue
            records.append(result)
            counts["documents"] += 1
            for entity in result.get("entities", ()):
                counts["mentions"] += 1
                counts["linked"] += entity["kb_id"] not in ("", NIL)
        return ChunkResult(number, records, failures, counts)

    def lost(self, chunk: _Chunk, reason: str = "") -> ChunkResult:
        """End the run, since its processes cannot work."""
        raise SapbertError(Errors.E575)

    def stream(
        self, documents: Iterable[Document], problems: Problems, workers: int, parts: Parts | None = None
    ) -> Generator[ChunkResult, None, None]:
        """Link documents in chunks, in order, and report those that fail.

        The parts, if any, keep the records; what they have already is not linked again. Without parts, if a document
        cannot be read, those before it come first.
        """
        errors: list[Exception] = []
        running: dict[int, Sequence[Document]] = {}
        waiting: dict[int, ChunkResult] = {}

        def readable() -> Iterator[Document]:
            try:
                yield from sound(documents, problems, NO_LIMIT)
            except Exception as error:
                if parts:
                    raise
                errors.append(error)

        def missing() -> Iterator[_Chunk]:
            for number, chunk in enumerate(cut(readable(), NO_LIMIT)):
                if parts and (made := parts.read(number, chunk)):
                    waiting[number] = made
                else:
                    if parts:
                        running[number] = chunk
                    yield number, chunk

        number = 0
        results = run_local(self, missing(), workers) if workers > 1 else (self(chunk) for chunk in missing())
        with closing(results):
            for result in chain(results, [None]):
                if result:
                    waiting[result.number] = parts.write(running.pop(result.number), result) if parts else result
                while number in waiting:
                    for position, reason in waiting[number].failures:
                        problems.report(position, reason)
                    yield waiting.pop(number)
                    number += 1
        if errors:
            raise errors[0]


@contextmanager
def open_parts(output: Path, *, resume: bool | None = None) -> Iterator[Parts]:
    """Open the parts of an output, and keep other runs out.

    At the end of the block, they are removed if the output is written, or if there are none.

    Args:
        resume: Go on with the parts of an interrupted run, if there are any. False throws them away. None allows none.
    """
    folder = output.with_name(f".{output.name}.parts")
    with locked(folder / LOCK_FILE, output):
        parts = Parts(folder)
        if resume is None and parts.exist():
            raise SapbertError(Errors.E561.format(path=folder))
        if not (resume and parts.exist()):
            parts.remove()
        try:
            yield parts
        finally:
            if parts.finished or not parts.exist():
                parts.remove()
            with suppress(OSError):  # of a folder with parts, only the lock goes
                (folder / LOCK_FILE).unlink()
                folder.rmdir()


class Parts:
    """The parts of an output, in a folder.

    Attributes:
        n_documents: The number of documents with a record in a part.
        finished: Whether the output is written, so that the parts are not needed any more.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_documents = 0
        self.finished = False
        self._run = ""
        self._number = 0

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Start the run, or check that an interrupted run had the same pipeline and settings."""
        self._run = digest_of(identity)
        path, now = self.folder / _RUN, json.dumps(identity)
        lines = _lines(path)
        if not lines:  # a new run, or a lost file: each part says what it was made with
            _write(path, [now])
            return
        old, new = json.loads(lines[0]), json.loads(now)
        different = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        if different:
            raise SapbertError(Errors.E563.format(path=self.folder, differences=f"other {', '.join(different)}"))

    def read(self, number: int, documents: Sequence[Document]) -> ChunkResult | None:
        """Return what was made of documents; None if it is missing or cut off, or was made of or with something else.

        The records stay in the part.
        """
        self._number = number + 1
        first, *records = _lines(self._path(number)) or ["{}"]
        about = json.loads(first)
        if about.get("made of") != self._made_of(documents) or len(records) != about["counts"]["documents"]:
            return None
        failures = [Failure(*failure) for failure in about["failures"]]
        self.n_documents += len(records)
        return ChunkResult(number, (), failures, Counter(about["counts"]), is_old=True)

    def write(self, documents: Sequence[Document], result: ChunkResult) -> ChunkResult:
        """Write the records of documents, and return the result without them."""
        about = {"made of": self._made_of(documents), "failures": result.failures, "counts": result.counts}
        _write(self._path(result.number), map(json.dumps, (about, *result.records)))
        self.n_documents += len(result.records)
        return result._replace(records=())

    def records(self) -> Iterator[Record]:
        """Yield the records of all documents, when all are linked."""
        for number in range(self._number):
            yield from map(json.loads, _lines(self._path(number))[1:])

    def exist(self) -> bool:
        """Return whether there is a part."""
        return any(self.folder.glob("*.jsonl"))

    def remove(self) -> None:
        """Empty the folder."""
        for path in self.folder.iterdir():
            if path.name != LOCK_FILE:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.jsonl"

    def _made_of(self, documents: Iterable[Document]) -> str:
        """Return a hash of the pipeline, and of what the documents are linked from and what is copied to the output."""
        return digest_of([self._run, [document._replace(position="") for document in documents]])


def _write(path: Path, lines: Iterable[str]) -> None:
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _lines(path: Path) -> list[str]:
    """Return the lines of a file; none if it is missing or cut off."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return text.splitlines() if text.endswith("\n") else []
