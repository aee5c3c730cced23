"""`spacy-sapbert evaluate`: measures as JSON on standard output, and as a table for people on standard error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..corpora.reader import FORMATS, read_corpus
from .progress import stderr_console, track

evaluate = typer.Typer(help="Measure pipelines on annotated corpora.", no_args_is_help=True)

Corpus = Annotated[Path, typer.Argument(help="An annotated corpus, plain or gzipped.")]
Format = Annotated[str | None, typer.Option(help=f"One of {', '.join(FORMATS)}; guessed where plain.")]
Type = Annotated[str | None, typer.Option(help="Measure mentions of this type only.")]


@evaluate.command("linking")
def linking(
    pipeline: Annotated[str, typer.Argument(help="Folder or package of a pipeline with sapbert_linker.")],
    corpus: Corpus,
    format: Format = None,
    type: Type = None,
    predictions: Annotated[Path | None, typer.Option(help="Write a JSON line for each mention to this file.")] = None,
) -> None:
    """How often gold mentions are linked to the right concepts."""
    from ..evaluation.linking import evaluate_linking
    from .linked import load_pipeline

    nlp = load_pipeline(pipeline)
    documents = track(read_corpus(corpus, format), stderr_console())
    result = evaluate_linking(nlp, documents, type=type, predictions=predictions)
    _show(_linking_table(result), result)


@evaluate.command("compare")
def compare(
    a: Annotated[Path, typer.Argument(help="A file that `evaluate linking --predictions` wrote.")],
    b: Annotated[Path, typer.Argument(help="One of another pipeline about the same mentions.")],
) -> None:
    """Whether B links better than A: paired bootstrap over documents, with 95 % intervals."""
    from ..evaluation.compare import compare_predictions

    result = compare_predictions(a, b)
    _show(_comparison_table(result), result)


def _show(table: Table, result: Mapping[str, Any]) -> None:
    stderr_console().print(table)
    typer.echo(json.dumps(result, indent=2))


def _linking_table(result: Mapping[str, Any]) -> Table:
    all_mentions = {"n": result["mentions"], "lenient": result["lenient_all"], "strict": result["strict_all"]}
    covered = {"n": result["covered"], "lenient": result["lenient"], "strict": result["strict"]}
    rows = {"all": all_mentions, "covered": covered, **{f"… {name}": row for name, row in result["slices"].items()}}
    headings = [f"{measure} {cutoff}" for measure in ("lenient", "strict") for cutoff in result["lenient"]]
    table = _numbers("mentions", "n", *headings)
    for name, row in rows.items():
        accuracies = [value for measure in ("lenient", "strict") for value in row[measure].values()]
        table.add_row(name, f"{row['n']:,}", *map(_decimal, accuracies))
    floor, recall = _decimal(result["exact_match_floor"]), _decimal(result["candidate_recall@20"])
    table.caption = f"covered: exact match {floor}, candidate recall@20 {recall}"
    return table


def _comparison_table(result: Mapping[str, Any]) -> Table:
    table = _numbers("measure", "A", "B", "B - A", "95 % interval", "p")
    for measure in ("lenient", "strict"):
        for cutoff, row in result[measure].items():
            interval = f"{row['low']:+.2f} … {row['high']:+.2f}"
            figures = _decimal(row["a"]), _decimal(row["b"]), f"{row['difference']:+.2f}", interval, f"{row['p']:.4f}"
            table.add_row(f"{measure} {cutoff}", *figures)
    table.caption = f"{result['mentions']:,} mentions in {result['documents']:,} documents"
    return table


def _numbers(label: str, *headings: str) -> Table:
    table = Table(label)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
