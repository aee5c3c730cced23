"""Bound what a connection may cost: its time, its number, and the chunks of its requests.

uvicorn itself has a time limit for idle connections only, so its protocol gets the others here. Its own limit of
connections counts requests, not connections that send nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from h11._connection import DEFAULT_MAX_INCOMPLETE_EVENT_SIZE
from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import Limits
from .listening import BACKLOG

_READ_BYTES = 100_000  # of an answer, in each span of `read_timeout`
_CHUNKS, _BYTES_PER_CHUNK = 4096, 256  # h11 takes some 20 µs for a chunk of any size
_CLOSE = b"Content-Length: 0\r\nConnection: close\r\n\r\n"
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\n" + _CLOSE
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\n" + _CLOSE


class Config(uvicorn.Config):
    """The configuration of uvicorn, with limits for connections.

    Args:
        app: The application, or a function that returns it.
        limits: The limits.
        options: As for uvicorn.
    """

    def __init__(self, app: Callable[..., Any], limits: Limits, **options: Any) -> None:
        super().__init__(
            app,
            http=BoundedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,  # also how many connections are accepted at once, before one can be closed
            **options,
        )
        self.limits = limits


class BoundedProtocol(H11Protocol):
    """Closes a connection whose request does not arrive in time, or whose client does not read the answer.

    The time of a request runs from the first moment to its last byte, however slowly its bytes drop in. An answer may
    take longer, as long as its client reads `_READ_BYTES` in each span of time.

    Where there are too many connections, the one closes that has waited longest for its request. A connection whose
    request is being answered is never closed for another one.
    """

    config: Config
    _arrival: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _unread = 0  # bytes of answers, when `_reading` began

    def __init__(self, config: Config, *args: Any, **options: Any) -> None:
        super().__init__(config, *args, **options)
        self.conn = _BoundedConnection(h11.SERVER, DEFAULT_MAX_INCOMPLETE_EVENT_SIZE)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waits_since = self.loop.time()
        self._watch_arrival()
        if len(self.connections) > self.config.limits.max_connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_arrival()

    def on_response_complete(self) -> None:
        self._waits_since = self.loop.time()
        super().on_response_complete()
        self._watch_reading()
        # another request may have begun to arrive. If not, uvicorn's own time limit for idle connections runs
        if self.conn.their_state is h11.SEND_BODY:
            self._watch_arrival()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._arrival)
        _cancel(self._reading)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        self._close()  # an answer has begun or ended before the rest of the request was seen to be wrong

    def _watch_arrival(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            _cancel(self._arrival)
            self._arrival = None
        elif self._arrival is None and not self.transport.is_closing():
            self._arrival = self.loop.call_later(self.config.limits.read_timeout, self._close_late)

    def _watch_reading(self) -> None:
        if self._reading is None:
            self._unread = self.transport.get_write_buffer_size()
            if self._unread:
                self._reading = self.loop.call_later(self.config.limits.read_timeout, self._check_reading)

    def _check_reading(self) -> None:
        self._reading = None
        if self.transport.get_write_buffer_size() > max(0, self._unread - _READ_BYTES):
            self.transport.abort()
        else:
            self._watch_reading()

    def _close_late(self) -> None:
        answered = self.conn.their_state is h11.SEND_BODY and self.cycle.response_started
        if not answered:
            self.transport.write(_TOO_LATE)
        self._close()

    def _close(self) -> None:
        """Close the connection when its client has read all, or reads no more."""
        self.transport.close()
        self._watch_reading()

    def _make_room(self) -> None:
        waiting = [one for one in self.connections if isinstance(one, BoundedProtocol) and one._waits()]
        if waiting == [self]:
            self.transport.write(_TOO_MANY)
            self._close()
        else:
            min(waiting, key=lambda one: one._waits_since).transport.abort()

    def _waits(self) -> bool:
        """Return whether the connection waits for its client, and has not just been closed."""
        if self.transport.is_closing():
            return False
        return self.cycle is None or self.cycle.response_complete or self.conn.their_state is h11.SEND_BODY


class _BoundedConnection(h11.Connection):
    """Refuses a request in tiny chunks, which take most of the time that a server needs to read it."""

    _chunks = 0
    _bytes = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._chunks += 1
            self._bytes += len(event.data)
            if self._chunks > _CHUNKS + self._bytes // _BYTES_PER_CHUNK:
                raise h11.RemoteProtocolError("too many small chunks")
        return event


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer:
        timer.cancel()
