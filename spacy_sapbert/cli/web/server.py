"""Run the server in one process, or in several workers. Requests that do not arrive in time are closed.

uvicorn itself has no time limit for a request to arrive, so its protocol gets one here.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import h11
import uvicorn
from rich.console import Console
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from ...errors import Errors, SapbertError
from ...io.pipelines import LinkingPipeline
from .app import Site, make_app
from .limits import Limits
from .logs import LOGGER, LogFormat, LoggedProblems, configure
from .observing import METRICS_FOLDER, forget_dead_workers

_SECONDS_TO_END = 10  # for requests that are being answered
_SECONDS_TO_RESPOND = 60  # for a worker, before it is replaced; a long text can keep Python's lock
_THREADS = "OMP_NUM_THREADS"
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Settings:
    """What a server needs to know. A worker gets it from the first process.

    Attributes:
        pipeline: A folder or a package; None for the pipeline of `demo`.
        name: The name of the pipeline that visitors see.
        hosts: See `make_app`.
        token: See `make_app`.
    """

    pipeline: str | None
    name: str
    hosts: tuple[str, ...]
    token: str | None = field(repr=False)
    limits: Limits
    log: LogFormat

    def site(self) -> Site:
        """Return a site that does not have its pipeline yet."""
        return Site(self._load, self.name, self.limits)

    def app(self, site: Site, **options: Any) -> ASGIApp:
        """Return the application of a site."""
        return make_app(site, hosts=self.hosts, token=self.token, **options)

    def _load(self) -> LinkingPipeline:
        from ..demo import demo_pipeline

        return LinkingPipeline(self.pipeline or demo_pipeline(), LoggedProblems(Console(stderr=True)))


class Config(uvicorn.Config):
    """The configuration of uvicorn, with a time limit for requests to arrive.

    Args:
        app: The application, or a function that returns it.
        settings: The settings of the server.
        options: As for uvicorn.
    """

    def __init__(self, app: Callable[..., Any], settings: Settings, **options: Any) -> None:
        super().__init__(
            app,
            http=DeadlineProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_SECONDS_TO_END,
            timeout_worker_healthcheck=_SECONDS_TO_RESPOND,
            **options,
        )
        self.read_timeout = settings.limits.read_timeout


class DeadlineProtocol(H11Protocol):
    """Closes a connection whose request does not arrive in time, or whose client does not read the answer.

    The time runs from the first moment to the last byte of a request, however slowly its bytes drop in.
    """

    config: Config
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._run_time(self._close_late)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # another request may have begun to arrive. If not, uvicorn's own time limit for idle connections runs
        if self.conn.their_state is h11.SEND_BODY:
            self._watch_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._run_time(self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_time()
        super().connection_lost(exc)

    def _watch_request(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_time()
        elif self._deadline is None:
            self._run_time(self._close_late)

    def _run_time(self, end: Callable[[], object]) -> None:
        self._stop_time()
        self._deadline = self.loop.call_later(self.config.read_timeout, end)

    def _stop_time(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _close_late(self) -> None:
        answered = self.conn.their_state is h11.SEND_BODY and self.cycle.response_started
        if not answered:
            self.transport.write(_TOO_LATE)
        self.transport.close()


class _Server(uvicorn.Server):
    """Lets its site know that it is ending, before it refuses connections."""

    site: Site

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.site.stopping = True
        super().handle_exit(sig, frame)


def run_here(settings: Settings, listening: socket.socket, on_ready: Callable[[], object]) -> None:
    """Run the server in this process until a signal ends it.

    Args:
        settings: The settings.
        listening: The socket.
        on_ready: Called when the pipeline is loaded.

    Raises:
        SapbertError: The pipeline cannot be loaded, or does not work.
        Exception: A component of the pipeline raises it.
    """
    site = settings.site()

    def started() -> None:
        if site.failure:
            server.should_exit = True
        else:
            on_ready()

    server = _Server(Config(settings.app(site, on_started=started), settings))
    server.site = site
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    if site.failure:
        raise site.failure


def run_workers(settings: Settings, listening: socket.socket, workers: int) -> None:
    """Run several processes until a signal ends them. A process that dies is replaced.

    Each process loads the pipeline. Memory-mapped files are in memory only once.

    Args:
        settings: The settings.
        listening: The socket that they share.
        workers: The number of processes.

    Raises:
        SapbertError: E575 a process cannot start.
    """
    os.environ.setdefault(_THREADS, str(max(1, (os.cpu_count() or 1) // workers)))
    with TemporaryDirectory() as folder:
        os.environ[METRICS_FOLDER] = folder
        config = Config(partial(_worker_app, settings), settings, factory=True, workers=workers)
        supervisor = Multiprocess(config, [listening])
        supervisor.run()
        del os.environ[METRICS_FOLDER]
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise SapbertError(Errors.E575)


def _worker_app(settings: Settings) -> ASGIApp:
    """Load the pipeline before the worker accepts connections, so that the others answer meanwhile."""
    configure(settings.log)
    forget_dead_workers()
    site = settings.site()
    try:
        site.load()
    except Exception as error:
        LOGGER.error(str(error), exc_info=not isinstance(error, SapbertError))
        sys.exit(STARTUP_FAILURE)  # else it would be started again and again
    LOGGER.info(f"Worker process {os.getpid()} is ready.")
    return settings.app(site)
