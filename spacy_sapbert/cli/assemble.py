"""`assemble`: a vocabulary, an encoder and the components as one saved pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ..errors import Errors, SapbertError
from .saving import save_pipeline

if TYPE_CHECKING:
    from spacy.language import Language

_LINKER = "sapbert_linker"


def assemble(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the pipeline to.")],
    kb: Annotated[str | None, typer.Option(help="A store, or 'starter' (the default).")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="'starter' (the default), a folder, a hub name, or 'none'.")
    ] = None,
    pooling: Annotated[str | None, typer.Option(help="'cls' or 'mean'; by default what the encoder says.")] = None,
    index: Annotated[
        str | None,
        typer.Option(
            help="How near names are found: 'Flat' (the default), 'HNSW', 'IVF,PQ', 'SQ8', …, or Qdrant's URL."
        ),
    ] = None,
    ner: Annotated[
        str | None, typer.Option(help="A trained pipeline that finds the mentions, in place of the concept_matcher.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help="A pipeline of ours: it is kept, and only its vocabulary changes.")
    ] = None,
    lang: Annotated[str, typer.Option(help="Language of a new pipeline.")] = "en",
    name: Annotated[
        str | None, typer.Option(help="Name of the pipeline, for `spacy package`; 'linker' for a new one.")
    ] = None,
) -> None:
    """Save a pipeline that links mentions and needs nothing else; `nlp = spacy.load(FOLDER)` opens it."""
    if from_ and (ner or encoder or pooling or index):
        raise SapbertError(Errors.E533.format(reason="--from keeps the encoder, the index and the NER of its pipeline"))
    if from_ and not kb:
        raise SapbertError(Errors.E533.format(reason="--from changes the vocabulary, so it needs --kb"))
    with Console(stderr=True).status("assembling"):
        if from_ and kb:
            nlp = _with_new_vocabulary(from_, kb)
        else:
            linker = {"encoder": encoder or "starter", "pooling": pooling, "index": index or "Flat"}
            nlp = _new_pipeline(kb or "starter", linker, ner, lang)
        if name or not from_:
            nlp.meta["name"] = name or "linker"
        save_pipeline(nlp, output)
    typer.echo(f"{output}: {', '.join(nlp.pipe_names)}", err=True)


def _new_pipeline(kb: str, linker: dict[str, str | None], ner: str | None, lang: str) -> Language:
    import spacy

    nlp = _load(ner) if ner else spacy.blank(lang)
    if _LINKER in nlp.pipe_names:
        reason = f"the pipeline of --ner has {_LINKER} already; --from changes the vocabulary of such a one"
        raise SapbertError(Errors.E533.format(reason=reason))
    _add(nlp, "abbreviation_resolver")
    if not ner:
        nlp.add_pipe("concept_matcher", config={"kb": kb})
    _add(nlp, "composite_splitter")
    nlp.add_pipe(_LINKER, config={"kb": kb, **linker})
    return nlp


def _add(nlp: Language, name: str) -> None:
    """Add a component, unless the NER's pipeline has it, which may need it where it stands."""
    if name not in nlp.pipe_names:
        nlp.add_pipe(name)


def _with_new_vocabulary(pipeline: str, kb: str) -> Language:
    nlp = _load(pipeline)
    ours = [component for _, component in nlp.pipeline if hasattr(component, "set_kb")]
    if not ours:
        raise SapbertError(Errors.E533.format(reason=f"{pipeline} has no component with a vocabulary"))
    for component in ours:
        component.set_kb(kb)
    return nlp


def _load(pipeline: str) -> Language:
    import spacy

    try:
        return spacy.load(pipeline)
    except OSError as error:
        raise SapbertError(Errors.E534.format(pipeline=pipeline, reason=error)) from error
