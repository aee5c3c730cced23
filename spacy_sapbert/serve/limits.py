"""Define how much a server accepts, as options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer


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
    timeout: Annotated[
        float, typer.Option(min=0.01, help="Seconds for a request to wait and be linked. Then it gets status 504.")
    ] = 30.0
    read_timeout: Annotated[
        float, typer.Option(min=0.01, help="Seconds for a request to arrive. Then its connection is closed.")
    ] = 10.0
    max_connections: Annotated[
        int,
        typer.Option(min=1, help="Maximum number of connections to a worker. Then the one that waits longest closes."),
    ] = 512
