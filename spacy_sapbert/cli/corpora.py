"""Read the annotated corpora of commands: all documents, or those of a split."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..corpora.document_ids import DocumentIds
from ..corpora.reader import read_corpus
from ..types import AnnotatedDocument

Ids = Annotated[
    Path | None,
    typer.Option(help="File with document ids, one per line. Only these documents are read."),
]


def read_documents(corpus: Path, format: str | None, ids: Path | None) -> Iterator[AnnotatedDocument]:
    """Yield the documents of a corpus. If there is a file of ids, yield only these documents.

    Raises:
        SapbertError: The errors of `read_corpus` and `DocumentIds`.
    """
    split = DocumentIds(ids) if ids else None
    yield from read_corpus(corpus, format, ids=split)
    if split:
        split.check()
