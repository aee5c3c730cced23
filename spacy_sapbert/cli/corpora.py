"""Read the annotated corpora of commands: all documents, or those of a split."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..documents.document_ids import DocumentIds
from ..documents.passages import PassageCounts
from ..documents.reader import read_corpus
from ..files.console import stderr_console
from ..types import Document

Ids = Annotated[
    Path | None,
    typer.Option(help="File with document ids, one per line. Only these documents are read."),
]


def read_documents(corpus: Path, format: str | None, ids: Path | None, *, join_passages: bool) -> Iterator[Document]:
    """Yield the documents of a corpus. If there is a file of ids, yield only these documents.

    After the last document, the number of joined records is reported on standard error, if there are any.

    Raises:
        SapbertError: The errors of `read_corpus` and `DocumentIds`.
    """
    split = DocumentIds(ids) if ids else None
    passages = PassageCounts()
    yield from read_corpus(corpus, format, ids=split, passages=passages if join_passages else None)
    if passages.records:
        stderr_console().print(str(passages))
    if split:
        split.check()
