"""Define `spacy-sapbert evaluate pipeline`, which compares what a pipeline finds with a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..corpora.reader import FORMATS
from .corpora import Ids, read_documents
from .inputs import JoinPassages
from .options import split_pairs
from .progress import show, stderr_console, table_of_numbers, track

_ROWS = {
    "ner": "mentions",
    "ner_untyped": "… of any type",
    "span_id": "mentions with their concepts",
    "span_id_single": "… with a single concept",
    "document_id": "concepts of documents",
}


def pipeline(
    pipeline: Annotated[str, typer.Argument(help="Folder or package of a pipeline with a sapbert_linker.")],
    corpus: Annotated[Path, typer.Argument(help="Annotated corpus, plain or gzipped.")],
    format: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(FORMATS)}. Default: guessed from the file.")
    ] = None,
    type: Annotated[str | None, typer.Option(help="Compare only mentions of this type.")] = None,
    ids: Ids = None,
    join_passages: JoinPassages = True,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Type in the corpus for a label of the pipeline: DISEASE=Disease. Repeatable."),
    ] = None,
    gold_mentions: Annotated[
        bool, typer.Option("--gold-mentions", help="Link the gold mentions instead of those that the pipeline finds.")
    ] = False,
    predictions: Annotated[
        Path | None, typer.Option(help="File for the predictions, one JSON line per document.")
    ] = None,
) -> None:
    """Compare what a pipeline finds with a corpus: mentions, their concepts, and the concepts of documents."""
    from ..evaluation.pipeline import evaluate_pipeline
    from ..io.pipelines import load_pipeline

    labels = dict(split_pairs("--label", label))
    result = evaluate_pipeline(
        load_pipeline(pipeline),
        track(read_documents(corpus, format, ids, join_passages=join_passages), stderr_console()),
        type=type,
        labels=labels,
        gold_mentions=gold_mentions,
        predictions=predictions,
    )
    show(_table(result), result)


def _table(result: Mapping[str, Any]) -> Table:
    table = table_of_numbers("found and annotated", "gold", "found", "right", "P", "R", "F1")
    for measure, title in _ROWS.items():
        _add_row(table, title, result[measure])
        for label, figures in result[measure].get("types", {}).items():
            _add_row(table, f"… {label}", figures)
    missing = f"{result['without_a_name']:,} of the concepts are not in the vocabulary"
    table.caption = f"{result['documents']:,} documents; {missing}"
    if result["other_labels"]:
        others = ", ".join(f"{label} ({n:,})" for label, n in result["other_labels"].items())
        table.caption += f"\nlabels that the corpus does not have: {others}; map them with {_mapping(result)}"
    if result["ner"]["f1"] is None:
        table.caption += "\nno label of the pipeline is one of the corpus, so nothing was compared by label (–)"
    return table


def _mapping(result: Mapping[str, Any]) -> str:
    """Return the options that map labels to those of the corpus that differ only in case, or else a pattern of them."""
    of_corpus = {label.casefold(): label for label, one in result["ner"]["types"].items() if one["gold"]}
    same = {label: of_corpus.get(label.casefold()) for label in result["other_labels"]}
    options = [f"--label {label}={corpus}" for label, corpus in same.items() if corpus]
    return " ".join(options) or "--label PIPELINE=CORPUS"


def _add_row(table: Table, title: str, figures: Mapping[str, Any]) -> None:
    counts = (f"{figures[name]:,}" for name in ("gold", "found", "right"))
    percentages = (figures[name] for name in ("p", "r", "f1"))
    table.add_row(title, *counts, *("–" if value is None else f"{value:.2f}" for value in percentages))
