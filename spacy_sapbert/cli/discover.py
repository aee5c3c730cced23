"""Define `spacy-sapbert discover`, which lists linked texts that are not yet names in the vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..documents.formats import InputFormat
from ..documents.input_documents import Problems, ReadOptions, read_all
from ..documents.totals import total_documents
from ..errors import Errors, SapbertError
from ..files.console import show_values, stderr_console, track
from ..files.output import open_output
from ..types import NIL
from .inputs import (
    BatchSize,
    Encoding,
    Format,
    Gold,
    IdColumn,
    Inputs,
    JoinPassages,
    NProcess,
    Pipeline,
    Strict,
    TextColumn,
    TitleColumn,
    with_formats,
)

if TYPE_CHECKING:
    from ..kb.new_names import LinkedOccurrence
    from ..outputs.records import LinkedDocument
    from ..runs.pipelines import LinkingPipeline

_COUNTS = (
    "documents",
    "mentions",
    "mentions_of_other_types",
    "linked_mentions",
    "known_names",
    "short_forms",
    "without_words",
    "occurrences",
    "candidates",
)


def discover(
    pipeline: Pipeline,
    corpus: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write, tab-separated.")],
    similarity: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest score of a link. Default: the threshold of the linker.")
    ] = None,
    min_documents: Annotated[int, typer.Option(min=1, help="Leave out names that occur in fewer documents.")] = 1,
    type: Annotated[list[str] | None, typer.Option(help="Use only mentions of this type. Repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of names in the table.")] = None,
    format: Format = None,
    strict: Strict = False,
    batch_size: BatchSize = None,
    n_process: NProcess = 1,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    title_column: TitleColumn = None,
    encoding: Encoding = None,
    gold: Gold = False,
    join_passages: JoinPassages = True,
) -> None:
    """Find new names: linked mentions whose text is not yet a name of their concept.

    The result is a table for your review. In the column `keep`, write y for each text that is a name of the concept.
    You can also write its scope: narrow, broad or related.
    To add the names, give the table to `kb build` together with the sources of the vocabulary.
    Broken records are reported and left out.
    """
    console = stderr_console()
    problems = Problems(console, strict=strict)
    reading = ReadOptions(format, text_column, id_column, title_column, encoding, gold, join_passages)
    sources = with_formats(corpus, format, reading)
    from ..kb.new_names import Discovery, table_lines
    from ..runs.pipelines import LinkingPipeline

    linking = LinkingPipeline(pipeline, problems, given=gold or format is InputFormat.names)
    if not linking.given:
        _check_finds_new_names(linking, pipeline)
    if similarity is not None:
        linking.set_threshold(similarity)
    documents = read_all(sources, problems)
    counts: Counter[str] = Counter()
    with open_output(output) as write:
        discovery = Discovery(linking.kb)
        with closing(linking(documents, batch_size=batch_size, n_process=n_process, short_lived=True)) as linked:
            total = total_documents(sources) if console.is_terminal else None
            for item in track(linked, console, total=total):
                counts["documents"] += 1
                discovery.add(item.document.doc_id, _occurrences(item, type or (), counts))
        if problems.count and not counts["documents"]:
            raise SapbertError(Errors.E508.format(n=problems.count))
        found = discovery.ranked(min_documents)
        for line in table_lines(found[:limit], linking.kb):
            write(line)
    problems.show_passages()
    counts += discovery.counts
    left = {"broken_records": problems.count, "in_too_few_documents": counts["candidates"] - len(found)}
    show_values({**{name: counts[name] for name in _COUNTS}, **left, "written": len(found[:limit])})


def _check_finds_new_names(linking: LinkingPipeline, name: str) -> None:
    if not linking.finds_new_names():
        raise SapbertError(Errors.E555.format(name=name, components=", ".join(linking.nlp.pipe_names)))


def _occurrences(item: LinkedDocument, types: Collection[str], counts: Counter[str]) -> Iterator[LinkedOccurrence]:
    from ..pipeline.linked_occurrences import linked_occurrences

    for mention in item.mentions:
        if types and mention.label_ not in types:
            counts["mentions_of_other_types"] += 1
            continue
        counts["mentions"] += 1
        counts["linked_mentions"] += mention.kb_id_ not in ("", NIL)
        yield from linked_occurrences(mention)
