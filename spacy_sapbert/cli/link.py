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
from ..io.documents import Problems, ReadOptions, read_documents
from ..io.formats import InputFormat, OutputFormat, output_format
from ..types import NIL
from .inputs import BatchSize, Column, Format, Gold, IdKey, Inputs, NProcess, Pipeline, Strict, TextKey, with_formats
from .progress import stderr_console, track

if TYPE_CHECKING:
    from ..io.pipelines import LinkedDocument

_TO_HELP = "Format of the output. Default: by the ending of the file; jsonl for standard output."


def link(
    pipeline: Pipeline,
    inputs: Inputs,
    format: Format = None,
    to: Annotated[OutputFormat | None, typer.Option(help=_TO_HELP)] = None,
    output: Annotated[Path | None, typer.Option(help="File to write. Default: standard output.")] = None,
    strict: Strict = False,
    batch_size: BatchSize = None,
    n_process: NProcess = 1,
    text_key: TextKey = "text",
    id_key: IdKey = "id",
    column: Column = 1,
    gold: Gold = False,
) -> None:
    """Link the mentions of documents to the concepts of a vocabulary.

    Offsets count the characters of the title and the text, which are joined by a blank.
    Broken records are reported, counted and left out.
    """
    console = stderr_console()
    problems = Problems(console, strict=strict)
    sources = with_formats(inputs, format, ReadOptions(InputFormat.text, text_key, id_key, column, gold))
    from ..io.outputs import write_records
    from ..io.pipelines import LinkingPipeline
    from ..io.records import record_of

    output_as = to or output_format(output)
    linking = LinkingPipeline(pipeline, problems, given=gold or format is InputFormat.names)
    documents = chain.from_iterable(read_documents(path, options, problems) for path, options in sources)
    counts: Counter[str] = Counter()
    shown = output is not None or not sys.stdout.isatty()
    with closing(linking(documents, batch_size=batch_size, n_process=n_process, short_lived=True)) as linked:
        counted = track(_counted(linked, counts, problems), console, shown=shown)
        write_records((record_of(item, linking.kb) for item in counted), output_as, output)
    console.print(_summary(counts, problems.count))


def _counted(linked: Iterable[LinkedDocument], counts: Counter[str], problems: Problems) -> Iterator[LinkedDocument]:
    """Count documents and mentions. It is an error if all records are broken, and then no file is written."""
    for item in linked:
        counts["documents"] += 1
        counts["mentions"] += len(item.mentions)
        counts["linked"] += sum(mention.kb_id_ not in ("", NIL) for mention in item.mentions)
        yield item
    if problems.count and not counts["documents"]:
        raise SapbertError(Errors.E508.format(n=problems.count))


def _summary(counts: Counter[str], broken: int) -> str:
    done = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    return f"{done}; {broken:,} broken records left out"
