"""`spacy-sapbert kb`: build a vocabulary, look into it, search it."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .kb_build import build

kb = typer.Typer(help="Build a vocabulary, look into it, search it.", no_args_is_help=True)
kb.command("build")(build)

Store = Annotated[str, typer.Argument(help="A store, or 'starter'.")]


@kb.command("info")
def info(store: Store) -> None:
    """Print what a store holds and how it was made, as JSON."""
    from ..ml.open import open_store

    opened = open_store(store)
    counts = {"types": opened.type_counts(), "names_by_source": opened.source_counts()}
    typer.echo(json.dumps({**opened.meta, **counts}, indent=2, ensure_ascii=False))


@kb.command("search")
def search(
    store: Store,
    text: Annotated[str, typer.Argument(help="A name, or something like it.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many concepts.")] = 10,
    encoder: Annotated[str, typer.Option(help="A folder, a hub name, or 'none'.")] = "none",
) -> None:
    """Show the concepts whose names are most like a text."""
    from ..ml.open import open_encoder, open_generator, open_store

    opened = open_store(store)
    generator = open_generator(opened, open_encoder(encoder), sparse=True)
    table = Table("score", "id", "preferred name", "matched name", "types", box=None)
    for candidate in generator([text], k)[0]:
        concept = opened.cui_to_entity[candidate.concept_id]
        cells = (concept.concept_id, concept.canonical_name, candidate.name, ", ".join(concept.types))
        table.add_row(f"{candidate.score:.3f}", *map(escape, cells))
    Console().print(table)
