"""Count, time and log the requests of a server."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .logs import log_request

REQUEST_ID = "X-Request-ID"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable of the folder through which several workers share their metrics."""
_LONGEST_ID = 64
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The figures that Prometheus collects.

    Attributes:
        requests: Counts requests by path and status.
        seconds: How long requests take, by path.
        texts: Counts linked texts.
        mentions: Counts the mentions in them.
        links: Counts the mentions that have a concept.
        queue: The number of requests that wait or are linked.
    """

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        prefix = "spacy_sapbert"
        labels = ["path", "status"]
        self.requests = Counter(f"{prefix}_requests", "Requests by path and status.", labels, registry=registry)
        self.seconds = Histogram(
            f"{prefix}_request_seconds", "Seconds per request.", ["path"], buckets=_BUCKETS, registry=registry
        )
        self.texts = Counter(f"{prefix}_texts", "Linked texts.", registry=registry)
        self.mentions = Counter(f"{prefix}_mentions", "Mentions in the texts.", registry=registry)
        self.links = Counter(f"{prefix}_links", "Mentions that have a concept.", registry=registry)
        self.queue = Gauge(
            f"{prefix}_queue_length",
            "Requests that wait or are linked.",
            registry=registry,
            multiprocess_mode="livesum",
        )

    def show(self) -> bytes:
        """Return the figures in the format of Prometheus: of this process, or of all workers."""
        if METRICS_FOLDER not in os.environ:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        MultiProcessCollector(shared)
        return generate_latest(shared)


def forget_dead_workers() -> None:
    """Leave out the queues of workers that have died. Call it when a worker starts, which may replace one."""
    folder = os.environ.get(METRICS_FOLDER)
    if folder is None or os.name == "nt":  # Windows has no signal that only asks whether a process lives
        return
    for file in Path(folder).glob("gauge_*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            mark_process_dead(process)


class Observer:
    """Gives each request an id, logs it, and counts it.

    The path of an unknown page is not shown, because it could contain anything.

    Args:
        app: The application. It writes `texts` and `characters` into the state of the request.
        metrics: Counts the requests.
        paths: The paths of the server.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self.app = app
        self._metrics = metrics
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: dict[str, Any] = scope.setdefault("state", {})
        state["request_id"] = _request_id(Headers(scope=scope).get(REQUEST_ID, ""))
        status = 500  # unless an answer begins
        begun = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = state["request_id"]
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            self._record(scope, state, status, time.perf_counter() - begun)

    def _record(self, scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self._paths else "(unknown)"
        self._metrics.requests.labels(path, status).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        counts = {name: state.get(name, 0) for name in ("texts", "characters")}
        fields = {"method": _method(scope["method"]), "path": path, "status": status, "ms": round(1000 * seconds, 1)}
        log_request({**fields, **counts, "request_id": state["request_id"]})


def _method(method: str) -> str:
    """Return a method; one that does not exist could contain anything."""
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "(unknown)"


def _request_id(given: str) -> str:
    """Return the id that the client gave, if it can stand in a log, or else a new one."""
    plain = given.replace("-", "").replace("_", "").replace(".", "")
    return given if plain.isascii() and plain.isalnum() and len(given) <= _LONGEST_ID else uuid.uuid4().hex
