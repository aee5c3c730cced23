"""Define `spacy-sapbert serve`, which starts a web page that links texts."""

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

_SECONDS_TO_END = 3  # after Ctrl+C, for a text that is being linked
_WARNING = (
    "Anyone who can reach {host} can now link texts here. There is no password and no encryption. To serve only this "
    "machine, use the default host 127.0.0.1."
)


def serve(
    pipeline: Annotated[
        str | None,
        typer.Argument(help="Folder or package of a pipeline with a sapbert_linker. Default: the pipeline of `demo`."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on. 0 chooses a free port.")] = 5000,
    max_chars: Annotated[int, typer.Option(min=1, help="Maximum length of a text, in characters.")] = 10_000,
) -> None:
    """Start a web page that shows what a pipeline links, and why.

    POST /link reads a JSON object with a text, and returns the same as `link --to jsonl`.
    GET /health shows that the server is running.
    The command needs the extra `web` of spacy-sapbert.
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
    # first, so that a port in use is reported before the vocabulary is read
    with _listen(host, port) as listening:
        linking = LinkingPipeline(pipeline or demo_pipeline(), Problems(console))
        name = Path(pipeline).resolve().name if pipeline else "demo"  # visitors must not see the path
        app = make_app(linking, name=name, max_chars=max_chars, hosts=[*LOCAL_HOSTS, host] if local else ["*"])
        if not local:
            console.print(_WARNING.format(host=host))
        console.print(f"{_address(listening, host)} shows the page. Press Ctrl+C to stop.")
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        config.timeout_graceful_shutdown = _SECONDS_TO_END
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a host name
        return False


def _listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens on an address.

    Raises:
        SapbertError: E550 there is no such address, or the port is in use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
        reason = getattr(error, "strerror", None) or error
        raise SapbertError(Errors.E550.format(host=host, port=port, reason=reason)) from error


def _address(listening: socket.socket, host: str) -> str:
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
