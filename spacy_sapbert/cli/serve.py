"""Define `spacy-sapbert serve` and `mcp`, which link texts for a browser, for other programs and for agents."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OptionError, SapbertError, requiring
from ..kb.storage import load_knowledge_base
from ..serve.settings import LOCAL_HOSTS, Limits, LogFormat, address_of, is_local, listen
from .configs import OptionalConfig, resolve
from .inputs import CodeMapping

TOKEN = "SPACY_SAPBERT_TOKEN"
"""The environment variable of the token."""
_SHORTEST_TOKEN = 16
_BOX = "spacy_sapbert"
_NO_TOKEN = (
    "Anyone who can reach {host} can now link texts here. There is no password. To ask for one, set the "
    "environment variable SPACY_SAPBERT_TOKEN. To serve only this machine, use the default host 127.0.0.1."
)
_NO_ENCRYPTION = "Texts and the token are sent without encryption. Put a server with TLS before this one."


def serve(
    ctx: typer.Context,
    pipeline: Annotated[
        str | None,
        typer.Argument(help="Folder or package of a pipeline with a sapbert_linker. Default: the pipeline of `demo`."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on. 0 chooses a free port.")] = 5000,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes that link at the same time.")] = 1,
    log: Annotated[LogFormat, typer.Option(help="Format of the log of requests, on standard error.")] = LogFormat.text,
    config: OptionalConfig = None,
) -> None:
    """Start a server that shows what a pipeline links, and why.

    The page is for a browser. Programs send POST /link with a text, or POST /batch with a list of texts.
    They get the same as from `link --to jsonl`. GET /openapi.json describes all endpoints.
    If the environment variable SPACY_SAPBERT_TOKEN is set, requests need this token.

    The config has the limits of requests. To override one, give it as --serve.max_chars 50000.
    The command needs the extra `web` of spacy-sapbert.
    """
    limits: Limits = resolve(ctx, config, "serve", Limits)[1]
    with requiring("web", "`serve`"):
        from ..serve.observing import announcer
        from ..serve.server import Settings, run_here, run_workers
    local = is_local(host)
    token = _read_token()
    name = Path(pipeline).resolve().name if pipeline else "demo"  # visitors must not see the path
    hosts = (*LOCAL_HOSTS, host) if local else ("*",)
    settings = Settings(pipeline, name, hosts, token, limits, log)
    say = announcer(log)
    # first, so that a port in use is reported before the vocabulary is read
    with listen(host, port) as listening:
        if not local:
            say(_NO_ENCRYPTION if token else _NO_TOKEN.format(host=host))
        address = address_of(listening, host)
        if workers == 1:
            run_here(settings, listening, lambda: say(f"{address} shows the page. Press Ctrl+C to stop."))
        else:
            say(f"{address} shows the page once a worker is ready. Press Ctrl+C to stop.")
            run_workers(settings, listening, workers)


def _read_token() -> str | None:
    """Return the token that requests need, if there is one."""
    token = os.environ.get(TOKEN)
    if token is None:
        return None
    token = token.strip()
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        reason = f"a token must be one word of ASCII characters, at least {_SHORTEST_TOKEN}"
        raise OptionError("Make a token, for example with `openssl rand -hex 32`.", option=TOKEN, reason=reason)
    return token


# --- for agents


def mcp(
    pipeline: Annotated[
        str, typer.Argument(help="Folder or package of a pipeline with a sapbert_linker, or a knowledge base file.")
    ] = _BOX,
    mapping: CodeMapping = None,
) -> None:
    """Serve tools for agents, such as Claude, on standard input and output.

    The tools ground terms, link texts, search the vocabulary, show concepts and map them to codes. They only read.
    The command needs the extra `mcp` of spacy-sapbert.
    """
    with requiring("mcp", "`mcp`"):
        from ..serve.agent_tools import make_server, mend_input

    @cache
    def linking() -> Any:
        from ..pipeline.assemble import new_pipeline
        from ..runs.document_linker import LinkingPipeline, LinkSettings

        return LinkingPipeline(LinkSettings(new_pipeline(pipeline) if Path(pipeline).is_file() else pipeline))

    try:  # a client waits for the vocabulary, but not for the pipeline
        kb = load_knowledge_base("starter" if pipeline == _BOX else pipeline)
    except SapbertError:  # it is an installed pipeline, or has several vocabularies
        kb = linking().kb
    mend_input()
    make_server(kb, linking, mapping or []).run("stdio")
