"""Read documents to link as a stream, from files of any format, from folders and from standard input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rich.console import Console

from ..corpora.passages import PassageCounts, place_passages, runs, shifted
from ..errors import SapbertError
from ..files import without_gz
from .annotated_files import read_bioc_file, read_spacy_file
from .folders import files_of
from .formats import ANNOTATED, PASSAGES, STDIN, InputFormat, input_format, suffix_format
from .sources import DocumentSource, InputDocument, Problems, ReadOptions, in_unicode
from .table_files import read_csv, read_parquet, read_tsv
from .text_files import read_jsonl, read_lines, read_names, read_pubtator_file, read_text

_READERS: dict[InputFormat, Callable[[DocumentSource, ReadOptions], Iterator[InputDocument]]] = {
    InputFormat.text: read_text,
    InputFormat.lines: read_lines,
    InputFormat.jsonl: read_jsonl,
    InputFormat.csv: read_csv,
    InputFormat.tsv: read_tsv,
    InputFormat.parquet: read_parquet,
    InputFormat.pubtator: read_pubtator_file,
    InputFormat.bioc: read_bioc_file,
    InputFormat.spacy: read_spacy_file,
    InputFormat.names: read_names,
}
_NOT_BIOC = ("[E207]", "[E217]")  # other XML and JSON, which folders often have beside texts
_SHOWN_SUFFIXES = 5


def read_documents(path: Path, options: ReadOptions, problems: Problems) -> Iterator[InputDocument]:
    """Read one input as a stream.

    Consecutive records of one article are joined, see `ReadOptions.join_passages`.

    Of a folder, all files of a known format are read, in the order of `files_of`. The id of a text file is its path
    relative to the folder. A file that cannot be read is reported, and the others are read.

    Args:
        path: A file, plain or gzipped, or a folder; `-` is standard input.
        options: How to read it.
        problems: Reports broken records, and ids that an earlier input with the same `problems` has had.

    Yields:
        The documents, in the order of the file. A document without an id is named by file and line.

    Raises:
        SapbertError: E120, E121, E133 to E139, E205 to E217 the file cannot be read. E505 its name shows no format.
            E506 a record is broken and `problems.strict` is set.
    """
    if path.is_dir():
        documents = _read_folder(path, options, problems)
    else:
        documents = read_file(path, "stdin" if path == STDIN else path.name, options, problems)
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


def sound(documents: Iterable[InputDocument], problems: Problems, max_length: int) -> Iterator[InputDocument]:
    """Leave out and report documents that are not text, or are too long.

    Args:
        documents: The documents.
        problems: Reports the documents that are left out.
        max_length: The maximum length in characters.
    """
    for document in documents:
        reason = fault(document.text, max_length)
        if reason:
            problems.report(document.place, reason)
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


def read_file(path: Path, name: str, options: ReadOptions, problems: Problems) -> Iterator[InputDocument]:
    """Read one file as `read_documents` does.

    Args:
        path: The file; `-` is standard input.
        name: The id of its only document, and the beginning of the ids of documents without an id.
        options: How to read it.
        problems: Reports broken records.
    """
    source = DocumentSource(path, name=in_unicode(name), problems=problems, encoding=options.encoding or "")
    format = options.format or input_format(path)
    documents = _READERS[format](source, options)
    return _joined(documents, problems.passages) if options.join_passages and format in PASSAGES else documents


def _joined(records: Iterable[InputDocument], counts: PassageCounts) -> Iterator[InputDocument]:
    for run in runs(records, counts):
        first = run[0]
        if len(run) == 1:
            yield first
            continue
        text, passages = place_passages([record.text for record in run], [record.title for record in run])
        placed = zip(run, passages, strict=True)
        mentions = tuple(shifted(mention, at.start) for record, at in placed for mention in record.mentions or ())
        given = None if first.mentions is None else mentions
        yield first._replace(text=text, mentions=given, passages=passages)


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
            _report_file(file, error, problems)
            continue
        if format is None:
            unknown[without_gz(file).suffix.lower() or "no ending"] += 1
        elif options.gold and format not in ANNOTATED:
            without_mentions += 1
        else:
            yield file, file.relative_to(path).as_posix(), options._replace(format=format)
    _show_skipped(path, unknown, without_mentions, problems)


def _read_folder(folder: Path, options: ReadOptions, problems: Problems) -> Iterator[InputDocument]:
    other: Counter[str] = Counter()
    for path, name, chosen in files_to_read(folder, options, problems):
        try:
            yield from read_file(path, name, chosen, problems)
        except SapbertError as error:
            if str(error).startswith(_NOT_BIOC):
                other[f"{without_gz(path).suffix.lower()} that is not BioC"] += 1
            else:
                _report_file(path, error, problems)
    _show_skipped(folder, other, 0, problems)


def _report_file(path: Path, error: SapbertError, problems: Problems) -> None:
    if problems.strict:
        raise error
    problems.report(in_unicode(str(path)), str(error).removesuffix("."))


def _show_skipped(folder: Path, unknown: Counter[str], without_mentions: int, problems: Problems) -> None:
    place = in_unicode(str(folder))
    if unknown:
        counts = [f"{count:,} {in_unicode(suffix)}" for suffix, count in unknown.most_common(_SHOWN_SUFFIXES)]
        endings = ", ".join([*counts, "…"] if len(unknown) > _SHOWN_SUFFIXES else counts)
        problems.console.print(f"{place}: {unknown.total():,} files of no known format left out ({endings})")
    if without_mentions:
        problems.console.print(f"{place}: {without_mentions:,} files without annotated mentions left out")
