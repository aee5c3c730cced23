"""`link`: documents in, documents with linked mentions out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors, SapbertError
from ..files import open_output
from ..types import NIL
from .documents import Problems, Reading, read_documents
from .formats import STDIN, InputFormat, OutputFormat, input_format, output_format
from .progress import stderr_console, track

if TYPE_CHECKING:
    from .linked import LinkedDocument

_FORMAT_HELP = (
    "text: one document a line; jsonl: one object a line, with id, title and text; pubtator; names: one mention a "
    "line, each linked as a whole. By default what the file name shows (.txt, .jsonl, .ndjson, .pubtator)."
)
_TO_HELP = "By default what the name of the output shows (.jsonl, .pubtator, .tsv, .html), or else jsonl."


def link(
    pipeline: Annotated[str, typer.Argument(help="Folder or package of a pipeline with sapbert_linker.")],
    inputs: Annotated[list[Path], typer.Argument(help="Files, plain or gzipped; - reads standard input.")],
    format: Annotated[InputFormat | None, typer.Option(help=_FORMAT_HELP)] = None,
    to: Annotated[OutputFormat | None, typer.Option(help=_TO_HELP)] = None,
    output: Annotated[Path | None, typer.Option(help="The file to write, instead of standard output.")] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first broken record.")] = False,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Documents in a batch.")] = None,
    n_process: Annotated[int, typer.Option(min=1, help="Processes that work at the same time.")] = 1,
    text_key: Annotated[str, typer.Option(help="The key of the text in jsonl.")] = "text",
    id_key: Annotated[str, typer.Option(help="The key of the document's id in jsonl.")] = "id",
    column: Annotated[int, typer.Option(min=1, help="The tab-separated column of the names.")] = 1,
    gold: Annotated[bool, typer.Option(help="Link the annotated mentions of pubtator, not what is found.")] = False,
) -> None:
    """Link the mentions of documents to the concepts of a vocabulary.

    Offsets count the characters of a document's text; a title stands before it, with a blank between.

    A record that is broken is left out, and standard error tells of it and of how many there were.
    """
    console = stderr_console()
    problems = Problems(console, strict=strict)
    sources = _sources(inputs, format, Reading(InputFormat.text, text_key, id_key, column, gold))
    from .linked import LinkingPipeline
    from .outputs import write_linked

    linking = LinkingPipeline(pipeline, problems, given=gold or format is InputFormat.names)
    documents = chain.from_iterable(read_documents(path, reading, problems) for path, reading in sources)
    counts: Counter[str] = Counter()
    shown = output is not None or not sys.stdout.isatty()
    with (
        open_output(output) as write,
        closing(linking(documents, batch_size=batch_size, n_process=n_process)) as linked,
    ):
        counted = track(_counted(linked, counts), console, shown=shown)
        for piece in write_linked(counted, to or output_format(output), linking.store):
            write(piece)
        if problems.count and not counts["documents"]:
            raise SapbertError(Errors.E508.format(n=problems.count))
    console.print(_summary(counts, problems.count))


def _sources(inputs: Sequence[Path], format: InputFormat | None, reading: Reading) -> list[tuple[Path, Reading]]:
    """Look at all inputs before the first is read, so that a wrong name does not come up after hours."""
    for path in inputs:
        if path != STDIN and not path.is_file():
            raise SapbertError(Errors.E504.format(path=path))
    sources = [(path, reading._replace(format=format or input_format(path))) for path in inputs]
    if reading.gold and any(reading.format is not InputFormat.pubtator for _, reading in sources):
        raise typer.BadParameter("only documents in the format pubtator have annotated mentions", param_hint="--gold")
    return sources


def _counted(linked: Iterable[LinkedDocument], counts: Counter[str]) -> Iterator[LinkedDocument]:
    for item in linked:
        counts["documents"] += 1
        counts["mentions"] += len(item.mentions)
        counts["linked"] += sum(mention.kb_id_ not in ("", NIL) for mention in item.mentions)
        yield item


def _summary(counts: Counter[str], broken: int) -> str:
    done = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    return f"{done}; {broken:,} broken records left out"
