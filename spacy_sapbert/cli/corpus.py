"""Define `spacy-sapbert corpus`, which shows what linked documents are about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..files.console import show_values, stderr_console
from .inputs import check_apart

_HELP = "Show what a corpus of linked documents is about."

corpus = typer.Typer(help=_HELP, no_args_is_help=True)


@corpus.callback(help=_HELP)
def _group() -> None:
    """Keep `stats` a command of its own, as long as it is the only one."""


@corpus.command("stats")
def stats(
    links: Annotated[
        Path, typer.Argument(help="Parquet file from `link`, or a folder of such files. Hidden files are left out.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables, pictures and the page index.html.")
    ],
    kb: Annotated[
        str | None,
        typer.Option(
            help="Knowledge base of the links, or 'starter'. It adds the roll-up to ancestors, and new names."
        ),
    ] = None,
    type: Annotated[
        list[str] | None, typer.Option(help="Count only concepts of this semantic type. Repeatable.")
    ] = None,
    min_probability: Annotated[
        float | None, typer.Option(min=0, max=1, help="Count only links with at least this probability.")
    ] = None,
    without_negated: Annotated[
        bool, typer.Option("--without-negated", help="Leave out mentions with the flag 'negated'.")
    ] = False,
    min_documents: Annotated[
        int, typer.Option(min=1, help="Fewest documents of a pair, a rising concept or a new name.")
    ] = 5,
    pair_concepts: Annotated[
        int, typer.Option(min=2, max=20_000, help="Pairs are only of so many concepts, those in most documents.")
    ] = 1000,
    top: Annotated[int, typer.Option(min=1, help="Number of concepts with a trend by year.")] = 20,
    last_years: Annotated[
        int, typer.Option(min=1, help="Rising concepts compare so many last years with the years before.")
    ] = 3,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of rows of a table.")] = None,
    plots: Annotated[
        bool | None, typer.Option("--plots/--no-plots", help="Draw pictures. Default: if matplotlib is installed.")
    ] = None,
    memory: Annotated[float, typer.Option(min=0.1, help="Gigabytes of memory. The rest goes to temporary files.")] = 4,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads. Default: all cores.")] = None,
) -> None:
    """Count concepts, pairs of concepts, trends by year, and new names in linked documents.

    A document counts once for a concept, however often it mentions it.
    """
    from ..evaluation.corpus_page import check_folder, write_corpus_statistics
    from ..evaluation.corpus_statistics import CorpusSettings, measure_corpus
    from ..evaluation.figures import check_matplotlib
    from ..kb.storage import load_knowledge_base

    check_apart(links, output)
    check_folder(output.absolute())
    if plots:
        check_matplotlib()
    settings = CorpusSettings(
        types=tuple(type or ()),
        min_probability=min_probability,
        without_negated=without_negated,
        min_documents=min_documents,
        pair_concepts=pair_concepts,
        top=top,
        last_years=last_years,
        limit=limit,
        memory=memory,
        threads=threads,
    )
    statistics = measure_corpus(links, settings, load_knowledge_base(kb) if kb else None)
    write_corpus_statistics(statistics, output, plots=plots)
    for note in statistics.notes:
        stderr_console().print(note)
    rows = {name: table.num_rows for name, table in statistics.tables.items()}
    show_values({**statistics.summary, "rows": rows})
