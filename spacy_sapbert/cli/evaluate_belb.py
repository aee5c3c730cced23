"""Define `spacy-sapbert evaluate belb`, which measures linking on the corpora of BELB."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..files.console import results_to, stderr_console, table_of_numbers
from .inputs import Output, split_pairs


def belb(
    folder: Annotated[Path, typer.Argument(help="Folder that BELB's scripts filled; it has the folder `processed`.")],
    output: Output = None,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Corpus, such as ncbi_disease. Repeatable. Default: all of them.")
    ] = None,
    split: Annotated[str, typer.Option(help="Part of the corpora: train, dev or test.")] = "dev",
    encoder: Annotated[str, typer.Option(help="Encoder: 'starter', a folder, a hub name, or 'none'.")] = "starter",
    pipeline: Annotated[
        list[str] | None,
        typer.Option(help="Pipeline for a corpus, as CORPUS=PIPELINE, instead of a new one. Repeatable."),
    ] = None,
) -> None:
    """Measure linking on the corpora of BELB: strict recall at 1 and 5.

    Each corpus is linked to the knowledge base that BELB gives it. What BELB's folder lacks is listed with the reason.
    """
    from ..evaluation.belb import evaluate_belb

    with results_to(output, [folder]) as show:
        pipelines = dict(split_pairs("--pipeline", pipeline))
        result = evaluate_belb(folder, split=split, corpora=corpus or (), encoder=encoder, pipelines=pipelines)
        show(_table(result), result)
        for name, reason in result["missing"].items():
            stderr_console().print(f"{name} was not measured: {reason}", markup=False, soft_wrap=True)


def _table(result: Mapping[str, Any]) -> Table:
    keys = ("documents", "mentions", "not_in_vocabulary", "r@1", "se", "r@5")
    rows = [(name, *map(figures.get, keys)) for name, figures in result["corpora"].items()]
    table = table_of_numbers(result["split"], "documents", "mentions", "unknown", "R@1", "± SE", "R@5", rows=rows)
    table.caption = "BELB's strict recall. unknown: the vocabulary has none of their ids"
    return table
