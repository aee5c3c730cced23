"""Keep the finished documents of a long run in a journal next to its output, so that an interrupted run can resume.

The journal of `links.csv` is the folder `.links.csv.part`. It holds a file of JSON lines: what the run depends on, then
one line for each finished document. The file only grows, and each line is written at once. So whatever ends the
process, the lines before are complete. The output is written from the journal when the last document is finished.

Documents of one batch are linked together, which changes the last digits of vectors. So a run resumes with the last
batch, and gets the output of a run without an interruption.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import spacy

from .. import __version__
from ..documents.formats import STDIN
from ..documents.input_documents import Problems, ReadOptions, fault
from ..errors import Errors, SapbertError
from ..files.output import LOCK_FILE
from ..files.values import parse_json
from ..store.assets import ASSETS_FOLDER
from ..types import Document
from .pipelines import DOCUMENTS_PER_BATCH

if TYPE_CHECKING:
    from .pipelines import LinkingPipeline

JOURNAL_FILE = "journal.jsonl"
SECONDS_BETWEEN_SYNCS = 5.0
"""How much work a power failure costs at most. A killed process loses no finished document."""
_BLOCK = 1 << 20


class Identity(NamedTuple):
    """What the result of a run depends on. A run resumes only if all of it is the same.

    Attributes:
        settings: The settings and versions, by name.
        files: A hash of each file of the pipeline, by its path in the pipeline.
    """

    settings: Mapping[str, Any]
    files: Mapping[str, str]

    def differences(self, now: Identity) -> list[str]:
        """Return in words what differs from a later run."""
        settings = [
            f"{name} was {self.settings.get(name)} and is {now.settings.get(name)}"
            for name in {**self.settings, **now.settings}
            if self.settings.get(name) != now.settings.get(name)
        ]
        names = sorted({*self.files, *now.files})
        changed = [name for name in names if self.files.get(name) != now.files.get(name)]
        return settings + ([f"files of the pipeline have changed ({', '.join(changed)})"] if changed else [])


def identity_of(
    linking: LinkingPipeline,
    inputs: Sequence[Path],
    reading: Iterable[ReadOptions],
    batch_size: int | None,
    shown: Mapping[str, Any] | None = None,
) -> Identity:
    """Return what the links of some inputs depend on.

    The content of the inputs is not part of it, since the journal has a hash of each document.

    Args:
        linking: The pipeline.
        inputs: The files.
        reading: How they are read.
        batch_size: The documents that are linked together; None for the default.
        shown: Other settings that change the records, by name.
    """
    settings = {
        "spacy-sapbert": __version__,
        "spaCy": spacy.__version__,
        "vocabulary": linking.kb.fingerprint[:16],
        "batch size": batch_size or DOCUMENTS_PER_BATCH,
        "input": [str(path if path == STDIN else path.absolute()) for path in inputs],
        "reading": sorted({json.dumps(options._asdict(), default=str, sort_keys=True) for options in reading}),
        **(shown or {}),
    }
    folder = linking.nlp.path
    return Identity(settings, _hashes(Path(folder)) if folder else {})


def _hashes(folder: Path) -> dict[str, str]:
    """Return a hash of each file of a pipeline. Shared assets have one in their names, so only their sizes are read."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder)
            found[name.as_posix()] = str(path.stat().st_size) if name.parts[0] == ASSETS_FOLDER else _hash(path)
    return found


def _hash(path: Path) -> str:
    digest = blake2b(digest_size=8)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


class OtherRun(SapbertError):
    """The journal belongs to a run with another pipeline, other settings or another input."""


class _Waiting(NamedTuple):
    number: int
    digest: str
    document: Document


class Journal:
    """The finished documents of a run. Use it in a `with` block.

    At the end of the block, the journal is removed if the run is finished, or if it has no document.

    Args:
        output: The output of the run.
        resume: Go on with the journal of an interrupted run, if there is one.
        restart: Throw such a journal away.

    Attributes:
        path: The folder of the journal.
        counts: The finished documents, their mentions, and how many of these are linked. The last batch does not count
            when the journal is opened again, since the run resumes with it.

    Raises:
        SapbertError: E507 it cannot be written, E561 there is the journal of an interrupted run, E562 another process
            is using it.
    """

    def __init__(self, output: Path, *, resume: bool = False, restart: bool = False) -> None:
        from filelock import FileLock

        self.path = journal_path(output)
        self.counts: Counter[str] = Counter()
        self._output = output
        self._lines = self.path / JOURNAL_FILE
        self._size = 0
        self._batch: int | None = None
        self._first_of_batch = 0
        self._waiting: deque[_Waiting] = deque()
        self._synced = time.monotonic()
        self._file: BinaryIO | None = None
        self._finished = False
        self._lock = FileLock(self.path / LOCK_FILE, timeout=0)
        try:
            self._open(resume=resume, restart=restart)
        except BaseException:
            self._close()
            raise

    def _open(self, *, resume: bool, restart: bool) -> None:
        try:
            self.path.mkdir(exist_ok=True)
            self._lock.acquire()
            if not restart:
                self._size, self.counts = self._complete()
            if self.counts["documents"] and not resume:
                raise SapbertError(Errors.E561.format(path=self.path, n=f"{self.counts['documents']:,}"))
            self._size = self._size if self.counts["documents"] else 0
            self._file = self._lines.open("ab", buffering=0)
        except TimeoutError as error:
            raise SapbertError(Errors.E562.format(path=self._output)) from error
        except OSError as error:
            raise SapbertError(Errors.E507.format(path=self._output, reason=error.strerror or error)) from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def begin(self, identity: Identity) -> None:
        """Start the run, or check that an interrupted run was the same.

        Raises:
            SapbertError: E560 the journal cannot be written, E563 the interrupted run was another one.
        """
        if not self._size:
            self._write(identity._asdict())
            return
        with self._lines.open("rb") as file:
            try:
                before = Identity(**parse_json(file.readline()))
            except TypeError as error:
                difference = "another version of spacy-sapbert wrote it"
                raise OtherRun(Errors.E563.format(path=self.path, differences=difference)) from error
        differences = before.differences(Identity(**json.loads(json.dumps(identity._asdict()))))
        if differences:
            raise OtherRun(Errors.E563.format(path=self.path, differences="; ".join(differences)))

    def unfinished(self, documents: Iterable[Document], problems: Problems, max_length: int) -> Iterator[Document]:
        """Yield the documents after the last finished one.

        Args:
            documents: All documents of the run, in the same order as before.
            problems: Reports the earlier documents that were left out, so that their number is that of a whole run.
            max_length: The maximum length of a document in characters.

        Raises:
            SapbertError: E564 a finished document is not in the input any more, or has changed.
        """
        numbered = enumerate(documents)
        for line in self._read(self._size):
            for number, document in numbered:
                if number == line["number"]:
                    break
                reason = fault(document.text, max_length) or "the pipeline failed on it before the interruption"
                problems.report(document.position, reason)
            else:
                raise OtherRun(Errors.E564.format(path=self.path, reason="it has fewer documents"))
            if _digest(document) != line["document"]:
                reason = f"{document.position} has another document"
                raise OtherRun(Errors.E564.format(path=self.path, reason=reason))
        for number, document in numbered:
            self._waiting.append(_Waiting(number, _digest(document), document))
            yield document

    def add(self, document: Document, record: Mapping[str, Any], *, batch: int, mentions: int, linked: int) -> None:
        """Keep the record of a finished document.

        Args:
            document: The document, which `unfinished` yielded. Documents come in that order. Some may be left out.
            record: The record, which JSON can hold.
            batch: The number of its batch, see `LinkedDocument`.
            mentions: The number of its mentions.
            linked: How many of them are linked.

        Raises:
            SapbertError: E560 the journal cannot be written. The documents before are kept.
        """
        while self._waiting[0].document is not document:
            self._waiting.popleft()
        waiting = self._waiting.popleft()
        counts = {"mentions": mentions, "linked": linked}
        if batch != self._batch:
            self._batch, self._first_of_batch = batch, waiting.number
        place = {"number": waiting.number, "batch": self._first_of_batch, "document": waiting.digest}
        self._write({**place, **counts, "record": record})
        self.counts.update(documents=1, **counts)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of all finished documents."""
        for line in self._read(self._size):
            yield line["record"]

    def n_kept(self) -> int:
        """Return the number of documents that a run need not link again, also after a signal in the middle of `add`."""
        return self._complete()[1]["documents"]

    def finish(self) -> None:
        """Mark the run as finished: its output is written, so that the journal is not needed any more."""
        self._finished = True

    def _complete(self) -> tuple[int, Counter[str]]:
        """Return the size in bytes of all batches but the last, and the counts of their documents."""
        size = position = 0
        counts: Counter[str] = Counter()
        of_batch: Counter[str] = Counter()
        batch = None
        for raw in self._raw_lines():
            line = _parsed(raw)
            if line is None or (position and "record" not in line):
                break
            if position and line["batch"] != batch:
                batch, size = line["batch"], position
                counts += of_batch
                of_batch = Counter()
            position += len(raw)
            if batch is not None:
                of_batch.update(documents=1, mentions=line["mentions"], linked=line["linked"])
        return size, counts

    def _raw_lines(self) -> Iterator[bytes]:
        if self._lines.is_file():
            with self._lines.open("rb") as file:
                yield from file

    def _read(self, size: int) -> Iterator[dict[str, Any]]:
        """Yield the lines of the documents in the first bytes of the file."""
        if not size:
            return
        with self._lines.open("rb") as file:
            file.readline()
            while file.tell() < size:
                yield parse_json(file.readline())

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._file is not None
        rest = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        try:
            self._file.truncate(self._size)  # what is left of the last batch goes only when it is done again
            while rest:  # a full disk takes a part of a line, then none
                written = self._file.write(rest)
                rest, self._size = rest[written:], self._size + written
            if time.monotonic() - self._synced > SECONDS_BETWEEN_SYNCS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            reason = error.strerror or error
            raise SapbertError(Errors.E560.format(path=self._lines, reason=reason)) from error

    def _close(self) -> None:
        if self._file:
            with suppress(OSError):
                os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            if self._finished or not self.n_kept():
                with suppress(OSError):
                    self._lines.unlink()
        if self._lock.is_locked:
            with suppress(OSError):  # of a journal with documents, only the lock goes
                (self.path / LOCK_FILE).unlink()
                self.path.rmdir()
            self._lock.release()


def journal_path(output: Path) -> Path:
    """Return the folder of the journal of an output."""
    return output.with_name(f".{output.name}.part")


def _digest(document: Document) -> str:
    """Return a hash of what a document is linked from, and of what is copied to the output."""
    content = {name: value for name, value in document._asdict().items() if name != "place"}
    return blake2b(json.dumps(content, default=str).encode(), digest_size=8).hexdigest()


def _parsed(raw: bytes) -> dict[str, Any] | None:
    """Return the value of a line, or None if the line is not complete."""
    if not raw.endswith(b"\n"):
        return None
    try:
        value = parse_json(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
