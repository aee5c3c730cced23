"""Define what a server accepts and where it listens. This module loads nothing that only the server needs."""

# no postponed annotations here: spaCy could not check the limits in a config

import socket
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address

from ..errors import Errors, SapbertError, SettingError

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
    """The limits of a server. A request beyond them is refused with a message.

    Attributes:
        max_chars: Maximum length of a text, in characters.
        max_texts: Maximum number of texts in a batch.
        max_bytes: Maximum size of a request, in bytes.
        max_waiting: Maximum number of requests that wait in a worker. Further ones get status 503.
        max_connections: Maximum number of connections to a worker. Further requests get status 503.
        timeout: Seconds for a request to arrive (else status 408), and to be linked (504).
    """

    max_chars: int = 10_000
    max_texts: int = 64
    max_bytes: int = 2_000_000
    max_waiting: int = 32
    max_connections: int = 512
    timeout: float = 30.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            least = 0 if name == "max_waiting" else 0.01 if name == "timeout" else 1
            if value < least:
                raise SettingError(setting=name, component="serve", value=value, wanted=f"{least} or more")


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
