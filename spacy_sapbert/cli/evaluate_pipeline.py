"""Define `spacy-sapbert evaluate pipeline`, `concepts` and `folds`, which compare a pipeline with a corpus."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from .. import __version__
from ..errors import OptionError, Warnings
from ..files.console import results_to, stderr_console, table_of_numbers, track
from ..files.opening import sha256_of
from ..files.output import ScratchFolder, refuse_input
from ..kb.ids import read_labels
from ..types import Document
from .configs import given_overrides
from .inputs import (
    Corpus,
    CorpusFormat,
    Ids,
    Output,
    Pipeline,
    Predictions,
    Prefixes,
    Type,
    read_documents,
    renamed,
    split_pairs,
)

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
    format: CorpusFormat = None,
    type: Annotated[list[str] | None, typer.Option(help="Compare only mentions of this type. Repeatable.")] = None,
    ids: Ids = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Type in the corpus for a label of the pipeline: DISEASE=Disease. Repeatable."),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(help="Rename a type of the corpus, as OLD=NEW. Several can get one name. Repeatable."),
    ] = None,
    id_prefix: Prefixes = None,
    gold_mentions: Annotated[
        bool, typer.Option("--gold-mentions", help="Link the gold mentions instead of those that the pipeline finds.")
    ] = False,
    predictions: Predictions = None,
) -> None:
    """Compare what a pipeline finds with a corpus: mentions, their concepts, and the concepts of documents."""
    from ..evaluation.pipeline import evaluate_pipeline
    from ..pipeline.tokenizer import load_pipeline

    labels, names = dict(split_pairs("--label", label)), dict(split_pairs("--rename", rename))
    prefixes = dict(split_pairs("--id-prefix", id_prefix))
    refuse_input(predictions, [corpus, ids], "--predictions")
    with results_to(output, [corpus, ids]) as show:
        documents = read_documents(corpus, format, ids)
        result = evaluate_pipeline(
            load_pipeline(pipeline),
            track(_renamed(documents, names, prefixes), stderr_console()),
            type=type or None,
            labels=labels,
            gold_mentions=gold_mentions,
            predictions=predictions,
        )
        show(_table(result, type), result)


def _renamed(
    documents: Iterable[Document], names: Mapping[str, str], prefixes: Mapping[str, str]
) -> Iterator[Document]:
    seen: set[str] = set()
    for document in documents:
        seen.update(mention.label for mention in document.mentions)
        yield renamed(document, names, prefixes)
    if missing := {*names, *prefixes} - seen:
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
        mapping = _mapping(result)
        advice = f"map them with {mapping}" if mapping else "map those that mean the same with --label PIPELINE=CORPUS"
        table.caption += f"\nlabels that the corpus does not have: {others}; {advice}"
    if result["ner"]["f1"] is None:
        wanted = " or ".join(types) if types else "one of the corpus"
        table.caption += f"\nno label of the pipeline is {wanted}, so nothing was compared by label (–)"
    return table


def _mapping(result: Mapping[str, Any]) -> str:
    """Return the options that map labels to those of the corpus that differ only in case."""
    annotated = {label.casefold(): label for label, counts in result["ner"]["types"].items() if counts["gold"]}
    labels = [label for label in result["other_labels"] if label.casefold() in annotated]
    return " ".join(f"--label {label}={annotated[label.casefold()]}" for label in labels)


# --- concepts


def concepts(
    pipeline: Annotated[str, typer.Argument(help="Folder or package of a pipeline with a concept_retriever.")],
    corpus: Corpus,
    output: Output = None,
    format: CorpusFormat = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="File with the concept ids to predict, one per line. Default: all ids of the vocabulary."),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            help="Training corpus, in the same format. With it, rare and untrained concepts are measured separately."
        ),
    ] = None,
    ids: Ids = None,
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
    from ..evaluation.pipeline import evaluate_concepts
    from ..pipeline.tokenizer import load_pipeline

    refuse_input(predictions, [corpus, labels, train, ids], "--predictions")
    with results_to(output, [corpus, labels, train, ids]) as show:
        allowed = read_labels(labels) if labels else None
        result = evaluate_concepts(
            load_pipeline(pipeline),
            track(read_documents(corpus, format, ids), stderr_console()),
            labels=allowed,
            train=read_documents(train, format) if train else None,
            k=k,
            type=type,
            gold_mentions=gold_mentions,
            predictions=predictions,
        )
        stderr_console().print(_rankings(result, k))
        if "shares" in result:
            stderr_console().print(_shares(result["shares"]))
        show(_sets(result, k), result)


def _rankings(result: Mapping[str, Any], k: int) -> Table:
    names = ("all", "non_canonical", "rare", "untrained")
    groups = {name.replace("_", "-"): result[name] for name in names if name in result}
    groups.update({f"… {label}": row for label, row in result["types"].items()})
    figures = dict.fromkeys((f"p@{k}", f"r@{k}", f"f1@{k}", "r@5", "map"))  # with k = 5 there are fewer
    rows = [(name, row["n"], *(row[figure] for figure in figures)) for name, row in groups.items()]
    table = table_of_numbers("concepts", "n", *(name.upper() for name in figures), rows=rows)
    without = result["without_gold"]
    left_out = f", {without:,} documents without a gold concept left out" if without else ""
    missing = f"{result['without_a_name']:,} of the concepts are not in the vocabulary"
    table.caption = f"averaged over {result['documents']:,} documents{left_out}; {missing}"
    return table


def _shares(shares: Mapping[str, Mapping[str, float]]) -> Table:
    rows = [(name.replace("_", "-"), *row.values()) for name, row in shares.items()]
    return table_of_numbers("share (%)", "of the pairs", "of the concepts", "of the mentions", rows=rows)


def _sets(result: Mapping[str, Any], k: int) -> Table:
    threshold = result["threshold"]
    rows = {
        f"above {threshold['value']:g}": threshold["macro"],
        f"above {threshold['value']:g}, all documents together": threshold["micro"],
        f"the first {k}, all documents together": result["micro"],
        f"best possible with {k}": result["best_possible"],
    }
    return table_of_numbers("predicted", "P", "R", "F1", rows=[(name, *row.values()) for name, row in rows.items()])


# --- folds

_PIPELINE = (
    "Folder or package of a pipeline with a sapbert_linker. Or a config of `spacy train` (.cfg), with which a pipeline "
    "is trained for each fold."
)


def folds(
    ctx: typer.Context,
    pipeline: Annotated[str, typer.Argument(help=_PIPELINE)],
    corpus: Annotated[
        Path, typer.Argument(help="Folder of folds, as NAME.fold-0.train.txt. Or an annotated corpus, with --folds.")
    ],
    output: Output = None,
    format: CorpusFormat = None,
    type: Type = None,
    split: Annotated[
        str, typer.Option(help="Part of each fold to measure, as in the names of the files.")
    ] = "validation",
    folds: Annotated[
        int | None, typer.Option(min=2, help="Divide the documents of the corpus into this many folds.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Train each fold with this many seeds: 0, 1 and so on.")] = 1,
) -> None:
    """Measure the linking of each fold of a corpus, and average over folds.

    The measures are those of `evaluate linking`.
    To override a setting of a config, give it as with `spacy train`: --paths.kb medic.kb.
    To continue an interrupted training with -o, start the same command again.
    """
    from ..evaluation.linking import TRAIN, draw_folds, evaluate_folds, fold_files, read_folds
    from ..pipeline.tokenizer import load_pipeline

    config, overrides = Path(pipeline) if pipeline.endswith(".cfg") else None, given_overrides(ctx)
    if not config and (seeds > 1 or overrides):
        raise OptionError("Give a config of `spacy train`.", option=pipeline, reason="a pipeline is not trained")
    files = {0: [corpus]} if folds else fold_files(corpus, [split, TRAIN] if config else [split])
    paths = [path for parts in files.values() for path in parts]
    read = partial(read_documents, format=format)
    with results_to(output, [config, *paths]) as show, ScratchFolder() as folder:
        if config:
            given = {"type": type, "format": format, "folds": folds, "overrides": overrides, "version": __version__}
            inputs = [sha256_of(path) for path in (config, *paths)]
            folder = _folder(output, {**given, "files": inputs}) if output else folder
        result = evaluate_folds(
            track(
                draw_folds(list(read(corpus)), folds) if folds else read_folds(files, read), stderr_console(), "folds"
            ),
            config or load_pipeline(pipeline),
            folder=folder,
            type=type,
            seeds=seeds,
            overrides=overrides,
        )
        show(_folds_table(result), result)
    shutil.rmtree(folder, ignore_errors=True)


def _folder(output: Path, run: Mapping[str, Any]) -> Path:
    """Return the hidden folder beside the output in which a run keeps what is measured. Another run has another one."""
    digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()
    return output.with_name(f".{output.name}.{digest[:12]}")


def _folds_table(result: Mapping[str, Any]) -> Table:
    from ..evaluation.linking import averages

    others = {"mean": "mean", "SE": "se", "SD of seeds": "sd"}
    measures = {str(fold): row for fold, row in averages(result["runs"], "fold").items()}
    measures |= {title: result[key] for title, key in others.items() if key in result}
    headings = [f"{measure} {cutoff}" for measure in ("lenient", "strict") for cutoff in result["mean"]["lenient"]]
    rows = []
    for title, row in measures.items():
        counts = (None if row[name] is None else round(row[name]) for name in ("mentions", "covered"))
        rows.append((title, *counts, *row["lenient"].values(), *row["strict"].values()))
    table = table_of_numbers("fold", "mentions", "covered", *headings, rows=rows)
    table.caption = "accuracy over the covered mentions"
    return table
