"""Link documents to one output: as a stream, or in parts, with which an interrupted run goes on.

The parts of `links.csv` lie in the folder `.links.csv.parts`. Each one holds the records of the documents that were
linked together, with a checksum, and appears when it is complete. A part that is missing or damaged, or whose documents
have changed, is linked again. The output is written from the parts at the end.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from ..documents.input_documents import Problems, sound
from ..errors import CannotWriteError, DamagedError, Errors, SapbertError
from ..files.output import LOCK_FILE, replacing
from ..outputs.records import Record
from ..types import NIL, Document
from .document_linker import Failure, LinkSettings, View, cut, linked_record, linker_of
from .identity import Identity
from .local import IN_USE, run_local

NO_LIMIT = 1 << 62
_RUN = "run.json"


class Chunk(NamedTuple):
    """Documents that are linked together.

    Attributes:
        number: The number of the chunk in the run.
        documents: The documents.
    """

    number: int
    documents: Sequence[Document]

    @property
    def name(self) -> str:
        """The name for messages."""
        return f"{self.documents[0].position} and what follows"


class ChunkResult(NamedTuple):
    """What was made of a chunk.

    Attributes:
        number: The number of the chunk.
        records: The records of the documents.
        failures: Why other documents have none.
    """

    number: int
    records: Sequence[Any]
    failures: Sequence[Failure]

    @property
    def counts(self) -> Counter[str]:
        """The documents, their mentions, and how many of these are linked."""
        mentions = [entity["kb_id"] for record in self.records for entity in record.get("entities", ())]
        linked = sum(kb_id not in ("", NIL) for kb_id in mentions)
        return Counter(documents=len(self.records), mentions=len(mentions), linked=linked)


@dataclass(frozen=True)
class ChunkWork:
    """Links chunks. It travels to other processes.

    Attributes:
        settings: How to link.
        view: What is wanted of a linked document.
    """

    settings: LinkSettings
    view: View = linked_record

    def __call__(self, chunk: Chunk) -> ChunkResult:
        """Link the documents of a chunk."""
        results = linker_of(self.settings)(chunk.documents, self.view)
        failures = [result for result in results if isinstance(result, Failure)]
        return ChunkResult(chunk.number, [result for result in results if not isinstance(result, Failure)], failures)

    def stream(
        self, documents: Iterable[Document], problems: Problems, workers: int
    ) -> Generator[ChunkResult, None, None]:
        """Link documents in chunks, in order, and report those that fail.

        If a document cannot be read, those before it come first.
        """
        errors: list[Exception] = []

        def readable() -> Iterator[Document]:
            try:
                yield from sound(documents, problems, NO_LIMIT)
            except Exception as error:
                errors.append(error)

        chunks = (Chunk(number, chunk) for number, chunk in enumerate(cut(readable(), NO_LIMIT)))
        waiting: dict[int, ChunkResult] = {}
        number = 0
        with closing(self.run(chunks, workers)) as results:
            for result in results:
                waiting[result.number] = result
                while number in waiting:
                    _report(waiting[number].failures, problems)
                    yield waiting.pop(number)
                    number += 1
        if errors:
            raise errors[0]

    def run(self, chunks: Iterable[Chunk], workers: int) -> Generator[ChunkResult, None, None]:
        """Link chunks, in this process or in several others."""
        yield from run_local(self, chunks, workers) if workers > 1 else map(self, chunks)


class OtherRun(SapbertError):
    """The parts belong to a run with another pipeline or other settings."""


class PartFolder:
    """The parts of an output. Use it in a `with` block.

    At the end of the block, the folder is removed if the run is finished, or if it has no part.

    Args:
        output: The output of the run.
        resume: Go on with the parts of an interrupted run, if there are any. False throws them away. None allows none.
    """

    def __init__(self, output: Path, *, resume: bool | None = None) -> None:
        from filelock import FileLock

        self.path = output.with_name(f".{output.name}.parts")
        self._run = ""
        self._finished = False
        self._lock = FileLock(self.path / LOCK_FILE, timeout=0)
        try:
            self.path.mkdir(exist_ok=True)
            self._lock.acquire()
        except TimeoutError as error:
            raise CannotWriteError(path=output, reason=IN_USE, remedy="Wait until it ends.") from error
        except OSError as error:
            raise CannotWriteError(path=output, reason=error.strerror or error) from error
        if resume is None and self.has_parts():
            self._lock.release()
            raise SapbertError(Errors.E561.format(path=self.path))
        if not resume or not self.has_parts():
            self._remove_parts()

    def __enter__(self) -> PartFolder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._finished or not self.has_parts():
            self._remove_parts()
        with suppress(OSError):  # of a folder with parts, only the lock goes
            (self.path / LOCK_FILE).unlink()
            self.path.rmdir()
        self._lock.release()

    def has_parts(self) -> bool:
        """Return whether the folder has a part."""
        return any(self.path.glob("*.jsonl"))

    def begin(self, identity: Identity) -> None:
        """Start the run, or check that an interrupted run had the same pipeline and settings."""
        now = Identity(**json.loads(json.dumps(identity._asdict())))
        self._run = now.digest()
        content = _read(self.path / _RUN)
        if content is None:  # a new run, or a damaged file: each part says what it was made with
            _write(self.path / _RUN, json.dumps(now._asdict()).encode())
            return
        differences = Identity(**json.loads(content)).differences(now)
        if differences:
            raise OtherRun(Errors.E563.format(path=self.path, differences="; ".join(differences)))

    def read(self, chunk: Chunk) -> ChunkResult | None:
        """Return what was made of a chunk; None if it is missing or damaged, or was made of or with something else."""
        content = _read(self._part(chunk.number))
        if content is None:
            return None
        head, *lines = content.splitlines()
        about = json.loads(head)
        if about["made of"] != self._made_of(chunk):
            return None
        failures = [Failure(*failure) for failure in about["failures"]]
        return ChunkResult(chunk.number, list(map(json.loads, lines)), failures)

    def write(self, chunk: Chunk, result: ChunkResult) -> None:
        """Keep what was made of a chunk."""
        about = {"made of": self._made_of(chunk), "failures": result.failures}
        content = "".join(f"{json.dumps(value)}\n" for value in (about, *result.records)).encode()
        _write(self._part(chunk.number), content)

    def records(self, n_parts: int) -> Iterator[Record]:
        """Yield the records of the first parts."""
        for number in range(n_parts):
            content = _read(self._part(number))
            if content is None:
                raise DamagedError(
                    path=self._part(number),
                    reason="it was changed while the run went on",
                    remedy="Start the command again, with --resume.",
                )
            yield from map(json.loads, content.splitlines()[1:])

    def finish(self) -> None:
        """Mark the run as finished: its output is written, so that the parts are not needed any more."""
        self._finished = True

    def _part(self, number: int) -> Path:
        return self.path / f"{number:08}.jsonl"

    def _made_of(self, chunk: Chunk) -> str:
        """Return a hash of the pipeline, and of what the documents are linked from and what is copied to the output."""
        content = [document._replace(position="") for document in chunk.documents]
        return blake2b(json.dumps([self._run, content], default=str).encode(), digest_size=16).hexdigest()

    def _remove_parts(self) -> None:
        for path in self.path.iterdir():
            if path.name != LOCK_FILE:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


class FileRun:
    """Links documents in parts.

    Args:
        work: Links chunks.
        parts: The folder of the parts.
        problems: Reports documents that fail.
        progress: Called with the number of finished documents.
        counts: Gets the documents, their mentions, and how many of these are linked.

    Attributes:
        n_before: The number of documents that an interrupted run had finished.
    """

    def __init__(
        self,
        work: ChunkWork,
        parts: PartFolder,
        problems: Problems,
        progress: Callable[[int], object],
        counts: Counter[str],
    ) -> None:
        self.n_before = 0
        self._n_parts = 0
        self._work = work
        self._parts = parts
        self._problems = problems
        self._progress = progress
        self._counts = counts
        self._running: dict[int, Chunk] = {}

    def link(self, documents: Iterable[Document], workers: int) -> None:
        """Link the documents whose parts are missing."""
        with closing(self._work.run(self._missing(documents), workers)) as results:
            for result in results:
                self._parts.write(self._running.pop(result.number), result)
                self._count(result)

    def records(self) -> Iterator[Record]:
        """Yield the records of all documents, after `link`."""
        return self._parts.records(self._n_parts)

    def _missing(self, documents: Iterable[Document]) -> Iterator[Chunk]:
        for number, chunk in enumerate(cut(sound(documents, self._problems, NO_LIMIT), NO_LIMIT)):
            self._n_parts = number + 1
            made = self._parts.read(Chunk(number, chunk))
            if made:
                self._count(made)
                self.n_before += len(made.records)
            else:
                self._running[number] = Chunk(number, chunk)
                yield self._running[number]

    def _count(self, result: ChunkResult) -> None:
        self._counts += result.counts
        self._progress(self._counts["documents"])
        _report(result.failures, self._problems)


def _report(failures: Iterable[Failure], problems: Problems) -> None:
    for place, reason in failures:
        problems.report(place, reason)


def _write(path: Path, content: bytes) -> None:
    """Write a file with a checksum of its name and content in the first line."""
    with replacing(path) as temporary:
        temporary.write_bytes(_checksum(path, content) + b"\n" + content)


def _read(path: Path) -> bytes | None:
    """Return the content of such a file; None if it is missing or damaged."""
    try:
        checksum, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if checksum == _checksum(path, content) else None


def _checksum(path: Path, content: bytes) -> bytes:
    return blake2b(path.name.encode() + content, digest_size=16).hexdigest().encode()
