"""The documents that a command is given, and the options that say how to read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, SapbertError
from ..io.documents import ReadOptions
from ..io.formats import STDIN, InputFormat, input_format

_FORMAT_HELP = (
    "text: one document a line; jsonl: one object a line, with id, title and text; pubtator; names: one mention a "
    "line, each linked as a whole. By default what the file name shows (.txt, .jsonl, .ndjson, .pubtator)."
)

Pipeline = Annotated[str, typer.Argument(help="Folder or package of a pipeline with sapbert_linker.")]
Inputs = Annotated[list[Path], typer.Argument(help="Files, plain or gzipped; - reads standard input.")]
Format = Annotated[InputFormat | None, typer.Option(help=_FORMAT_HELP)]
Strict = Annotated[bool, typer.Option(help="Stop at the first broken record.")]
BatchSize = Annotated[int | None, typer.Option(min=1, help="Documents in a batch.")]
NProcess = Annotated[int, typer.Option(min=1, help="Processes that work at the same time.")]
TextKey = Annotated[str, typer.Option(help="The key of the text in jsonl.")]
IdKey = Annotated[str, typer.Option(help="The key of the document's id in jsonl.")]
Column = Annotated[int, typer.Option(min=1, help="The tab-separated column of the names.")]
Gold = Annotated[bool, typer.Option(help="Link the annotated mentions of pubtator, not what is found.")]


def with_formats(
    inputs: Sequence[Path], format: InputFormat | None, options: ReadOptions
) -> list[tuple[Path, ReadOptions]]:
    """Look at all inputs before the first is read, so that a wrong name does not come up after hours."""
    for path in inputs:
        if path != STDIN and not path.is_file():
            raise SapbertError(Errors.E504.format(path=path))
    sources = [(path, options._replace(format=format or input_format(path))) for path in inputs]
    if options.gold and any(options.format is not InputFormat.pubtator for _, options in sources):
        raise typer.BadParameter("only documents in the format pubtator have annotated mentions", param_hint="--gold")
    return sources
