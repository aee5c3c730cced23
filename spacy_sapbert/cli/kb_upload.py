"""Define `spacy-sapbert kb upload`, which uploads a knowledge base and its name vectors to a vector database."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..errors import OptionError
from ..files.console import show_values, stderr_console


def upload(
    kb: Annotated[str, typer.Argument(help="A knowledge base file, or 'starter'.")],
    encoder: Annotated[str, typer.Option(help="Encoder of the names: 'starter', a folder or a hub name.")],
    to: Annotated[str, typer.Option(help="URL of a Qdrant server, or folder of a local Qdrant database.")],
    collection: Annotated[
        str | None, typer.Option(help="Name of the collection, if the database holds several vocabularies.")
    ] = None,
    centroids: Annotated[
        bool, typer.Option("--centroids", help="Add one point per concept. The linker then searches these points.")
    ] = False,
    pooling: Annotated[str | None, typer.Option(help="'cls' or 'mean'. Default: the setting of the encoder.")] = None,
) -> None:
    """Upload the names of a vocabulary and their vectors to Qdrant, or update an earlier upload.

    To use the upload, set the linker's `index` to the value that this command prints.
    If the server needs a key, set the environment variable QDRANT_API_KEY.
    """
    from ..encoders.transformer import open_encoder
    from ..kb.storage import load_knowledge_base
    from ..vectors import qdrant_upload
    from ..vectors.flat import cached_name_vectors
    from ..vectors.qdrant_index import COLLECTION, URL_PREFIXES, Address

    opened, made_by = load_knowledge_base(kb), open_encoder(encoder, pooling=pooling)
    if made_by is None:
        raise OptionError(option="--encoder none", reason="an upload needs vectors of names")
    address = Address(to if to.startswith(URL_PREFIXES) else os.path.abspath(to), collection or COLLECTION)
    console = stderr_console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        encoding, uploading = bar.add_task("encoding", total=None), bar.add_task("uploading", total=None)
        vectors = cached_name_vectors(opened, made_by, lambda done, n: bar.update(encoding, completed=done, total=n))
        counts = qdrant_upload.upload(
            opened,
            vectors,
            address,
            centroids=centroids,
            progress=lambda done, n: bar.update(uploading, completed=done, total=n),
        )
    show_values({"index": str(address), "names": opened.n_names, **counts})
