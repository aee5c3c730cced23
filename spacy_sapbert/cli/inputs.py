"""Define the options for reading documents, which several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, SapbertError
from ..io.documents import ReadOptions
from ..io.formats import STDIN, InputFormat, input_format

_FORMAT_HELP = (
    "Format of the input. text: one document per line. jsonl: one object per line, with id, title and text. "
    "names: one mention per line, linked as a whole. Default: by file name (.txt, .jsonl, .ndjson, .pubtator)."
)

Pipeline = Annotated[str, typer.Argument(help="Folder or package of a pipeline with a sapbert_linker.")]
Inputs = Annotated[list[Path], typer.Argument(help="Files, plain or gzipped; - reads standard input.")]
Format = Annotated[InputFormat | None, typer.Option(help=_FORMAT_HELP)]
Strict = Annotated[bool, typer.Option(help="Stop at the first broken record.")]
BatchSize = Annotated[int | None, typer.Option(min=1, help="Number of documents per batch.")]
NProcess = Annotated[int, typer.Option(min=1, help="Number of processes.")]
TextKey = Annotated[str, typer.Option(help="Key of the text in jsonl.")]
IdKey = Annotated[str, typer.Option(help="Key of the document id in jsonl.")]
Column = Annotated[int, typer.Option(min=1, help="Number of the tab-separated column with the names.")]
Gold = Annotated[
    bool, typer.Option(help="Link the annotated mentions of pubtator instead of those that the pipeline finds.")
]


def with_formats(
    inputs: Sequence[Path], format: InputFormat | None, options: ReadOptions
) -> list[tuple[Path, ReadOptions]]:
    """Return each input with its reading options.

    All inputs are checked before the first is read, so that a wrong file name is found at once.

    Raises:
        SapbertError: E504 there is no such file. E505 a file name shows no format.
    """
    for path in inputs:
        if path != STDIN and not path.is_file():
            raise SapbertError(Errors.E504.format(path=path))
    sources = [(path, options._replace(format=format or input_format(path))) for path in inputs]
    if options.gold and any(options.format is not InputFormat.pubtator for _, options in sources):
        raise typer.BadParameter(
            "the input must have the format pubtator, which has annotated mentions", param_hint="--gold"
        )
    return sources
