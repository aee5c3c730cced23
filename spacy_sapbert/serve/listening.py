"""Listen on an address of this machine."""

from __future__ import annotations

import socket
from ipaddress import ip_address

from ..errors import Errors, SapbertError

BACKLOG = 128
"""How many connections wait to be accepted, such as while the pipeline is loaded."""


def is_local(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a host name
        return False


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens on an address.

    Raises:
        SapbertError: E550 there is no such address, or the port is in use.
    """
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
