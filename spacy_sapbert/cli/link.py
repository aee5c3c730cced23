"""Define `spacy-sapbert link`, which links the mentions of documents."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors, SapbertError
from ..files import open_output
from ..io.documents import Problems, ReadOptions, read_documents
from ..io.formats import InputFormat, OutputFormat, output_format
from ..types import NIL
from .inputs import (
    BatchSize,
    Encoding,
    Format,
    Gold,
    IdColumn,
    Inputs,
    NProcess,
    Pipeline,
    Strict,
    TextColumn,
    TitleColumn,
    with_formats,
)
from .progress import stderr_console, track

if TYPE_CHECKING:
    from ..io.pipelines import LinkedDocument

_TO_HELP = "Format of the output. Default: by file name (.jsonl, .pubtator, .tsv, .html), or else jsonl."


def link(
    pipeline: Pipeline,
    inputs: Inputs,
    format: Format = None,
    to: Annotated[OutputFormat | None, typer.Option(help=_TO_HELP)] = None,
    output: Annotated[Path | None, typer.Option(help="File to write. Default: standard output.")] = None,
    strict: Strict = False,
    batch_size: BatchSize = None,
    n_process: NProcess = 1,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    title_column: TitleColumn = None,
    encoding: Encoding = None,
    gold: Gold = False,
) -> None:
    """Link the mentions of documents to the concepts of a vocabulary.

    Offsets count the characters of the title and the text, which are joined by a blank.
    Broken records are reported, counted and left out.
    """
    console = stderr_console()
    problems = Problems(console, strict=strict)
    sources = with_formats(inputs, format, ReadOptions(format, text_column, id_column, title_column, encoding, gold))
    from ..io.outputs import write_linked
    from ..io.pipelines import LinkingPipeline

    linking = LinkingPipeline(pipeline, problems, given=gold or format is InputFormat.names)
    documents = chain.from_iterable(read_documents(path, options, problems) for path, options in sources)
    counts: Counter[str] = Counter()
    shown = output is not None or not sys.stdout.isatty()
    with (
        open_output(output) as write,
        closing(linking(documents, batch_size=batch_size, n_process=n_process, short_lived=True)) as linked,
    ):
        counted = track(_counted(linked, counts), console, shown=shown)
        for piece in write_linked(counted, to or output_format(output), linking.kb):
            write(piece)
        if problems.count and not counts["documents"]:
            raise SapbertError(Errors.E508.format(n=problems.count))
    console.print(_summary(counts, problems.count))


def _counted(linked: Iterable[LinkedDocument], counts: Counter[str]) -> Iterator[LinkedDocument]:
    for item in linked:
        counts["documents"] += 1
        counts["mentions"] += len(item.mentions)
        counts["linked"] += sum(mention.kb_id_ not in ("", NIL) for mention in item.mentions)
        yield item


def _summary(counts: Counter[str], broken: int) -> str:
    done = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    return f"{done}; {broken:,} broken records left out"
