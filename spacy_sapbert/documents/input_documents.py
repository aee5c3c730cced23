"""Read documents as a stream, from files of any format, from folders and from standard input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from rich.console import Console

from ..errors import OptionError, SapbertError
from ..files.opening import file_name, open_file, without_gz
from ..types import Document
from .bioc import read_bioc
from .folders import DamagedArchiveError, files_in, files_of, is_archive, translated
from .formats import (
    ANNOTATED,
    ARCHIVED,
    PASSAGES,
    STDIN,
    TABLES,
    InputFormat,
    input_format,
    opened_format,
    suffix_format,
)
from .jats import read_jats
from .pubmed import read_pubmed, superseded
from .pubtator import read_pubtator
from .source import DocumentSource, OtherFormatError, Problems, ReadOptions, join_passages
from .table_files import read_csv, read_parquet, read_tsv
from .text_files import read_jsonl, read_lines, read_names, read_text

__all__ = ["Problems", "ReadOptions", "read_all", "read_documents"]

Reader = Callable[[DocumentSource], Iterator[Document]]


def read_spacy(source: DocumentSource) -> Iterator[Document]:
    """Read a `.spacy` file."""
    from .docbin import read_docbin_documents  # imports spaCy, which the other formats do not need

    return read_docbin_documents(source)


_READERS: dict[InputFormat, Reader] = {
    InputFormat.text: read_text,
    InputFormat.lines: read_lines,
    InputFormat.jsonl: read_jsonl,
    InputFormat.csv: read_csv,
    InputFormat.tsv: read_tsv,
    InputFormat.parquet: read_parquet,
    InputFormat.pubtator: read_pubtator,
    InputFormat.bioc: read_bioc,
    InputFormat.jats: read_jats,
    InputFormat.spacy: read_spacy,
    InputFormat.names: read_names,
}
# other XML, JSON and archives, which folders often have beside texts
_KINDS = {
    ".json": "not BioC",
    ".xml": "not BioC, PubMed or JATS",
    ".tar": "without articles",
    ".tgz": "without articles",
}
_SHOWN_SUFFIXES = 5
_LARGEST_PACKED = 1 << 28
"""The most bytes of a file in an archive. The largest articles of PMC have some tens of millions."""
_MANY = 10
_CHUNK = 1 << 16

Inputs = Sequence[tuple[Path, ReadOptions]]
"""Files and folders, each with its options; `-` is standard input."""


def read_all(inputs: Inputs, problems: Problems) -> Iterator[Document]:
    """Read several inputs as one stream, see `read_documents`.

    Records of PubMed that a newer one replaces or deletes, in any file of the inputs, are left out. Their number is
    reported.

    Args:
        inputs: The inputs.
        problems: Reports broken records, and ids that occur twice.

    Yields:
        The documents, in the order of the inputs.
    """
    problems.total_bytes = _size(inputs)
    files = pubmed_files(inputs)
    if len(files) > _MANY:
        problems.console.print(f"{len(files):,} files of PubMed are searched for newer records")
    left_out = superseded(files)
    if count := sum(map(len, left_out.values())):
        reason = "since a newer record replaces or deletes them"
        problems.console.print(f"{count:,} records of PubMed left out, {reason}")
    for path, options in inputs:
        yield from read_documents(path, options, problems, left_out)


def _size(inputs: Inputs) -> int:
    """Return the bytes of all files of inputs; 0 if one is standard input."""
    paths = [path for path, _ in inputs]
    if STDIN in paths:
        return 0
    files = (file for path in paths for file in (files_of(path) if path.is_dir() else [path]))
    return sum(file.stat().st_size for file in files)


def pubmed_files(inputs: Inputs) -> list[Path]:
    """Return the files of PubMed of inputs, but not standard input. Of other XML files, only the begin is read."""
    return [
        file
        for path, options in inputs
        if path != STDIN
        for file in (files_of(path) if path.is_dir() else [path])
        if _is_pubmed(file, options)
    ]


def _is_pubmed(path: Path, options: ReadOptions) -> bool:
    if options.format or options.gold:  # with gold mentions, PubMed is not read
        return options.format is InputFormat.pubmed
    try:
        return without_gz(path).suffix.lower() == ".xml" and input_format(path) is InputFormat.pubmed
    except SapbertError:
        return False  # reading the file reports the reason


def read_documents(
    path: Path,
    options: ReadOptions,
    problems: Problems,
    left_out: Mapping[Path, Collection[int]] = MappingProxyType({}),
) -> Iterator[Document]:
    """Read one input as a stream.

    Consecutive records of one article are joined, see `ReadOptions.join_passages`.

    Of a folder, all files of a known format are read, in the order of `files_of`. The id of a text file is its path
    relative to the folder. A file that cannot be read is reported, and the others are read.

    Args:
        path: A file, plain or gzipped, or a folder; `-` is standard input.
        options: How to read it.
        problems: Reports broken records, and ids that an earlier input with the same `problems` has had.
        left_out: The numbers of the records to leave out of files of PubMed, as `superseded` returns them.

    Yields:
        The documents, in the order of the file. A document without an id is named by file and line.
    """
    if path.is_dir():
        documents = _read_folder(path, options, problems, left_out)
    else:
        documents = read_file(path, "stdin" if path == STDIN else path.name, options, problems, left_out)
    for document in documents:
        problems.check_id(document)
        yield document


def check_table(path: Path, options: ReadOptions) -> None:
    """Read the first document of a table, so that a missing column is found before the pipeline is loaded."""
    if options.format in TABLES and path != STDIN:
        next(read_documents(path, options, Problems(Console(quiet=True))), None)


def sound(documents: Iterable[Document], problems: Problems, max_length: int) -> Iterator[Document]:
    """Leave out and report documents that are not text, or are too long.

    Args:
        documents: The documents.
        problems: Reports the documents that are left out.
        max_length: The maximum length in characters.
    """
    for document in documents:
        reason = fault(document.text, max_length)
        if reason:
            problems.report(document.position, reason)
        else:
            yield document


def fault(text: str, max_length: int) -> str | None:
    """Return why a pipeline cannot process a text; None if it can."""
    if not text.strip():
        return "the text is empty"
    if "\0" in text:
        return "the text contains a NUL character, so it is binary data or damaged"
    if len(text) > max_length:
        length = f"the text has {len(text):,} characters, but the pipeline's parser or NER reads at most {max_length:,}"
        return f"{length} (nlp.max_length)"
    return None


def read_file(
    path: Path,
    name: str,
    options: ReadOptions,
    problems: Problems,
    left_out: Mapping[Path, Collection[int]] = MappingProxyType({}),
) -> Iterator[Document]:
    """Read one file as `read_documents` does.

    Args:
        path: The file; `-` is standard input.
        name: The id of its only document, and the beginning of the ids of documents without an id.
        options: How to read it.
        problems: Reports broken records.
        left_out: As for `read_documents`.
    """
    source = DocumentSource(
        path,
        name=file_name(Path(name)),
        options=options,
        report=problems,
        encoding=options.encoding or "utf-8",
        strict=problems.strict,
        lenient=True,
    )
    if is_archive(path) and options.format in (None, *ARCHIVED):
        yield from _read_archive(source, options.format or input_format(path))
        return
    with open_file(path) as opened, problems.reading(opened):
        format = options.format or opened_format(path, opened)
        yield from _read_opened(replace(source, opened=opened), format, left_out.get(path, ()))


def _read_opened(source: DocumentSource, format: InputFormat, left_out: Collection[int]) -> Iterator[Document]:
    if format in (InputFormat.spacy, InputFormat.parquet) and source.path == STDIN:
        remedy = "Save the input to a file, and give the file."
        raise OptionError(option=f"--format {format.value}", reason="standard input must be text", remedy=remedy)
    documents = read_pubmed(source, left_out) if format is InputFormat.pubmed else _READERS[format](source)
    if format not in ANNOTATED:
        yield from documents
        return
    if not source.options.gold:
        documents = (document._replace(mentions=()) for document in documents)
    if source.options.join_passages and format in PASSAGES:
        documents = join_passages(documents, source.report)
    yield from _with_changes(documents, source)


def _with_changes(documents: Iterator[Document], source: DocumentSource) -> Iterator[Document]:
    """Yield the documents of a file, and then show what was moved in it."""
    problems = cast(Problems, source.report)
    shifted, mismatched, moved = problems.shifted, problems.mismatched, problems.moved
    yield from documents
    if n := problems.shifted - shifted:
        reason = "passages overlap or are far apart, so each follows the one before"
        problems.console.print(f"{source.file}: {n:,} {reason}; the offsets of the output count in this text")
    if source.options.gold and (n := problems.mismatched - mismatched):
        reason = "annotated mentions differ from the text at their offsets"
        moved = problems.moved - moved
        problems.console.print(f"{source.file}: {n:,} {reason}; {moved:,} of them were moved to the same text nearby")


@dataclass(frozen=True, kw_only=True)
class _PackedFile(DocumentSource):
    """One file of an archive.

    Attributes:
        content: Its bytes.
        archive: The archive.
    """

    content: BinaryIO
    archive: Path

    def chunks(self) -> Iterator[bytes]:
        with translated(self.archive):
            yield from chain(iter(lambda: self.content.read(_CHUNK), b""), [b""])


def _read_archive(source: DocumentSource, format: InputFormat) -> Iterator[Document]:
    problems = cast(Problems, source.report)
    n_documents = others = 0
    for packed in files_in(source.path, ARCHIVED[format]):
        if packed.content is None:
            others += 1
            continue
        path = Path(f"{source.path}/{packed.name}")
        if packed.size > _LARGEST_PACKED:
            reason = f"this file has {packed.size:,} bytes, but at most {_LARGEST_PACKED:,} are read"
            problems.report(file_name(path), reason)
            continue
        opened = _PackedFile(
            path,
            name=file_name(Path(packed.name)),
            options=source.options,
            report=problems,
            strict=source.strict,
            content=packed.content,
            archive=source.path,
        )
        try:
            for document in _READERS[format](opened):
                n_documents += 1
                yield document
        except SapbertError as error:
            if _is_other_format(error):
                others += 1
            elif problems.strict or isinstance(error, DamagedArchiveError):
                raise
            else:
                problems.report(file_name(path), str(error).removesuffix("."))
    if not n_documents:
        endings = " or ".join(ARCHIVED[format])
        reason = f"it contains no article of the format {format.value}, in a file that ends in {endings}"
        raise OtherFormatError(path=source.file, reason=reason, remedy="Unpack the archive, and give its folder.")
    if others:
        problems.console.print(f"{source.file}: {others:,} files that are not articles left out")


def _is_other_format(error: SapbertError) -> bool:
    return isinstance(error, OtherFormatError) or str(error).startswith("[E207]")


def files_to_read(path: Path, options: ReadOptions, problems: Problems) -> Iterator[tuple[Path, str, ReadOptions]]:
    """Yield the files of an input, each with its name and with options that have its format.

    The files of a folder are those of a known format, in the order of `files_of`. Others are counted and reported.

    Args:
        path: A file or a folder; `-` is standard input.
        options: How to read the input.
        problems: Reports files of a folder that are left out.
    """
    if not path.is_dir():
        yield path, "stdin" if path == STDIN else path.name, options
        return
    others: Counter[str] = Counter()
    without_mentions = 0
    for file in files_of(path, lambda skipped, reason: problems.report(file_name(skipped), reason)):
        try:
            format = options.format or (input_format(file) if suffix_format(file) else None)
        except SapbertError as error:
            _count_or_report(file, options, error, problems, others)
            continue
        if format is None:
            others[without_gz(file).suffix.lower() or "no ending"] += 1
        elif options.gold and format not in ANNOTATED:
            without_mentions += 1
        else:
            yield file, file.relative_to(path).as_posix(), options._replace(format=format)
    _show_others(path, others, problems)
    if without_mentions:
        problems.console.print(f"{file_name(path)}: {without_mentions:,} files without annotated mentions left out")


def _read_folder(
    folder: Path, options: ReadOptions, problems: Problems, left_out: Mapping[Path, Collection[int]]
) -> Iterator[Document]:
    others: Counter[str] = Counter()
    for path, name, chosen in files_to_read(folder, options, problems):
        try:
            yield from read_file(path, name, chosen, problems, left_out)
        except SapbertError as error:
            _count_or_report(path, options, error, problems, others)
    _show_others(folder, others, problems)


def _count_or_report(
    path: Path, options: ReadOptions, error: SapbertError, problems: Problems, others: Counter[str]
) -> None:
    """Count a file of a folder that is of another kind, or report it."""
    if _is_other_format(error):
        suffix = without_gz(path).suffix.lower()
        kind = f"not {options.format.value}" if options.format else _KINDS.get(suffix, "of another kind")
        others[f"{suffix} that is {kind}"] += 1
    elif problems.strict:
        raise error
    else:
        problems.report(file_name(path), str(error).removesuffix("."))


def _show_others(folder: Path, others: Counter[str], problems: Problems) -> None:
    if others:
        counts = [f"{count:,} {file_name(Path(suffix))}" for suffix, count in others.most_common(_SHOWN_SUFFIXES)]
        endings = ", ".join([*counts, "…"] if len(others) > _SHOWN_SUFFIXES else counts)
        message = f"{others.total():,} files of no known format left out ({endings})"
        problems.console.print(f"{file_name(folder)}: {message}")
