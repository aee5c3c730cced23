"""Run the server in one process, or in several workers."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from rich.console import Console
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from ..errors import Errors, SapbertError
from ..runs.document_linker import LinkingPipeline, LinkSettings
from .app import Site, make_app
from .observing import LOGGER, METRICS_FOLDER, LoggedProblems, configure_log, forget_dead_workers
from .settings import BACKLOG, Limits, LogFormat

_SECONDS_TO_END = 10  # for requests that are being answered
_SECONDS_TO_RESPOND = 60  # for a worker, before it is replaced; a long text can keep Python's lock
_THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class Settings:
    """What a server needs to know, see `make_app`. A worker gets it from the first process.

    Without a pipeline, a folder or a package, it is that of `demo`. Visitors see its name.
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
        from ..pipeline.box import load

        return LinkingPipeline(LinkSettings(self.pipeline or load()), LoggedProblems(Console(stderr=True)))


def server_config(app: Any, max_connections: int, **options: Any) -> uvicorn.Config:
    """Return the configuration of a server, with further options of uvicorn.

    A proxy must bound slow clients, see `docs/serving.md`.
    """
    return uvicorn.Config(
        app,
        http="h11",  # with the same limits on every machine
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=max_connections + 1,  # uvicorn refuses the request that reaches it
        timeout_graceful_shutdown=_SECONDS_TO_END,
        **options,
    )


def run_here(settings: Settings, listening: socket.socket, on_ready: Callable[[], object]) -> None:
    """Run the server in this process until a signal ends it. `on_ready` is called when the pipeline is loaded."""
    site = settings.site()

    def started() -> None:
        if site.failure:
            server.should_exit = True
        else:
            on_ready()

    app = settings.app(site, on_started=started)
    server = uvicorn.Server(server_config(app, settings.limits.max_connections))
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    if site.failure:
        raise site.failure


def run_workers(settings: Settings, listening: socket.socket, workers: int) -> None:
    """Run several processes on one socket until a signal ends them. A process that dies is replaced.

    Each process loads the pipeline. Memory-mapped files are in memory only once.
    """
    os.environ.setdefault(_THREADS, str(max(1, (os.cpu_count() or 1) // workers)))
    with TemporaryDirectory() as folder:
        os.environ[METRICS_FOLDER] = folder
        options = {"factory": True, "workers": workers, "timeout_worker_healthcheck": _SECONDS_TO_RESPOND}
        config = server_config(partial(_worker_app, settings), settings.limits.max_connections, **options)
        supervisor = Multiprocess(config, [listening])
        supervisor.run()
        del os.environ[METRICS_FOLDER]
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise SapbertError(Errors.E575)


def _worker_app(settings: Settings) -> ASGIApp:
    """Load the pipeline before the worker accepts connections, so that the others answer meanwhile."""
    configure_log(settings.log)
    forget_dead_workers()
    site = settings.site()
    try:
        site.load()
    except Exception as error:
        LOGGER.error(str(error), exc_info=not isinstance(error, SapbertError))
        # With this status, it is not started again. While it ended in good order, the supervisor would wait for its
        # answer for a minute.
        os._exit(STARTUP_FAILURE)
    LOGGER.info(f"Worker process {os.getpid()} is ready.")
    return settings.app(site)
