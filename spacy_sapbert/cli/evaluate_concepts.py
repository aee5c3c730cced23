"""Define `spacy-sapbert evaluate concepts`, which measures how well a pipeline predicts the concepts of documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..files.console import results_to, stderr_console, table_of_numbers, track
from ..files.output import refuse_input
from .corpora import Corpus, Format, Ids, Output, Predictions, Type, read_documents
from .inputs import JoinPassages


def concepts(
    pipeline: Annotated[str, typer.Argument(help="Folder or package of a pipeline with a concept_retriever.")],
    corpus: Corpus,
    output: Output = None,
    format: Format = None,
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
    type: Type = None,
    gold_mentions: Annotated[
        bool, typer.Option("--gold-mentions", help="Use the gold mentions instead of those that the pipeline finds.")
    ] = False,
    predictions: Predictions = None,
) -> None:
    """Measure how well a pipeline predicts the concepts of whole documents.

    Precision is hits / k, and recall is hits / gold concepts, both averaged over documents.
    Documents with fewer than k gold concepts cannot reach a precision of 100.
    """
    from ..evaluation.concepts import evaluate_concepts
    from ..kb.ids import read_labels
    from ..runs.pipelines import load_pipeline

    refuse_input(predictions, [corpus, labels, train, ids], "--predictions")
    with results_to(output, [corpus, labels, train, ids]) as show:
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
    groups.update({f"… {label}": row for label, row in result["types"].items()})
    figures = dict.fromkeys((f"p@{k}", f"r@{k}", f"f1@{k}", "r@5", "map"))  # with k = 5 there are fewer
    rows = [(name, row["n"], *(row[figure] for figure in figures)) for name, row in groups.items()]
    table = table_of_numbers("concepts", "n", *(name.upper() for name in figures), rows=rows)
    without = result["without_gold"]
    left_out = f", {without:,} documents without a gold concept left out" if without else ""
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
    return table_of_numbers("predicted", "P", "R", "F1", rows=[(name, *row.values()) for name, row in rows.items()])
