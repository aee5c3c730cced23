"""Read documents as a stream, from files of any format, from folders and standard input."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import cast

from ..errors import OptionError, OtherFormatError, SapbertError
from ..files.opening import STDIN, file_name, open_file
from ..types import Document
from .formats import (
    ANNOTATED,
    FORMATS,
    Format,
    files_of,
    format_named,
    head_of,
    import_function,
    is_companion,
    json_format,
    may_be_pubmed,
    opened_format,
    others_message,
    suffix_format,
)
from .pubmed import pmids_of, superseded
from .source import DocumentSource, Problems, ReadOptions, join_passages, told

__all__ = ["Problems", "ReadOptions", "read_all", "read_documents"]

Inputs = Sequence[tuple[Path, ReadOptions]]
"""Files and folders, each with its options; `-` is standard input."""
LeftOut = Mapping[Path, Collection[int]]
"""The numbers of the records to leave out of files of PubMed, as `superseded` returns them."""
NOTHING: LeftOut = MappingProxyType({})


class UnannotatedError(OptionError):
    """A file of a format without annotated mentions, which are wanted."""


def read_all(inputs: Inputs, problems: Problems) -> Iterator[Document]:
    """Read several inputs as one stream, see `read_documents`.

    Records of PubMed that a newer one replaces or deletes, in any file of the inputs, are left out. Their number is
    reported.

    Args:
        problems: Reports broken records, and ids that occur twice.

    Yields:
        The documents, in the order of the inputs.
    """
    files = []
    for file, options in _files(inputs):
        problems.total_bytes += file.stat().st_size
        if _may_be_pubmed(file, options):
            files.append(file)
    if STDIN in dict(inputs):
        problems.total_bytes = 0
    left_out: LeftOut = superseded({file: pmids_of(file) for file in files}) if files else NOTHING
    if count := sum(map(len, left_out.values())):
        reason = "since a newer record replaces or deletes them"
        problems.console.print(f"{count:,} records of PubMed left out, {reason}")
    for path, options in inputs:
        yield from read_documents(path, options, problems, left_out)


def _files(inputs: Inputs) -> Iterator[tuple[Path, ReadOptions]]:
    """Yield all files of inputs, but not standard input."""
    for path, options in inputs:
        if path != STDIN:
            for file in files_of(path) if path.is_dir() else [path]:
                yield file, options


def pubmed_files(inputs: Inputs) -> list[Path]:
    """Return the files of inputs that may be of PubMed by their names, but not standard input."""
    return [file for file, options in _files(inputs) if _may_be_pubmed(file, options)]


def _may_be_pubmed(path: Path, options: ReadOptions) -> bool:
    if options.format or options.gold:  # with gold mentions, PubMed is not read
        return options.format == "pubmed"
    return may_be_pubmed(path)


def begun(documents: Iterator[Document]) -> Iterator[Document]:
    """Read the first document, so that a missing column is found before a pipeline is loaded."""
    first = next(documents, None)
    return documents if first is None else chain([first], documents)


def read_documents(
    path: Path, options: ReadOptions, problems: Problems, left_out: LeftOut = NOTHING
) -> Iterator[Document]:
    """Read one input as a stream.

    Consecutive records of one article are joined, see `join_passages`.

    Of a folder, all files of a known format are read, in the order of `files_of`. The id of a text file is its path
    relative to the folder. A file that cannot be read is reported, and the others are read.

    Args:
        path: A file, plain or gzipped, or a folder; `-` is standard input.
        problems: Reports broken records, and ids that an earlier input with the same `problems` has had.
        left_out: Records of PubMed to leave out.

    Yields:
        The documents, in the order of the file. A document without an id is named by file and line.
    """
    if os.path.isdir(path):
        documents = _read_folder(path, options, problems, left_out)
    else:
        documents = read_file(path, "stdin" if path == STDIN else path.name, options, problems, left_out)
    for document in documents:
        problems.check_id(document)
        yield document


def sound(documents: Iterable[Document], problems: Problems, max_length: int) -> Iterator[Document]:
    """Leave out and report documents that are not text, or have more than `max_length` characters."""
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


# --- files


def read_file(
    path: Path, name: str, options: ReadOptions, problems: Problems, left_out: LeftOut = NOTHING
) -> Iterator[Document]:
    """Read one file as `read_documents` does. It is opened once.

    `name` is the id of its only document, and the beginning of the ids of documents without an id.
    """
    options = options._replace(format=options.format and format_named(options.format))
    with open_file(path) as opened, problems.reading(opened):
        format = FORMATS[options.format or opened_format(path, opened.stream)]
        if format.name in ("spacy", "parquet") and path == STDIN:
            remedy = "Save the input to a file, and give the file."
            raise OptionError(option=f"--format {format.name}", reason="standard input must be text", remedy=remedy)
        if format.name == "jsonl" and options.gold and not options.format:
            format = FORMATS[json_format(head_of(opened.stream)) or format.name]
        source = DocumentSource(
            path,
            report=problems,
            encoding=options.encoding or format.encoding,
            strict=problems.strict,
            lenient=True,
            opened=opened,
            name=file_name(Path(name)),
            options=options,
            left_out=left_out.get(path, ()),
        )
        if options.gold and not format.annotated:
            has = f"{source.file} has the format {format.name}"
            reason = f"{has}, but only these have annotated mentions: {', '.join(ANNOTATED)}"
            raise UnannotatedError(option="--gold", reason=reason)
        if format.read and not options.gold:
            yield from import_function(format.read)(source)
        else:
            yield from _read_annotated(source, format)


def _read_annotated(source: DocumentSource, format: Format) -> Iterator[Document]:
    """Read a file with annotated mentions, and then show what was moved in it."""
    problems = cast(Problems, source.report)
    shifted, mismatched, moved = problems.shifted, problems.mismatched, problems.moved
    documents = import_function(format.annotated)(source)
    if source.options.gold:
        documents = told(documents, source)
    else:
        documents = (document._replace(mentions=()) for document in documents)
    if format.in_passages:
        documents = join_passages(documents, problems)
    yield from documents
    if n := problems.shifted - shifted:
        reason = "passages overlap or are far apart, so each follows the one before"
        problems.console.print(f"{source.file}: {n:,} {reason}; the offsets of the output count in this text")
    if source.options.gold and (n := problems.mismatched - mismatched):
        reason = "annotated mentions differ from the text at their offsets"
        moved = problems.moved - moved
        problems.console.print(f"{source.file}: {n:,} {reason}; {moved:,} of them were moved to the same text nearby")


# --- folders


def files_to_read(path: Path, options: ReadOptions, problems: Problems) -> Iterator[tuple[Path, str]]:
    """Yield the files of an input, each with its name.

    The files of a folder are those of a known format, in the order of `files_of`. Others are counted and reported.
    """
    if not os.path.isdir(path):
        yield path, "stdin" if path == STDIN else path.name
        return
    others: list[Path] = []
    for file in files_of(path, lambda skipped, reason: problems.report(file_name(skipped), reason)):
        if is_companion(file, options.format):
            continue
        if options.format or suffix_format(file):
            yield file, file.relative_to(path).as_posix()
        else:
            others.append(file)
    if others:
        problems.console.print(others_message(path, others))


def _read_folder(folder: Path, options: ReadOptions, problems: Problems, left_out: LeftOut) -> Iterator[Document]:
    others: list[Path] = []
    n_unannotated = 0
    for path, name in files_to_read(folder, options, problems):
        try:
            yield from read_file(path, name, options, problems, left_out)
        except UnannotatedError:
            n_unannotated += 1
        except SapbertError as error:
            if isinstance(error, OtherFormatError):
                others.append(path)
            elif problems.strict:
                raise
            else:
                problems.report(file_name(path), str(error).removesuffix("."))
    if n_unannotated:
        problems.console.print(f"{file_name(folder)}: {n_unannotated:,} files without annotated mentions left out")
    if others:
        problems.console.print(others_message(folder, others))
