"""Define `spacy-sapbert evaluate folds`, which measures the linking of each fold of a corpus."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from .. import __version__
from ..errors import OptionError
from ..files.console import results_to, stderr_console, table_of_numbers, track
from ..files.opening import sha256_of
from ..files.output import ScratchFolder
from .configs import given_overrides
from .inputs import CorpusFormat, Output, Type, read_documents

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
        show(_table(result), result)
    shutil.rmtree(folder, ignore_errors=True)


def _folder(output: Path, run: Mapping[str, Any]) -> Path:
    """Return the hidden folder beside the output in which a run keeps what is measured. Another run has another one."""
    digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()
    return output.with_name(f".{output.name}.{digest[:12]}")


def _table(result: Mapping[str, Any]) -> Table:
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
