"""`serve`: what a pipeline links, as a page in the browser."""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, SapbertError
from ..io.documents import Problems
from .progress import stderr_console

_SECONDS_TO_END = 3  # which Ctrl+C leaves to a text that is being linked
_WARNING = (
    "Whoever reaches {host} can now link texts here, without a password and unencrypted. Use 127.0.0.1, the default, "
    "where only this machine should."
)


def serve(
    pipeline: Annotated[
        str | None,
        typer.Argument(help="Folder or package of a pipeline with sapbert_linker; if not given, that of `demo`."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 5000,
    max_chars: Annotated[int, typer.Option(min=1, help="The longest text that is taken, in characters.")] = 10_000,
) -> None:
    """Show on a page in the browser what a pipeline links, and why.

    POST /link takes a JSON object with a text, and answers as `link --to jsonl` writes. GET /health tells that the
    server is up. Needs the extra web.
    """
    try:
        import uvicorn

        from .web.app import LOCAL_HOSTS, make_app
    except ModuleNotFoundError as error:
        raise SapbertError(Errors.E542.format(module=error.name, extra="web")) from error
    from ..io.pipelines import LinkingPipeline
    from .demo import demo_pipeline

    console = stderr_console()
    local = _is_local(host)
    # first of all, so that a port in use does not come up after the vocabulary has been read
    with _listen(host, port) as listening:
        linking = LinkingPipeline(pipeline or demo_pipeline(), Problems(console))
        name = Path(pipeline).resolve().name if pipeline else "demo"  # the place of a folder is nobody else's business
        app = make_app(linking, name=name, max_chars=max_chars, hosts=[*LOCAL_HOSTS, host] if local else ["*"])
        if not local:
            console.print(_WARNING.format(host=host))
        console.print(f"{_address(listening, host)} shows the page; Ctrl+C ends it")
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        config.timeout_graceful_shutdown = _SECONDS_TO_END
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def _listen(host: str, port: int) -> socket.socket:
    """RAISES (SapbertError): E550 there is no such address, or the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:  # the second for what cannot be a name
        reason = getattr(error, "strerror", None) or error
        raise SapbertError(Errors.E550.format(host=host, port=port, reason=reason)) from error


def _address(listening: socket.socket, host: str) -> str:
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
