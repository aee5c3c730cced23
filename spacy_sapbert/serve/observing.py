"""Log, count and time the requests of a server. No line of the log contains a text that was sent."""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from spacy.tokens import Span
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..documents.input_documents import Problems
from ..files.console import stderr_console
from ..pipeline.attributes import get_links
from .settings import LogFormat

LOGGER = logging.getLogger("spacy_sapbert.serve")
REQUEST_ID = "X-Request-ID"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable of the folder through which several workers share their metrics."""
_FIELDS = "fields"
_LONGEST_ID = 64
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class _Lines(logging.Formatter):
    """Writes a line of text, or of JSON, with the time and, after an error, the traceback."""

    def __init__(self, format: LogFormat) -> None:
        super().__init__()
        self._json = format is LogFormat.json

    def format(self, record: logging.LogRecord) -> str:
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        if not self._json:
            time = datetime.fromtimestamp(record.created).strftime("%Y-%m-%d %H:%M:%S")
            return "\n".join(filter(None, (f"{time} {record.getMessage()}", trace)))
        time = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = getattr(record, _FIELDS, None) or {"message": record.getMessage()}
        line = {"time": time, "level": record.levelname.lower(), **fields}
        return json.dumps({**line, "traceback": trace} if trace else line)


def configure_log(format: LogFormat) -> None:
    """Let this process write the log, with the messages of uvicorn."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines(format))
    own_level = logging.WARNING if format is LogFormat.none else logging.INFO
    for logger, level in ((logging.getLogger("uvicorn"), logging.WARNING), (LOGGER, own_level)):
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


def announcer(format: LogFormat) -> Callable[[str], object]:
    """Configure the log, and return a function that shows a message of the command, as a line of it if it is JSON."""
    configure_log(format)
    return LOGGER.info if format is LogFormat.json else stderr_console().print


class LoggedProblems(Problems):
    """Logs the texts on which a pipeline fails, by the id of their request."""

    def report(self, place: str, reason: object) -> None:
        """Log a text that is left out."""
        self.broken += 1
        LOGGER.error(f"{place}: {reason}")


class Metrics:
    """The figures that Prometheus collects."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["path", "status"]
        options: dict[str, Any] = {"registry": self._registry, "namespace": "spacy_sapbert"}
        self.requests = Counter("requests", "Requests by path and status.", labels, **options)
        self.seconds = Histogram("request_seconds", "Seconds per request.", ["path"], buckets=_BUCKETS, **options)
        self.texts = Counter("texts", "Linked texts.", **options)
        self.mentions = Counter("mentions", "Mentions in the texts.", **options)
        self.links = Counter("links", "Mentions that have a concept.", **options)
        queue = "Requests that wait or are linked."
        self.queue = Gauge("queue_length", queue, multiprocess_mode="livesum", **options)

    def count(self, mentions: Sequence[Span]) -> None:
        """Count a linked text."""
        self.texts.inc()
        self.mentions.inc(len(mentions))
        self.links.inc(sum(any(link.concept_id for link in get_links(span)) for span in mentions))

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

    Unknown paths and methods are not shown, because they could contain anything. The application writes `texts` and
    `characters` into the state of the request.
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
        start = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = state["request_id"]
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            self._record(scope, state, status, time.perf_counter() - start)

    def _record(self, scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self._paths else "(unknown)"
        self._metrics.requests.labels(path, status).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        counts = {name: state.get(name, 0) for name in ("texts", "characters")}
        method = scope["method"] if scope["method"] in _METHODS else "(unknown)"
        fields = {"method": method, "path": path, "status": status, "ms": round(1000 * seconds, 1), **counts}
        line = "{method} {path} {status}, {ms} ms, {texts} texts, {characters} characters, request {request_id}"
        fields["request_id"] = state["request_id"]
        LOGGER.info(line.format_map(fields), extra={_FIELDS: fields})


def _request_id(given: str) -> str:
    """Return the id that the client gave, if it can stand in a log, or else a new one."""
    plain = given.replace("-", "").replace("_", "").replace(".", "")
    return given if plain.isascii() and plain.isalnum() and len(given) <= _LONGEST_ID else uuid.uuid4().hex
