"""Define the options for annotated corpora, which several commands share, and read the corpora."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..documents.reader import FORMATS, DocumentIds, read_corpus
from ..documents.source import Report
from ..files.console import stderr_console
from ..types import Document

Corpus = Annotated[Path, typer.Argument(help="Annotated corpus, plain or gzipped.")]
Format = Annotated[str | None, typer.Option(help=f"One of {', '.join(FORMATS)}. Default: guessed from the file.")]
Type = Annotated[str | None, typer.Option(help="Use only mentions of this type.")]
Ids = Annotated[
    Path | None,
    typer.Option(help="File with document ids, one per line. Only these documents are read."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File for the JSON. Default: standard output.")]
Predictions = Annotated[
    Path | None, typer.Option(help="File for the predictions, one JSON line per mention or document.")
]


def read_documents(corpus: Path, format: str | None, ids: Path | None, *, join_passages: bool) -> Iterator[Document]:
    """Yield the documents of a corpus. If there is a file of ids, yield only these documents.

    After the last document, the number of joined records is reported on standard error, if there are any.
    """
    split = DocumentIds(ids) if ids else None
    report = Report()
    yield from read_corpus(corpus, format, ids=split, report=report, join_passages=join_passages)
    report.warn_of_broken()
    if report.joined:
        stderr_console().print(report.joined_message())
    if split:
        split.check()
