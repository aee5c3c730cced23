"""Define `spacy-sapbert evaluate pipeline`, which compares what a pipeline finds with a corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from ..errors import Warnings
from ..files.console import results_to, stderr_console, table_of_numbers, track
from ..files.output import refuse_input
from ..types import Document
from .corpora import Corpus, Format, Ids, Output, Predictions, read_documents
from .inputs import JoinPassages, Pipeline, split_pairs

_LEAST_SHARE = 0.05  # fewer mentions at the same characters may be chance
_ROWS = {
    "ner": "mentions",
    "ner_untyped": "… of any type",
    "span_id": "mentions with their concepts",
    "span_id_single": "… with a single concept",
    "document_id": "concepts of documents",
}


def pipeline(
    pipeline: Pipeline,
    corpus: Corpus,
    output: Output = None,
    format: Format = None,
    type: Annotated[list[str] | None, typer.Option(help="Compare only mentions of this type. Repeatable.")] = None,
    ids: Ids = None,
    join_passages: JoinPassages = True,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Type in the corpus for a label of the pipeline: DISEASE=Disease. Repeatable."),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(help="Rename a type of the corpus, as OLD=NEW. Several can get one name. Repeatable."),
    ] = None,
    gold_mentions: Annotated[
        bool, typer.Option("--gold-mentions", help="Link the gold mentions instead of those that the pipeline finds.")
    ] = False,
    predictions: Predictions = None,
) -> None:
    """Compare what a pipeline finds with a corpus: mentions, their concepts, and the concepts of documents."""
    from ..evaluation.pipeline import evaluate_pipeline
    from ..runs.pipelines import load_pipeline

    labels, names = dict(split_pairs("--label", label)), dict(split_pairs("--rename", rename))
    refuse_input(predictions, [corpus, ids], "--predictions")
    with results_to(output, [corpus, ids]) as show:
        documents = read_documents(corpus, format, ids, join_passages=join_passages)
        result = evaluate_pipeline(
            load_pipeline(pipeline),
            track(_renamed(documents, names), stderr_console()),
            type=type or None,
            labels=labels,
            gold_mentions=gold_mentions,
            predictions=predictions,
        )
        show(_table(result, type), result)


def _renamed(documents: Iterable[Document], names: Mapping[str, str]) -> Iterator[Document]:
    seen: set[str] = set()
    for document in documents:
        seen.update(mention.label for mention in document.mentions)
        renamed = (mention._replace(label=names.get(mention.label, mention.label)) for mention in document.mentions)
        yield document._replace(mentions=tuple(renamed))
    if missing := names.keys() - seen:
        message = Warnings.W202.format(missing=", ".join(sorted(missing)), known=", ".join(sorted(seen)))
        warnings.warn(message, stacklevel=2)


def _table(result: Mapping[str, Any], types: list[str] | None) -> Table:
    rows = []
    for measure, title in _ROWS.items():
        labels = {f"… {label}": figures for label, figures in result[measure].get("types", {}).items()}
        for name, figures in {title: result[measure], **labels}.items():
            rows.append((name, *(figures[key] for key in ("gold", "found", "right", "p", "r", "f1"))))
    table = table_of_numbers("found and annotated", "gold", "found", "right", "P", "R", "F1", rows=rows)
    missing = f"{result['without_a_name']:,} of the concepts are not in the vocabulary"
    table.caption = f"{result['documents']:,} documents; {missing}"
    if result["other_labels"]:
        others = ", ".join(f"{label} ({n:,})" for label, n in result["other_labels"].items())
        table.caption += f"\nlabels that the corpus does not have: {others}; map them with {_mapping(result)}"
    if result["ner"]["f1"] is None:
        wanted = " or ".join(types) if types else "one of the corpus"
        table.caption += f"\nno label of the pipeline is {wanted}, so nothing was compared by label (–)"
    return table


def _mapping(result: Mapping[str, Any]) -> str:
    """Return the options that map labels to those of the corpus, or else a pattern of them.

    A label fits one that differs only in case, or else those of the corpus at the same characters.
    """
    annotated = {label.casefold(): label for label, figures in result["ner"]["types"].items() if figures["gold"]}
    options = []
    for label in result["other_labels"]:
        same = annotated.get(label.casefold())
        fitting = [same] if same else _frequent(result["same_places"][label])
        if len(fitting) == 1:
            options.append(f"--label {label}={fitting[0]}")
        else:  # the corpus has finer labels
            options += [f"--rename {finer}={label}" for finer in fitting]
    return " ".join(options) or "--label PIPELINE=CORPUS"


def _frequent(labels: Mapping[str, int]) -> list[str]:
    return [label for label, n in labels.items() if n >= _LEAST_SHARE * sum(labels.values())]
