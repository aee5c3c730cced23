"""Define the options for reading documents and annotated corpora, which several commands share, and open the inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..documents.formats import (
    ANNOTATED,
    INPUT_FORMATS,
    INPUT_SUFFIXES,
    OUTPUT_FORMATS,
    files_of,
    format_named,
    suffix_format,
    unknown_format,
)
from ..documents.reader import DocumentIds, read_corpus
from ..documents.source import ReadOptions, Report
from ..errors import ChoiceError, Errors, NotFoundError, OptionError, SapbertError
from ..files.console import stderr_console
from ..files.opening import STDIN, check_encoding
from ..kb.ids import canonical_id
from ..types import Document

_INPUTS_HELP = (
    "Files, plain or gzipped, or folders. Of a folder, all files of a known format are read. - is standard input."
)
_FORMAT_HELP = (
    "Format of the input. text: one document per file. lines: one per line. jsonl: one JSON object per line. "
    "csv (or .xlsx), tsv, parquet: a table. names: tab-separated lines without a header, whose cells are linked as "
    "a whole. sql: a query of PostgreSQL. pubmed: XML of PubMed. jats: articles of PMC. brat, xmi (of INCEpTION), "
    "labelstudio, prodigy, pubannotation, doccano, medcattrainer: files of annotation tools. "
    f"Default: by the ending of each file name ({', '.join(INPUT_SUFFIXES)}). For .xml, the first element decides."
)
_TO_HELP = "Format of the output. Default: by the ending of the file; jsonl for standard output."
_COLUMN_HELP = (
    "Column of a table, or key in jsonl, that is the text, the id or the title, such as text=abstract. For names and "
    "tables without a header, its number. Default: the columns with these names; 1 for names. Repeatable."
)
_ENCODING_HELP = "Encoding of text files, such as latin-1. Default: UTF-8, or as a byte order mark shows."

_FIELDS = ("text", "id", "title")


def _format_option(help: str, known: Sequence[str], what: str) -> Any:
    """Return an option whose value is one of the known formats, or another name of it."""

    def parse(name: str) -> str:
        try:
            return format_named(name, known, what)
        except ChoiceError as error:
            raise typer.BadParameter(str(error)) from error

    return typer.Option(metavar=f"[{'|'.join(known)}]", parser=parse, help=help)


Pipeline = Annotated[str, typer.Argument(help="Folder or package of a pipeline with a sapbert_linker.")]
Inputs = Annotated[list[Path], typer.Argument(help=_INPUTS_HELP)]
Format = Annotated[str | None, _format_option(_FORMAT_HELP, INPUT_FORMATS, "format of documents")]
To = Annotated[str | None, _format_option(_TO_HELP, OUTPUT_FORMATS, "format of links")]
Strict = Annotated[bool, typer.Option(help="Stop at the first broken record.")]
DisplayLanguage = Annotated[
    str | None,
    typer.Option(help="Show preferred names in this language, such as es, where there are any."),
]
NProcess = Annotated[int, typer.Option(min=1, help="Number of processes.")]
Columns = Annotated[list[str] | None, typer.Option("--column", metavar="FIELD=COLUMN", help=_COLUMN_HELP)]
Encoding = Annotated[str | None, typer.Option(help=_ENCODING_HELP)]
Gold = Annotated[
    bool,
    typer.Option(help="Link the annotated mentions of a corpus, not those that the pipeline finds."),
]
Also = Annotated[
    list[str] | None,
    typer.Option(help="Add the codes of each link in these vocabularies, such as ICD10CM,SNOMEDCT. Repeatable."),
]
CodeMapping = Annotated[
    list[Path] | None,
    typer.Option(help="Mapping of ids that gives further codes: SSSOM, or a table of two columns. Repeatable."),
]

Corpus = Annotated[Path, typer.Argument(help="Annotated corpus, plain or gzipped.")]
CorpusFormat = Annotated[
    str | None, typer.Option("--format", help=f"One of {', '.join(ANNOTATED)}. Default: guessed from the file.")
]
Type = Annotated[str | None, typer.Option(help="Use only mentions of this type.")]
Ids = Annotated[
    Path | None,
    typer.Option(help="File with document ids, one per line. Only these documents are read."),
]
Prefixes = Annotated[
    list[str] | None,
    typer.Option("--id-prefix", help="Prefix for the ids of a type that are numbers only, as TYPE=PREFIX. Repeatable."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File for the JSON. Default: standard output.")]
Predictions = Annotated[
    Path | None, typer.Option(help="File for the predictions, one JSON line per mention or document.")
]


def split_pairs(option: str, pairs: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Split each value of an option at its first `=`."""
    for pair in pairs or []:
        left, _, right = pair.partition("=")
        if not left or not right:
            reason = "it needs two values with = between them, such as synonyms=Synonyms"
            raise OptionError(option=f"{option} {pair}", reason=reason)
        yield left, right


def renamed(document: Document, names: Mapping[str, str], prefixes: Mapping[str, str]) -> Document:
    """Return a document with other types. Ids that are numbers only get the prefix of the old type."""
    mentions = (
        mention._replace(
            label=names.get(mention.label, mention.label),
            ids=tuple(canonical_id(concept_id, prefixes.get(mention.label)) for concept_id in mention.ids),
        )
        for mention in document.mentions
    )
    return document._replace(mentions=tuple(mentions))


def reading_options(
    inputs: Sequence[Path],
    format: str | None = None,
    column: list[str] | None = None,
    encoding: str | None = None,
    *,
    gold: bool = False,
) -> ReadOptions:
    """Return the reading options of all inputs. The format of a folder is that of `--format`, or None.

    All inputs are checked before the first is read, so that a wrong file name is found at once.
    """
    columns = dict(split_pairs("--column", column))
    for field in columns.keys() - set(_FIELDS):
        raise ChoiceError(given=field, what="field of a document", choices=_FIELDS)
    text, doc_id, title = map(columns.get, _FIELDS)
    options = ReadOptions(format, text, doc_id, title, encoding, gold)
    for path in inputs:
        if os.path.isdir(path):
            _check_folder(path, format)
        elif path != STDIN and not os.path.isfile(path):
            raise NotFoundError(what=f"file or folder {path}", remedy="Check the path, or use `-` for standard input.")
        check_encoding(path, encoding or "utf-8")
    for path in inputs:
        if not (format or suffix_format(path) or os.path.isdir(path)):
            raise unknown_format(path, INPUT_FORMATS)
    return options


def _check_folder(folder: Path, format: str | None) -> None:
    found = files_of(folder, lambda *_: None)
    if not any(format or suffix_format(path) for path in found):
        raise SapbertError(Errors.E509.format(path=folder, endings=", ".join(INPUT_SUFFIXES)))


def read_documents(corpus: Path, format: str | None, ids: Path | None = None) -> Iterator[Document]:
    """Yield the documents of a corpus. If there is a file of ids, yield only these documents.

    Consecutive records with the same id are one document. After the last one, their number is reported on standard
    error, if there are any.
    """
    split = DocumentIds(ids) if ids else None
    report = Report()
    yield from read_corpus(corpus, format, ids=split, report=report, join_passages=True)
    report.warn_of_broken()
    if report.joined:
        stderr_console().print(report.joined_message())
    if split:
        split.check()
