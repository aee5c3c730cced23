"""Define the options for reading documents, which several commands share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..documents.folders import files_of
from ..documents.formats import ANNOTATED, INPUT_SUFFIXES, STDIN, InputFormat, input_format, suffix_format
from ..documents.input_documents import check_table
from ..documents.input_source import ReadOptions
from ..errors import Errors, SapbertError
from ..files.opening import check_encoding

_INPUTS_HELP = (
    "Files, plain or gzipped, or folders. Of a folder, all files of a known format are read. - is standard input."
)
_FORMAT_HELP = (
    "Format of the input. text: one document per file. lines: one per line. jsonl: one JSON object per line. "
    "csv, tsv, parquet: a table. names: tab-separated lines without a header, whose cells are linked as a whole. "
    "pubmed: XML of PubMed. jats: articles of PMC, also in a tar archive. "
    f"Default: by the ending of each file name ({', '.join(INPUT_SUFFIXES)}). For .xml, the first element decides."
)
_TEXT_HELP = (
    "Column of the text in csv, tsv and parquet, and its key in jsonl. For names and tables without a header, the "
    "number of the column. Default: text, or 1 for names."
)
_ID_HELP = "Column or key of the document id, in the same formats. Default: id. Without an id, file and line name it."
_TITLE_HELP = "Column or key of a title before the text, in csv, tsv, parquet and jsonl. Default: title."
_ENCODING_HELP = "Encoding of text files, such as latin-1. Default: UTF-8, or as a byte order mark shows."

Pipeline = Annotated[str, typer.Argument(help="Folder or package of a pipeline with a sapbert_linker.")]
Inputs = Annotated[list[Path], typer.Argument(help=_INPUTS_HELP)]
Format = Annotated[InputFormat | None, typer.Option(help=_FORMAT_HELP)]
Strict = Annotated[bool, typer.Option(help="Stop at the first broken record.")]
BatchSize = Annotated[int | None, typer.Option(min=1, help="Number of documents per batch.")]
DisplayLanguage = Annotated[
    str | None,
    typer.Option(help="Show preferred names in this language, such as es, where there are any."),
]
NProcess = Annotated[int, typer.Option(min=1, help="Number of processes.")]
JoinPassages = Annotated[
    bool,
    typer.Option(help="Read consecutive records of pubtator and bioc with the same id as one document."),
]
TextColumn = Annotated[str | None, typer.Option(help=_TEXT_HELP)]
IdColumn = Annotated[str | None, typer.Option(help=_ID_HELP)]
TitleColumn = Annotated[str | None, typer.Option(help=_TITLE_HELP)]
Encoding = Annotated[str | None, typer.Option(help=_ENCODING_HELP)]
Gold = Annotated[
    bool,
    typer.Option(help="Link the annotated mentions of pubtator, bioc or spacy, not those that the pipeline finds."),
]


def check_apart(source: Path, output: Path) -> None:
    """Check that an output folder neither replaces the input nor becomes part of it.

    Raises:
        SapbertError: E533 it would.
    """
    found, target = Path(os.path.realpath(source)), Path(os.path.realpath(output))
    if found.is_relative_to(target) or target.is_relative_to(found):
        raise SapbertError(Errors.E533.format(reason=f"--output must be outside {source}, and {source} outside of it"))


def with_formats(
    inputs: Sequence[Path], format: InputFormat | None, options: ReadOptions
) -> list[tuple[Path, ReadOptions]]:
    """Return each input with its reading options. The format of a folder is that of `--format`, or None.

    All inputs are checked before the first is read, so that a wrong file name is found at once.

    Raises:
        SapbertError: E123 there is no such encoding. E134 to E139 a table cannot be read. E504 there is no such file.
            E505 a file name shows no format. E509 a folder has no file to read. E512 a column of names has no number.
    """
    for path in inputs:
        if path.is_dir():
            _check_folder(path, format)
        elif path != STDIN and not path.is_file():
            raise SapbertError(Errors.E504.format(path=path))
        check_encoding(path, options.encoding or "utf-8")
    if format is InputFormat.names:
        _check_numbers({"--text-column": options.text_column, "--id-column": options.id_column})
    sources = [(path, options._replace(format=_format(path, format))) for path in inputs]
    formats = [options.format for _, options in sources if options.format]
    if options.gold and any(format not in ANNOTATED for format in formats):
        names = ", ".join(format.value for format in ANNOTATED)
        raise typer.BadParameter(f"the input must have a format with annotated mentions: {names}", param_hint="--gold")
    for path, chosen in sources:
        if not path.is_dir():
            check_table(path, chosen)
    return sources


def _format(path: Path, format: InputFormat | None) -> InputFormat | None:
    return format if format or path.is_dir() else input_format(path)


def _check_folder(folder: Path, format: InputFormat | None) -> None:
    found = files_of(folder, lambda *_: None)
    if not any(format or suffix_format(path) for path in found):
        raise SapbertError(Errors.E509.format(path=folder, endings=", ".join(INPUT_SUFFIXES)))


def _check_numbers(columns: dict[str, str | None]) -> None:
    for option, given in columns.items():
        if given is not None and not (given.isascii() and given.isdecimal() and int(given) > 0):
            raise SapbertError(Errors.E512.format(option=option, given=given))
