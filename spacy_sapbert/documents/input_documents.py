"""Read documents to link as a stream, from files of any format, from folders and from standard input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from rich.console import Console

from ..errors import Errors, SapbertError
from ..files.opening import without_gz
from ..types import Document
from .annotated_files import read_bioc_file, read_spacy_file
from .archives import files_in, is_archive, translated
from .folders import files_of
from .formats import ANNOTATED, ARCHIVED, PASSAGES, STDIN, InputFormat, input_format, suffix_format, xml_format
from .input_source import DocumentSource, Problems, ReadOptions, in_unicode
from .jats import read_jats
from .passages import PassageCounts, place_passages, runs, shifted
from .pubmed import read_pubmed, superseded
from .table_files import read_csv, read_parquet, read_tsv
from .text_files import read_jsonl, read_lines, read_names, read_pubtator_file, read_text

_READERS: dict[InputFormat, Callable[[DocumentSource, ReadOptions], Iterator[Document]]] = {
    InputFormat.text: read_text,
    InputFormat.lines: read_lines,
    InputFormat.jsonl: read_jsonl,
    InputFormat.csv: read_csv,
    InputFormat.tsv: read_tsv,
    InputFormat.parquet: read_parquet,
    InputFormat.pubtator: read_pubtator_file,
    InputFormat.bioc: read_bioc_file,
    InputFormat.jats: lambda source, _: read_jats(source),
    InputFormat.spacy: read_spacy_file,
    InputFormat.names: read_names,
}
# other XML, JSON and archives, which folders often have beside texts
_OTHER_FILE = ("[E207]", "[E217]", "[E581]")
_KINDS = {
    ".json": "not BioC",
    ".xml": "not BioC, PubMed or JATS",
    ".tar": "without articles",
    ".tgz": "without articles",
}
_SHOWN_SUFFIXES = 5
_ENDS_ARCHIVE = ("[E121]", "[E506]", "[E580]")
_LARGEST_PACKED = 1 << 28
"""The most bytes of a file in an archive. The largest articles of PMC have some tens of millions."""
_MANY = 10

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

    Raises:
        SapbertError: See `read_documents`.
    """
    files = pubmed_files(inputs)
    if len(files) > _MANY:
        problems.console.print(f"{len(files):,} files of PubMed are searched for newer records")
    left_out = superseded(files)
    if count := sum(map(len, left_out.values())):
        reason = "since a newer record replaces or deletes them"
        problems.console.print(f"{count:,} records of PubMed left out, {reason}")
    for path, options in inputs:
        yield from read_documents(path, options, problems, left_out)


def pubmed_files(inputs: Inputs) -> list[Path]:
    """Return the files of PubMed of inputs, but not standard input. Of other XML files, only the begin is read."""
    return [
        file
        for path, options in inputs
        if path != STDIN
        for file in (files_of(path, lambda *_: None) if path.is_dir() else [path])
        if _is_pubmed(file, options)
    ]


def _is_pubmed(path: Path, options: ReadOptions) -> bool:
    if options.format or options.gold:  # with gold mentions, PubMed is not read
        return options.format is InputFormat.pubmed
    try:
        return without_gz(path).suffix.lower() == ".xml" and xml_format(path) is InputFormat.pubmed
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

    Raises:
        SapbertError: E120, E121, E133 to E139, E205 to E217, E580, E581 the file cannot be read. E505 its name shows no
            format. E506 a record is broken and `problems.strict` is set.
    """
    if path.is_dir():
        documents = _read_folder(path, options, problems, left_out)
    else:
        documents = read_file(path, "stdin" if path == STDIN else path.name, options, problems, left_out)
    for document in documents:
        problems.check_id(document)
        yield document


def check_table(path: Path, options: ReadOptions) -> None:
    """Read the first document of a table, so that a missing column is found before the pipeline is loaded.

    Raises:
        SapbertError: As for `read_documents`.
    """
    if options.format in (InputFormat.csv, InputFormat.tsv, InputFormat.parquet) and path != STDIN:
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
    source = DocumentSource(path, name=in_unicode(name), problems=problems, encoding=options.encoding or "")
    format = options.format or input_format(path)
    if format is InputFormat.pubmed:
        documents = read_pubmed(source, left_out.get(path, ()))
    elif format in ARCHIVED and is_archive(path):
        documents = _read_archive(source, format, options)
    else:
        documents = _READERS[format](source, options)
    return _joined(documents, problems.passages) if options.join_passages and format in PASSAGES else documents


@dataclass(frozen=True, kw_only=True)
class _PackedFile(DocumentSource):
    """One file of an archive.

    Attributes:
        content: Its bytes.
        archive: The archive.
    """

    content: BinaryIO
    archive: Path

    @contextmanager
    def open(self, *, lines: bool = True) -> Iterator[BinaryIO]:
        """Open the bytes of the file.

        Args:
            lines: Without effect, since the size of the file is bounded.

        Raises:
            SapbertError: E121 or E580 the archive is damaged.
        """
        with translated(self.archive):
            yield self.content


def _read_archive(source: DocumentSource, format: InputFormat, options: ReadOptions) -> Iterator[Document]:
    found = others = 0
    for packed in files_in(source.path, ARCHIVED[format]):
        if packed.content is None:
            others += 1
            continue
        name = in_unicode(f"{source.path}/{packed.name}")
        if packed.size > _LARGEST_PACKED:
            reason = f"this file has {packed.size:,} bytes, but at most {_LARGEST_PACKED:,} are read"
            source.problems.report(name, reason)
            continue
        opened = _PackedFile(
            Path(name),
            name=in_unicode(packed.name),
            problems=source.problems,
            content=packed.content,
            archive=source.path,
        )
        try:
            for document in _READERS[format](opened, options):
                found += 1
                yield document
        except SapbertError as error:
            if str(error).startswith(_OTHER_FILE):
                others += 1
            elif source.problems.strict or str(error).startswith(_ENDS_ARCHIVE):
                raise
            else:
                source.problems.report(name, str(error).removesuffix("."))
    if not found:
        raise SapbertError(
            Errors.E581.format(path=source.file, format=format.value, endings=", ".join(ARCHIVED[format]))
        )
    if others:
        source.problems.console.print(f"{source.file}: {others:,} files that are no articles left out")


def _joined(records: Iterable[Document], counts: PassageCounts) -> Iterator[Document]:
    for run in runs(records, counts):
        first = run[0]
        if len(run) == 1:
            yield first
            continue
        text, passages = place_passages([record.text for record in run], [record.title for record in run])
        placed = zip(run, passages, strict=True)
        mentions = tuple(shifted(mention, at.start) for record, at in placed for mention in record.mentions)
        yield first._replace(text=text, mentions=mentions, passages=passages)


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
    unknown: Counter[str] = Counter()
    without_mentions = 0
    for file in files_of(path, lambda skipped, reason: problems.report(in_unicode(str(skipped)), reason)):
        try:
            format = options.format or (input_format(file) if suffix_format(file) else None)
        except SapbertError as error:
            _count_or_report(file, options, error, problems, unknown)
            continue
        if format is None:
            unknown[without_gz(file).suffix.lower() or "no ending"] += 1
        elif options.gold and format not in ANNOTATED:
            without_mentions += 1
        else:
            yield file, file.relative_to(path).as_posix(), options._replace(format=format)
    _show_skipped(path, unknown, without_mentions, problems)


def _read_folder(
    folder: Path, options: ReadOptions, problems: Problems, left_out: Mapping[Path, Collection[int]]
) -> Iterator[Document]:
    others: Counter[str] = Counter()
    for path, name, chosen in files_to_read(folder, options, problems):
        try:
            yield from read_file(path, name, chosen, problems, left_out)
        except SapbertError as error:
            _count_or_report(path, options, error, problems, others)
    _show_skipped(folder, others, 0, problems)


def _count_or_report(
    path: Path, options: ReadOptions, error: SapbertError, problems: Problems, others: Counter[str]
) -> None:
    """Count a file of a folder that is of another kind, or report it."""
    if str(error).startswith(_OTHER_FILE):
        suffix = without_gz(path).suffix.lower()
        kind = f"not {options.format.value}" if options.format else _KINDS.get(suffix, "of another kind")
        others[f"{suffix} that is {kind}"] += 1
    elif problems.strict:
        raise error
    else:
        problems.report(in_unicode(str(path)), str(error).removesuffix("."))


def _show_skipped(folder: Path, unknown: Counter[str], without_mentions: int, problems: Problems) -> None:
    place = in_unicode(str(folder))
    if unknown:
        counts = [f"{count:,} {in_unicode(suffix)}" for suffix, count in unknown.most_common(_SHOWN_SUFFIXES)]
        endings = ", ".join([*counts, "…"] if len(unknown) > _SHOWN_SUFFIXES else counts)
        problems.console.print(f"{place}: {unknown.total():,} files of no known format left out ({endings})")
    if without_mentions:
        problems.console.print(f"{place}: {without_mentions:,} files without annotated mentions left out")
