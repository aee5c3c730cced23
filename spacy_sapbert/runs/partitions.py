"""Cut a corpus into partitions: each is some files of the input, and one Parquet file of the output.

Each Parquet file says in its own metadata what it was made of and with. It appears when it is complete. So a rerun
knows what is done from the files alone, however the runs before ended.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow
from pyarrow import parquet

from ..documents.formats import files_of
from ..documents.input_documents import (
    Problems,
    ReadOptions,
    UnannotatedError,
    files_to_read,
    pubmed_files,
    read_file,
)
from ..documents.pubmed import pmids_of, superseded
from ..errors import CannotReadError, CannotWriteError, Errors, SapbertError
from ..files.opening import file_name, sha256_of
from ..files.output import LOCK_FILE, locked, open_output, replacing
from ..types import Document
from .document_linker import Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyarrow import RecordBatch, Schema

FILES_PER_PARTITION = 1000
BYTES_PER_PARTITION = 1 << 20
"""Small files of a folder share a partition up to this many files and bytes."""
MANIFEST = "_manifest.json"
"""Readers of Parquet folders leave out names that begin with `_`."""
_KEY = b"spacy-sapbert"
_SUFFIX = ".parquet"


class InputFile(NamedTuple):
    """A file of a partition.

    Attributes:
        name: Its path relative to the input folder, or its name.
        replaced: The numbers of the records of PubMed that another one of the same file replaces or deletes.
    """

    path: Path
    name: str
    options: ReadOptions
    replaced: frozenset[int] = frozenset()


class Partition(NamedTuple):
    """A part of the input that is linked by one process, and written to one file.

    Attributes:
        name: The path of the first file, relative to the input folder. That of the output has `.parquet` after it.
        left_out: Ids of documents of PubMed that another file replaces or deletes.
    """

    name: str
    files: tuple[InputFile, ...]
    left_out: frozenset[str] = frozenset()

    def documents(self, problems: Problems) -> Iterator[Document | Failure]:
        """Read the documents of all files. One that cannot be read any further is a `Failure` after its documents."""
        for file in self.files:
            try:
                for document in read_file(file.path, file.name, file.options, problems, {file.path: file.replaced}):
                    problems.check_id(document)
                    if document.doc_id not in self.left_out:
                        yield document
            except UnannotatedError:
                problems.console.print(f"{file.name}: left out, since it has no annotated mentions")
            except SapbertError as error:
                if problems.strict or isinstance(error, CannotReadError):  # a rerun may be able to open it
                    raise
                yield Failure(file.name, str(error))

    def fingerprint(self) -> str:
        """Return a hash of the names and contents of the files, and of how they are read."""
        digest = blake2b(digest_size=16)
        for file in self.files:
            digest.update(repr((file.name, tuple(file.options), sorted(file.replaced))).encode(errors="surrogatepass"))
            digest.update(sha256_of(file.path).encode())
        return digest.hexdigest()


def find_partitions(
    sources: Sequence[tuple[Path, ReadOptions]], problems: Problems, workers: int = 1
) -> list[Partition]:
    """Cut inputs into partitions. Each file is one, but consecutive small files of a folder share one.

    A file of PubMed is always one, since another file can replace its records. Of several records with
    the same PMID, only the newest is kept, see `superseded`. `workers` processes search files of PubMed for them.
    """
    scanned = _scan(pubmed_files(sources), workers)
    partitions: dict[str, Partition] = {}
    for path, options in sources:
        files = (
            InputFile(file, file_name(Path(name)), options) for file, name in files_to_read(path, options, problems)
        )
        for partition in (
            _grouped(files, scanned) if path.is_dir() else (Partition(file.name, (file,)) for file in files)
        ):
            if partition.name in partitions:
                raise SapbertError(Errors.E566.format(name=partition.name))
            partitions[partition.name] = partition
    left_out = superseded(scanned) if scanned else {}
    newest = [_leave_out(partition, left_out, scanned) for partition in partitions.values()]
    if count := sum(len(partition.left_out) for partition in newest):
        problems.console.print(f"{count:,} documents of PubMed left out, since another file replaces or deletes them")
    return newest


def _scan(paths: Sequence[Path], workers: int) -> dict[Path, NDArray[np.int32]]:
    """Return the records of each file that is of PubMed."""
    if min(workers, len(paths)) <= 1:
        scans = list(map(pmids_of, paths))
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(workers, len(paths)), mp_context=context) as executor:
            scans = list(executor.map(pmids_of, paths))
    return {path: pmids for path, pmids in zip(paths, scans, strict=True) if len(pmids)}


def _leave_out(
    partition: Partition, left_out: Mapping[Path, NDArray[np.int32]], scanned: Mapping[Path, NDArray[np.int32]]
) -> Partition:
    files, ids = [], set(partition.left_out)
    for file in partition.files:
        if file.path in left_out:
            scan = scanned[file.path]
            replaced = superseded({file.path: scan}).get(file.path, np.empty(0, np.int32))
            by_others = np.setdiff1d(left_out[file.path], replaced)
            ids.update(map(str, scan[np.isin(scan[:, 2], by_others), 0].tolist()))
            file = file._replace(replaced=frozenset(replaced.tolist()))
        files.append(file)
    return partition._replace(files=tuple(files), left_out=frozenset(ids))


def _grouped(files: Iterable[InputFile], scanned: Collection[Path]) -> Iterator[Partition]:
    group: list[InputFile] = []
    size = 0
    for file in files:
        file_size = file.path.stat().st_size
        is_pubmed = any(item.path in scanned for item in (file, *group[:1]))
        is_full = len(group) == FILES_PER_PARTITION or size + file_size > BYTES_PER_PARTITION
        if group and (is_full or is_pubmed):
            yield Partition(group[0].name, tuple(group))
            group, size = [], 0
        group.append(file)
        size += file_size
    if group:
        yield Partition(group[0].name, tuple(group))


# --- the folder of the output


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
