"""The folder of a linked corpus: one Parquet file for each partition, and a manifest.

Each Parquet file says in its own metadata what it was made of and with. It appears when it is complete. So a rerun
knows what is done from the files alone, however the runs before ended.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
from pyarrow import parquet

from ..documents.folders import files_of
from ..errors import Errors, SapbertError
from ..files.output import LOCK_FILE, open_output, replacing

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

MANIFEST = "_manifest.json"
"""Readers of Parquet folders leave out names that begin with `_`."""
TRIES = 3
"""How often a partition is tried in one run, if its process ends each time."""
_TRIES_FOLDER = ".tries"
_KEY = b"spacy-sapbert"
_SUFFIX = ".parquet"


class Made(NamedTuple):
    """What a file of links was made of and with.

    Attributes:
        run: A hash of pipeline, vocabulary and settings.
        partition: A hash of the input.
        left_out: The ids of documents that a later file replaces.
        counts: The documents, mentions, links, and failures.
    """

    run: str
    partition: str
    left_out: frozenset[str]
    counts: Counter[str]


class OutputFolder:
    """The folder of a linked corpus. It holds only paths, so that it can travel to the processes of an engine.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out. The tries of earlier runs are forgotten.

        Raises:
            SapbertError: E507 the folder cannot be written. E562 another run is writing it.
        """
        from filelock import FileLock

        lock = FileLock(self.path / f".{LOCK_FILE}", timeout=0)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except TimeoutError as error:
            raise SapbertError(Errors.E562.format(path=self.path)) from error
        except OSError as error:
            raise SapbertError(Errors.E507.format(path=self.path, reason=error.strerror or error)) from error
        try:
            self._forget_tries()
            yield
        finally:
            self._forget_tries()
            lock.release()

    def file_of(self, name: str) -> Path:
        """Return the Parquet file of a partition."""
        return self.path / f"{name}{_SUFFIX}"

    def made(self, name: str) -> Made | None:
        """Return what the file of a partition was made of; None if there is none, or if it is damaged.

        Raises:
            SapbertError: E567 it is a Parquet file of something else.
        """
        file = self.file_of(name)
        try:
            metadata = parquet.read_metadata(file).metadata or {}
        except (OSError, pyarrow.ArrowException):
            return None
        if _KEY not in metadata:
            raise SapbertError(Errors.E567.format(path=file))
        return _parsed(metadata[_KEY])

    def schema(self, name: str) -> Schema:
        """Return the columns of the links of a partition."""
        return parquet.read_schema(self.file_of(name)).remove_metadata()

    def batches(self, name: str) -> Iterator[RecordBatch]:
        """Read the links of a partition."""
        with parquet.ParquetFile(self.file_of(name)) as file:
            yield from file.iter_batches()

    def write(self, name: str, schema: Schema, batches: Iterable[RecordBatch], made: Made) -> None:
        """Write the file of a partition. It appears when it is complete.

        Args:
            name: The partition.
            schema: The columns.
            batches: The links. Those without a row are left out.
            made: What they are made of. Its counts are read after the last batch.

        Raises:
            SapbertError: E507 it cannot be written.
        """
        with (
            replacing(self.file_of(name), parents=True) as temporary,
            parquet.ParquetWriter(temporary, schema, compression="zstd") as writer,
        ):
            for batch in filter(len, batches):
                writer.write_batch(batch)
            values = made._asdict() | {"left_out": sorted(made.left_out)}
            writer.add_key_value_metadata({_KEY: json.dumps(values)})

    def begin_try(self, name: str) -> bool:
        """Count a try of a partition. Return False if it had all its tries, since its process ended each time.

        Raises:
            SapbertError: E507 the try cannot be written.
        """
        file = self._tries(name)
        try:
            file.parent.mkdir(exist_ok=True)
            with file.open("ab") as handle:
                if handle.tell() >= TRIES:
                    return False
                handle.write(b"x")
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise SapbertError(Errors.E507.format(path=file, reason=error.strerror or error)) from error
        return True

    def end_try(self, name: str) -> None:
        """Forget the tries of a partition, which did not end its process."""
        self._tries(name).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove the file of a partition, if there is one."""
        self.file_of(name).unlink(missing_ok=True)

    def remove_others(self, names: Iterable[str]) -> int:
        """Remove the files of partitions that are not in the input any more, and return their number.

        Raises:
            SapbertError: E567 there is a Parquet file that no run has made. Nothing is removed.
        """
        others = self._names() - set(names)
        for name in others:
            if not self.made(name):
                raise SapbertError(Errors.E567.format(path=self.file_of(name)))
        for name in others:
            file = self.file_of(name)
            file.unlink()
            with suppress(OSError):  # it has other files
                file.parent.rmdir()
        return len(others)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write what the folder was made with, and how the last run ended.

        Raises:
            SapbertError: E507 it cannot be written.
        """
        with open_output(self.path / MANIFEST) as write:
            write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

    def _names(self) -> set[str]:
        files = (file.relative_to(self.path).as_posix() for file in files_of(self.path, lambda *_: None))
        return {file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX)}

    def _tries(self, name: str) -> Path:
        return self.path / _TRIES_FOLDER / blake2b(name.encode(), digest_size=16).hexdigest()

    def _forget_tries(self) -> None:
        shutil.rmtree(self.path / _TRIES_FOLDER, ignore_errors=True)


def _parsed(raw: bytes) -> Made | None:
    try:
        values = json.loads(raw)
        run, of_partition, left_out, counts = (values[name] for name in Made._fields)
        return Made(str(run), str(of_partition), frozenset(map(str, left_out)), Counter(counts))
    except (ValueError, KeyError, TypeError):
        return None
