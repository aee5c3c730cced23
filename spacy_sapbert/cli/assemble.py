"""Define `spacy-sapbert assemble`, which saves a new pipeline, and `calibrate`, which fits the probabilities of one."""

from __future__ import annotations

import shlex
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..files.console import show, stderr_console, track
from ..files.output import refuse_input
from .inputs import Corpus, CorpusFormat, Ids, Pipeline, Type, read_documents


def assemble(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pipeline.")],
    kb: Annotated[
        str | None,
        typer.Option(
            help="Knowledge base file, or 'starter', or 'clinical', the default of --notes. Default: starter."
        ),
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Encoder: 'starter', a folder, a hub name, or 'none'. Default: starter.")
    ] = None,
    pooling: Annotated[str | None, typer.Option(help="'cls' or 'mean'. Default: the setting of the encoder.")] = None,
    index: Annotated[
        str | None,
        typer.Option(
            help="Vector index: 'auto', 'Flat', 'HNSW', 'IVF,PQ', … or the address of a database. Default: auto."
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="'inside' copies the vocabulary, 'external' keeps its path. Default: inside."),
    ] = None,
    ner: Annotated[
        str | None,
        typer.Option(
            help="What finds the mentions: a trained pipeline, 'box' for the NER in the package, or 'none' for the "
            "concept_matcher. Default: 'box' if it has all types of the vocabulary, else 'none'."
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", help="Existing pipeline with a linker. Its vocabulary changes to --kb, and all else stays."
        ),
    ] = None,
    assertion: Annotated[
        bool,
        typer.Option("--assertion", help="Flag negated, uncertain, family, historical and hypothetical mentions."),
    ] = False,
    notes: Annotated[
        bool,
        typer.Option(
            "--notes", help="For clinical notes: sections, short forms such as HTN, and the flags of --assertion."
        ),
    ] = False,
    nested: Annotated[
        bool, typer.Option("--nested", help="Also link names inside longer ones, without an NER.")
    ] = False,
    lang: Annotated[str, typer.Option(help="Language of a new pipeline, such as en.")] = "en",
    corrections: Annotated[
        str | None,
        typer.Option(
            help="File or PostgreSQL address of corrections, see `review`. The pipeline holds and obeys them."
        ),
    ] = None,
) -> None:
    """Create a linking pipeline from a vocabulary and an encoder, and save it.

    The folder contains everything that the pipeline needs, unless the storage is external. Load it with
    `spacy.load(FOLDER)`.
    """
    from ..pipeline.assemble import assemble

    nlp = assemble(
        output,
        kb,
        encoder=encoder,
        pooling=pooling,
        index=index,
        storage=storage,
        ner=ner,
        old=from_,
        assertion=assertion,
        notes=notes,
        nested=nested,
        lang=lang,
        corrections=corrections,
    )
    typer.echo(f"{output}: {', '.join(nlp.pipe_names)}", err=True)


def package(
    pipeline: Annotated[Path, typer.Argument(help="Folder of a saved pipeline.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the wheels.")],
    name: Annotated[str | None, typer.Option(help="Name of the package, without the language.")] = None,
    version: Annotated[str | None, typer.Option(help="Version of the package.")] = None,
) -> None:
    """Write the wheels of a pipeline and of this package, and show how to install them."""
    from ..pipeline.packages import write_wheels

    wheels = write_wheels(pipeline, output, name, version)
    typer.echo(shlex.join(["pip", "install", *map(str, wheels)]))


# --- calibrate

Method = Enum("Method", {name: name for name in ("isotonic", "platt")}, type=str)  # type: ignore[misc]
_ISOTONIC = Method("isotonic")


def _between(value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter("the value must be between 0 and 1")
    return value


def calibrate(
    pipeline: Pipeline,
    corpus: Corpus,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the calibrated pipeline.")],
    format: CorpusFormat = None,
    type: Type = None,
    ids: Ids = None,
    prior: Annotated[
        bool, typer.Option("--prior", help="Also fit a prior: how often each concept is annotated.")
    ] = False,
    precision: Annotated[
        float | None,
        typer.Option(
            callback=_between,
            help="Use the lowest threshold that reaches this precision. Default: the threshold of best F1.",
        ),
    ] = None,
    method: Annotated[Method, typer.Option(help="Method that fits probabilities to scores.")] = _ISOTONIC,
    plots: Annotated[Path | None, typer.Option(help="Folder for a plot of reliability, as .svg and .png.")] = None,
) -> None:
    """Fit the threshold and the probabilities of links on an annotated corpus.

    The command also fits λ, the weight of the sparse score, and trains the ranker of the candidates further. What does
    not help is left out. It saves a pipeline with the fitted values.
    """
    from ..evaluation import calibration
    from ..evaluation.plots import draw_reliability, prepare_folder, save_both
    from ..evaluation.running import GoldMentions
    from ..pipeline.assemble import check_output, save_pipeline
    from ..pipeline.tokenizer import load_pipeline

    refuse_input(output, [corpus, ids])
    check_output(output)  # before minutes of work
    if plots:
        prepare_folder(plots)
    console, gold = stderr_console(), GoldMentions(type)
    documents = [*gold(read_documents(corpus, format, ids))]
    gold.check()
    nlp = load_pipeline(pipeline)
    result = calibration.calibrate(
        nlp,
        documents,
        type=type,
        prior=prior,
        precision=precision,
        method=method.value,
        follow=lambda documents, what: track(documents, console, what, total=len(documents)),
    )
    for key, measure in {"link_acc": "lenient", "link_strict": "strict"}.items():
        nlp.meta.setdefault("performance", {})[key] = result["after"][measure] / 100
    save_pipeline(nlp, output)
    if plots:
        save_both(draw_reliability(result), plots / "reliability")
    show(result, {name: value for name, value in result.items() if name not in ("weights", "prior_weights")})
