"""Cut a corpus into partitions: each is some files of the input, and one file of the output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from ...errors import Errors, SapbertError
from ..documents import InputDocument, Problems, ReadOptions, files_to_read, read_file

FILES_PER_PARTITION = 1000
BYTES_PER_PARTITION = 1 << 20
"""Small files of a folder share a partition up to this many files and bytes."""
MAY_WORK_LATER = "[E120]"
"""The beginning of errors that a rerun may not have: a file cannot be opened now."""
_BLOCK = 1 << 20


class InputFile(NamedTuple):
    """A file of a partition.

    Attributes:
        path: Where it is.
        name: Its path relative to the input folder, or its name.
        options: How to read it.
    """

    path: Path
    name: str
    options: ReadOptions


class UnreadableFile(NamedTuple):
    """A file that is damaged, or in another format.

    Attributes:
        name: The file.
        reason: The error.
    """

    name: str
    reason: str


class Partition(NamedTuple):
    """A part of the input that is linked by one process, and written to one file.

    Attributes:
        name: The path of the first file, relative to the input folder. That of the output has `.parquet` after it.
        files: The files.
        left_out: Ids of documents that a later file replaces.
    """

    name: str
    files: tuple[InputFile, ...]
    left_out: frozenset[str] = frozenset()

    def documents(self, problems: Problems) -> Iterator[InputDocument | UnreadableFile]:
        """Read the documents of all files. What cannot be read any further comes after the documents before it.

        Raises:
            SapbertError: E120 a file cannot be opened; E506 a record is broken, and `problems.strict` is set.
        """
        for file in self.files:
            try:
                for document in read_file(file.path, file.name, file.options, problems):
                    problems.check_id(document)
                    if document.doc_id not in self.left_out:
                        yield document
            except SapbertError as error:
                if problems.strict or str(error).startswith(MAY_WORK_LATER):
                    raise
                yield UnreadableFile(file.name, str(error))

    def fingerprint(self) -> str:
        """Return a hash of the names and contents of the files, and of how they are read.

        Raises:
            SapbertError: E120 a file cannot be read.
        """
        digest = blake2b(digest_size=16)
        for file in self.files:
            digest.update(repr((file.name, tuple(file.options))).encode(errors="surrogatepass"))
            digest.update(_content(file.path))
        return digest.hexdigest()


def find_partitions(sources: Sequence[tuple[Path, ReadOptions]], problems: Problems) -> list[Partition]:
    """Cut inputs into partitions. Each file is one, but consecutive small files of a folder share one.

    Args:
        sources: Files and folders with their options.
        problems: Reports files of a folder that are left out.

    Raises:
        SapbertError: E566 two partitions have the same name.
    """
    found: dict[str, Partition] = {}
    for path, options in sources:
        files = (InputFile(*file) for file in files_to_read(path, options, problems))
        for partition in _grouped(files) if path.is_dir() else (Partition(file.name, (file,)) for file in files):
            if partition.name in found:
                raise SapbertError(Errors.E566.format(name=partition.name))
            found[partition.name] = partition
    return list(found.values())


def _grouped(files: Iterable[InputFile]) -> Iterator[Partition]:
    group: list[InputFile] = []
    size = 0
    for file in files:
        of_file = file.path.stat().st_size
        if group and (len(group) == FILES_PER_PARTITION or size + of_file > BYTES_PER_PARTITION):
            yield Partition(group[0].name, tuple(group))
            group, size = [], 0
        group.append(file)
        size += of_file
    if group:
        yield Partition(group[0].name, tuple(group))


def _content(path: Path) -> bytes:
    digest = blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise SapbertError(Errors.E120.format(path=path, reason=error.strerror or error)) from error
    return digest.digest()
