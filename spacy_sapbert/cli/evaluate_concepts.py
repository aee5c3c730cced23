"""Define `spacy-sapbert evaluate concepts`, which measures how well a pipeline predicts the concepts of documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..documents.reader import FORMATS
from ..files.console import show, stderr_console, table_of_numbers, track
from .corpora import Ids, read_documents
from .inputs import JoinPassages


def concepts(
    pipeline: Annotated[str, typer.Argument(help="Folder or package of a pipeline with a concept_retriever.")],
    corpus: Annotated[Path, typer.Argument(help="Annotated corpus, plain or gzipped.")],
    format: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(FORMATS)}. Default: guessed from the file.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="File with the concept ids to predict, one per line. Default: all ids of the vocabulary."),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(help="Training corpus, in the same format. With it, rare concepts are measured separately."),
    ] = None,
    ids: Ids = None,
    join_passages: JoinPassages = True,
    k: Annotated[int, typer.Option("--k", min=1, help="Number of concepts to predict per document.")] = 10,
    type: Annotated[str | None, typer.Option(help="Measure only concepts whose mentions have this type.")] = None,
    gold_mentions: Annotated[
        bool, typer.Option("--gold-mentions", help="Use the gold mentions instead of those that the pipeline finds.")
    ] = False,
    predictions: Annotated[
        Path | None, typer.Option(help="File for the predictions, one JSON line per document.")
    ] = None,
) -> None:
    """Measure how well a pipeline predicts the concepts of whole documents.

    Precision is hits / k, and recall is hits / gold concepts, both averaged over documents.
    Documents with fewer than k gold concepts cannot reach a precision of 100.
    """
    from ..evaluation.concepts import evaluate_concepts
    from ..kb.id_lists import read_labels
    from ..runs.pipelines import load_pipeline

    allowed = read_labels(labels) if labels else None
    result = evaluate_concepts(
        load_pipeline(pipeline),
        track(read_documents(corpus, format, ids, join_passages=join_passages), stderr_console()),
        labels=allowed,
        train=read_documents(train, format, None, join_passages=join_passages) if train else None,
        k=k,
        type=type,
        gold_mentions=gold_mentions,
        predictions=predictions,
    )
    stderr_console().print(_rankings(result, k))
    show(_sets(result, k), result)


def _rankings(result: Mapping[str, Any], k: int) -> Table:
    groups = {name.replace("_", "-"): result[name] for name in ("all", "non_canonical", "rare") if name in result}
    figures = dict.fromkeys((f"p@{k}", f"r@{k}", f"f1@{k}", "r@5", "map"))  # with k = 5 there are fewer
    table = table_of_numbers("concepts", "n", *(name.upper() for name in figures))
    for name, row in {**groups, **{f"… {label}": row for label, row in result["types"].items()}}.items():
        table.add_row(name, f"{row['n']:,}", *(_decimal(row[figure]) for figure in figures))
    left_out = (
        f", {result['without_gold']:,} documents without a gold concept left out" if result["without_gold"] else ""
    )
    missing = f"{result['without_a_name']:,} of the concepts are not in the vocabulary"
    table.caption = f"averaged over {result['documents']:,} documents{left_out}; {missing}"
    return table


def _sets(result: Mapping[str, Any], k: int) -> Table:
    threshold = result["threshold"]
    rows = {
        f"above {threshold['value']:g}": threshold["macro"],
        f"above {threshold['value']:g}, all documents together": threshold["micro"],
        f"the first {k}, all documents together": result["micro"],
        f"best possible with {k}": result["best_possible"],
    }
    table = table_of_numbers("predicted", "P", "R", "F1")
    for name, row in rows.items():
        table.add_row(name, *map(_decimal, row.values()))
    return table


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
