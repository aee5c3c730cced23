"""Define what a server accepts and where it listens. This module loads nothing that only the server needs."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from typing import Annotated, ClassVar

import typer

from ..errors import Errors, SapbertError

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "[")
"""The host names of this machine. Starlette before 1.8 reads an IPv6 address as the last one."""
BACKLOG = 128
"""How many connections wait to be accepted, such as while the pipeline is loaded."""


class LogFormat(str, Enum):
    """The formats of the log. With `none`, only errors are written."""

    text = "text"
    json = "json"
    none = "none"


@dataclass(frozen=True)
class Limits:
    """The limits of a server. A request beyond them is refused with a message."""

    PANEL: ClassVar[str] = "Limits"

    max_chars: Annotated[int, typer.Option(min=1, help="Maximum length of a text, in characters.")] = 10_000
    max_texts: Annotated[int, typer.Option(min=1, help="Maximum number of texts in a batch.")] = 64
    max_bytes: Annotated[int, typer.Option(min=1, help="Maximum size of a request, in bytes.")] = 2_000_000
    max_waiting: Annotated[
        int, typer.Option(min=0, help="Maximum number of requests that wait in a worker. Further ones get status 503.")
    ] = 32
    max_connections: Annotated[
        int, typer.Option(min=1, help="Maximum number of connections to a worker. Further requests get status 503.")
    ] = 512
    timeout: Annotated[
        float,
        typer.Option(min=0.01, help="Seconds for a request to arrive (else status 408), and to be linked (504)."),
    ] = 30.0


def is_local(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a host name
        return False


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens on an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
        reason = getattr(error, "strerror", None) or error
        raise SapbertError(Errors.E550.format(host=host, port=port, reason=reason)) from error
    # asyncio does not set it here, and without it the end of an answer waits for the client, 40 ms in Linux
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    return listening


def address_of(listening: socket.socket, host: str) -> str:
    """Return the address of a server for a browser."""
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
