"""Cut a corpus into partitions: each is some files of the input, and one Parquet file of the output."""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..documents.input_documents import (
    Problems,
    ReadOptions,
    UnannotatedError,
    files_to_read,
    pubmed_files,
    read_file,
)
from ..documents.pubmed import pmids_of, superseded
from ..errors import CannotReadError, Errors, SapbertError
from ..files.opening import file_name, sha256_of
from ..types import Document
from .document_linker import Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILES_PER_PARTITION = 1000
BYTES_PER_PARTITION = 1 << 20
"""Small files of a folder share a partition up to this many files and bytes."""


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
