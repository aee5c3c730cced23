"""Define `spacy-sapbert assemble`, which saves a pipeline of a knowledge base, an encoder and the components."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def assemble(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pipeline.")],
    kb: Annotated[str | None, typer.Option(help="Knowledge base file, or 'starter'. Default: starter.")] = None,
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
    lang: Annotated[str, typer.Option(help="Language of a new pipeline, such as en.")] = "en",
    corrections: Annotated[
        str | None,
        typer.Option(
            help="File or PostgreSQL address of corrections, see `review`. The pipeline holds and obeys them."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the pipeline, for `spacy package`. Default for a new pipeline: linker.")
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
        lang=lang,
        corrections=corrections,
        name=name,
    )
    typer.echo(f"{output}: {', '.join(nlp.pipe_names)}", err=True)
