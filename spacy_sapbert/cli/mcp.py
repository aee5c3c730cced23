"""Define `spacy-sapbert mcp`, which gives agents tools to link text and to read a vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import requiring
from .inputs import CodeMapping


def mcp(
    pipeline: Annotated[
        str, typer.Argument(help="Folder or package of a pipeline with a sapbert_linker, or a knowledge base file.")
    ] = "spacy_sapbert",
    mapping: CodeMapping = None,
) -> None:
    """Serve tools for agents, such as Claude, on standard input and output.

    The tools ground terms, link texts, search the vocabulary, show concepts and map them to codes. They only read.
    The command needs the extra `mcp` of spacy-sapbert.
    """
    with requiring("mcp", "`mcp`"):
        from ..serve.agent_tools import make_server
    from ..pipeline.assemble import new_pipeline
    from ..runs.document_linker import LinkSettings, LoadedLinker

    nlp = new_pipeline(pipeline) if Path(pipeline).is_file() else None
    make_server(LoadedLinker(LinkSettings(pipeline), nlp), mapping or []).run("stdio")
