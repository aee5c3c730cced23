"""Requests to the two servers. Their applications are called in this process, without a socket."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems
from spacy_sapbert.outputs.records import record_of
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.runs.pipelines import LinkingPipeline
from spacy_sapbert.serve.app import Site, make_app
from spacy_sapbert.serve.review_app import make_review_app
from spacy_sapbert.serve.review_session import ReviewSession
from spacy_sapbert.serve.settings import Limits
from spacy_sapbert.types import Document

from .running import Target
from .saved_files import folder_of, linking_nlp

REQUESTS: list[dict[str, Any]] = [
    {"method": "POST", "path": "/link", "body": '{"text": "A cold and CF.", "id": "1", "year": 2020}'},
    {"method": "POST", "path": "/batch", "body": '[{"text": "aspirin"}, {"text": ""}, {"id": 7}, 1]'},
    {"method": "POST", "path": "/", "body": "text=breast+and+ovarian%20cancer&x=%ff"},
    {"method": "GET", "path": "/metrics", "query": "a=1"},
    {"method": "HEAD", "path": "/ready"},
    {"method": "GET", "path": "/docs", "headers": [["host", "localhost"], ["authorization", "Basic YTpi"]]},
]
REVIEW: list[dict[str, Any]] = [
    {"method": "GET", "path": "/next", "query": "window=w&later=0"},
    {"method": "GET", "path": "/mentions/0", "query": "window=w"},
    {
        "method": "POST",
        "path": "/mentions/0/decision",
        "query": "window=w",
        "body": {"action": "replace", "scope": "occurrence", "concept_ids": ["D003139"], "comment": "a", "seen": 1},
    },
    {
        "method": "POST",
        "path": "/additions",
        "query": "window=w&number=0",
        "body": {"document": "", "start": 0, "end": 1, "concept_ids": ["D003139"], "label": "", "scope": "corpus"},
    },
    {"method": "POST", "path": "/undo/1", "query": "window=w"},
    {"method": "GET", "path": "/search", "query": "text=cold&by=name"},
    {"method": "GET", "path": "/concepts", "query": "id=D003139"},
]


def scope_and_body(request: Any, prefix: str) -> tuple[dict[str, Any], bytes] | None:
    """Return what a server would make of a request; None if it would refuse it itself."""
    if not isinstance(request, dict):
        return None
    method, path, query = (request.get(key, "") for key in ("method", "path", "query"))
    headers = request.get("headers", [["host", "localhost"], ["content-type", "application/json"]])
    body = request.get("body", "")
    body = body if isinstance(body, str) else json.dumps(body)
    if not all(isinstance(one, str) for one in (method, path, query)) or not method.isascii() or not method.isalpha():
        return None
    raw_path = f"{prefix}{path}".encode("utf-8", "replace")
    if not isinstance(headers, list) or any(byte < 33 or byte > 126 for byte in query.encode("utf-8", "replace")):
        return None
    pairs = []
    for pair in headers:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
            return None
        name, value = pair
        if not (name.isascii() and name.replace("-", "").isalnum() and value.isprintable()):
            return None
        if name.lower() not in ("content-length", "transfer-encoding"):  # the server itself checks these
            pairs.append((name.lower().encode(), value.encode("latin-1", "replace")))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": raw_path.decode("utf-8", "replace"),
        "raw_path": raw_path,
        "query_string": query.encode("utf-8", "replace"),
        "root_path": "",
        "headers": pairs,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    return scope, body.encode("utf-8", "surrogatepass")


def send(app: Any, folder: Path, prefix: str = "") -> None:
    """Send a request to an application. Its answer is one, and no fault of the server."""
    content = (folder / "request.json").read_bytes()
    try:
        request = json.loads(content.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        request = {"method": "POST", "path": "/link", "body": content.decode("latin-1")}
    try:
        made = scope_and_body(request, prefix)
    except RecursionError:
        return
    if made is None:
        return
    scope, body = made
    parts = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if parts:
            return parts.pop()
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def answer(message: dict[str, Any]) -> None:
        sent.append(message)

    loop().run_until_complete(app(scope, receive, answer))
    starts = [message for message in sent if message["type"] == "http.response.start"]
    assert len(starts) == 1
    assert starts[0]["status"] < 500, (starts[0]["status"], b"".join(one.get("body", b"") for one in sent))
    for name, value in starts[0]["headers"]:
        assert b"\n" not in name + value
        assert b"\r" not in name + value


@cache
def loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that stays."""
    return asyncio.new_event_loop()


def _linking() -> LinkingPipeline:
    return LinkingPipeline(linking_nlp(), Problems(Console(file=io.StringIO())))


@cache
def link_app() -> Any:
    """Return the application of `serve`."""
    site = Site(_linking, "<fuzz>", Limits(max_chars=1000, max_texts=8, max_bytes=200_000))
    site.load()
    return make_app(site)


@cache
def review_app() -> tuple[Any, str]:
    """Return the application of `review`, and the secret of its addresses."""
    linking = _linking()
    documents = [
        Document(str(number), text, position="here") for number, text in enumerate(("A cold and CF.", "aspirin"))
    ]
    records = [record_of(item, linking.kb) for item in linking(documents)]
    folder_of("review").mkdir()
    file = CorrectionsFile(folder_of("review") / "c.db", create=True)
    session = ReviewSession(file, linking, records, corpus="notes", author="me")
    return make_review_app(session), session.file.secret


def send_to_review(folder: Path) -> None:
    """Send a request to the server of the review page, below its secret."""
    app, secret = review_app()
    send(app, folder, f"/{secret}")


def targets() -> Iterator[Target]:
    """Yield the targets that answer requests."""
    for name, requests, use, share in (
        ("link", REQUESTS, lambda folder: send(link_app(), folder), 0.3),
        ("review", REVIEW, send_to_review, 0.1),
    ):
        seeds = [{"request.json": json.dumps(request).encode()} for request in requests]
        yield Target(f"http:{name}", lambda seeds=seeds: seeds, use, share)
