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

from .. import __version__
from ..errors import OptionError, Warnings
from ..files.console import results_to, stderr_console, track
from ..files.opening import sha256_of
from ..files.output import ScratchFolder
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
        if result["other_labels"]:
            stderr_console().print(_advice(result))
        show(result)


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


def _advice(result: Mapping[str, Any]) -> str:
    """Say which labels of the pipeline the corpus does not have, and how to map them."""
    others = ", ".join(f"{label} ({n:,})" for label, n in result["other_labels"].items())
    mapping = _mapping(result)
    advice = f"map them with {mapping}" if mapping else "map those that mean the same with --label PIPELINE=CORPUS"
    return f"labels that the corpus does not have: {others}; {advice}"


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
        show(result)


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
    from ..evaluation.linking import TRAIN, averages, draw_folds, evaluate_folds, fold_files, read_folds
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
        rows = averages(result["runs"], "fold") | {key: result[key] for key in ("mean", "se", "sd") if key in result}
        measures = ("mentions", "covered", "lenient", "strict")
        show(result, {f"{fold}": {measure: row[measure] for measure in measures} for fold, row in rows.items()})
    shutil.rmtree(folder, ignore_errors=True)


def _folder(output: Path, run: Mapping[str, Any]) -> Path:
    """Return the hidden folder beside the output in which a run keeps what is measured. Another run has another one."""
    digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()
    return output.with_name(f".{output.name}.{digest[:12]}")
