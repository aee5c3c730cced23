"""The folder of a linked corpus: one Parquet file for each partition, and a manifest.

Each Parquet file says in its own metadata what it was made of and with. It appears when it is complete. So a rerun
knows what is done from the files alone, however the runs before ended.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
from pyarrow import parquet

from ..documents.formats import files_of
from ..errors import CannotWriteError
from ..files.output import LOCK_FILE, locked, open_output, replacing

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

MANIFEST = "_manifest.json"
"""Readers of Parquet folders leave out names that begin with `_`."""
_KEY = b"spacy-sapbert"
_SUFFIX = ".parquet"


class Origin(NamedTuple):
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
    """The folder of a linked corpus. It holds only paths, so that it can travel to the processes of an engine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out, and remove at the end what processes began that were killed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path / f".{LOCK_FILE}", self.path):
            try:
                yield
            finally:
                for unfinished in self.path.rglob(".*.tmp"):
                    shutil.rmtree(unfinished, ignore_errors=True)

    def file_of(self, name: str) -> Path:
        """Return the Parquet file of a partition."""
        return self.path / f"{name}{_SUFFIX}"

    def origin(self, name: str) -> Origin | None:
        """Return what the file of a partition was made of; None if there is none, or if it is damaged.

        A Parquet file of something else is an error.
        """
        file = self.file_of(name)
        try:
            metadata = parquet.read_metadata(file).metadata or {}
        except (OSError, pyarrow.ArrowException):
            return None
        if _KEY not in metadata:
            raise CannotWriteError(path=file, reason="no run has made this file", remedy="Choose another folder.")
        try:
            values = json.loads(metadata[_KEY])
            return Origin(values["run"], values["partition"], frozenset(values["left_out"]), Counter(values["counts"]))
        except (ValueError, KeyError, TypeError):  # another version wrote it
            return None

    def batches(self, name: str) -> Iterator[RecordBatch]:
        """Read the links of a partition."""
        with parquet.ParquetFile(self.file_of(name)) as file:
            yield from file.iter_batches()

    def write(self, name: str, schema: Schema, batches: Iterable[RecordBatch], origin: Origin) -> None:
        """Write the file of a partition. It appears when it is complete.

        Batches without a row are left out. The counts of `origin` are read after the last batch.
        """
        with (
            replacing(self.file_of(name), parents=True) as temporary,
            parquet.ParquetWriter(temporary, schema.remove_metadata(), compression="zstd") as writer,
        ):
            for batch in filter(len, batches):
                writer.write_batch(batch)
            values = origin._asdict() | {"left_out": sorted(origin.left_out)}
            writer.add_key_value_metadata({_KEY: json.dumps(values)})

    def remove_others(self, names: Iterable[str]) -> int:
        """Remove the files of partitions that are not in the input any more, and return their number.

        If there is a Parquet file that no run has made, nothing is removed.
        """
        files = (file.relative_to(self.path).as_posix() for file in files_of(self.path, lambda *_: None))
        others = {file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX)} - set(names)
        for name in others:
            if not self.origin(name):
                raise CannotWriteError(
                    path=self.path, reason=f"no run has made {name}{_SUFFIX}", remedy="Choose another folder."
                )
        for name in others:
            self.file_of(name).unlink()
            with suppress(OSError):  # it has other files
                self.file_of(name).parent.rmdir()
        return len(others)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write what the folder was made with, and how the last run ended."""
        with open_output(self.path / MANIFEST) as write:
            write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
