"""Define the web application: the page with its form, JSON endpoints, and what a server is watched by.

The pipeline links one request after the other in its own thread, so the server can answer meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar
from urllib.parse import parse_qs

import srsly
from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from .. import __version__
from ..documents.input_documents import ReadOptions, fault
from ..documents.text_files import value_document
from ..errors import SapbertError
from ..files.source import BrokenRecord
from ..files.values import parse_json
from ..outputs.records import LinkedDocument
from ..runs.document_linker import Failure, LinkingPipeline, watched
from ..types import Document
from .observing import Metrics, Observer
from .page import POLICY, Page
from .safety import CSP, Refused, protect
from .settings import LOCAL_HOSTS, Limits

CLIENT_LEFT = 499
"""The status of a request whose client left, as nginx logs it."""
Result = TypeVar("Result")
EXAMPLE = (
    "A 58-year-old woman with breast and ovarian cancer and chronic kidney disease (CKD) had a heart attack while on "
    "doxorubicin. Her CKD and high blood pressure were treated with lisinopril, and nausea with ondansetron. "
    "Acetylsalicylic acid was continued."
)
_TEXTS_AT_ONCE = 16  # of a batch. A batch that nobody waits for ends after so many
_FORM_BYTES, _FORM_FRAME = 12, 1000  # of a form: for a character, such as %F0%9F%A7%AC, and for all else
_STARTING = "The pipeline is being loaded. Try again in a few seconds."
_FAILED = "The pipeline failed on this text. The log of the server shows the reason."
Shown = TypeVar("Shown")


class LinkingQueue:
    """Runs jobs in a thread of its own, in the order in which they come, each within a time limit.

    Nothing can end a job from outside. When its client has left or its time is over, it learns that it should stop. It
    keeps the thread until it ends, so that jobs do not pile up. A job that does not stop ends its process, see
    `watched`. `on_length` gets the number of jobs that wait or run.
    """

    def __init__(self, max_waiting: int, timeout: float, on_length: Callable[[int], object]) -> None:
        self._max_waiting = max_waiting
        self._timeout = timeout
        self._on_length = on_length
        self._length = 0
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # a daemon, so that a long job does not keep a process that should end
        threading.Thread(target=self._work, daemon=True).start()

    async def run(self, job: Callable[[threading.Event], Result], client_leaves: Awaitable[Any]) -> Result:
        """Run a job, and return its result. Its argument is set when it should stop; `client_leaves` ends with its
        client.
        """
        stop = threading.Event()
        left = asyncio.ensure_future(client_leaves)
        try:
            if self._length > self._max_waiting:  # one of them is running
                raise Refused(503, f"Too many requests wait ({self._length - 1}). Try again later.")
            result = asyncio.wrap_future(self.start(partial(self._watched, job, stop)))
            await asyncio.wait({result, left}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return result.result()
            result.cancel()
            if left.done():
                raise Refused(CLIENT_LEFT, "The client left.")
            raise Refused(504, f"Linking took more than {self._timeout:g} seconds. Send fewer or shorter texts.")
        finally:
            stop.set()
            left.cancel()

    def close(self) -> None:
        """End the thread after the jobs that are in the queue."""
        self._jobs.put(None)

    def start(self, job: Callable[[], Result]) -> Future[Result]:
        """Put a job into the queue that is always taken and has no time limit, such as loading the pipeline."""
        future: Future[Result] = Future()
        self._change(1)
        future.add_done_callback(lambda _: self._change(-1))
        self._jobs.put((future, job))
        return future

    def _change(self, by: int) -> None:
        with self._lock:
            self._length += by
            self._on_length(self._length)

    def _work(self) -> None:
        while entry := self._jobs.get():
            future, job = entry
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(job())
                except BaseException as error:
                    future.set_exception(error)

    def _watched(self, job: Callable[[threading.Event], Result], stop: threading.Event) -> Result:
        with watched(self._timeout):
            return job(stop)


def make_app(
    site: Site,
    *,
    hosts: Sequence[str] = LOCAL_HOSTS,
    token: str | None = None,
    on_started: Callable[[], object] = lambda: None,
) -> FastAPI:
    """Create the web application of a site, see `protect`. If its pipeline is not loaded yet, the server begins with
    this.

    `on_started` is called when the pipeline is loaded, or when that failed (`site.failure`).
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=_lifespan(site, on_started))
    for path, answer, method in (
        ("/link", site.link, "POST"),
        ("/batch", site.link_batch, "POST"),
        ("/health", site.show_health, "GET"),
        ("/ready", site.show_ready, "GET"),
        ("/metrics", site.show_metrics, "GET"),
        ("/openapi.json", site.show_description, "GET"),
        ("/", site.show_example, "GET"),
        ("/", site.link_form, "POST"),
    ):
        app.router.add_route(path, answer, methods=[method])
    paths = [route.path for route in app.routes if isinstance(route, Route)]
    protect(app, hosts, max_bytes=site.limits.max_bytes, token=token)
    app.add_middleware(Observer, metrics=site.metrics, paths=paths)
    return app


def _description(limits: Limits) -> dict[str, Any]:
    """Return the description of the endpoints as OpenAPI."""
    described: dict[str, Any] = srsly.read_yaml(Path(__file__).with_name("openapi.yaml"))
    described["info"]["version"] = __version__
    batch = described["paths"]["/batch"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    batch["maxItems"] = limits.max_texts
    return described


def _lifespan(site: Site, on_started: Callable[[], object]) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    async def load() -> None:
        with suppress(Exception):  # the site keeps it
            await asyncio.wrap_future(site.queue.start(site.load))
        on_started()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loading = asyncio.create_task(load()) if site.linking is None else None
        yield
        site.queue.close()
        if loading:
            loading.cancel()

    return lifespan


class Site:
    """The answers of the server. `load` loads the pipeline, whose `problems` report texts on which it fails.

    Attributes:
        linking: The pipeline; None until it is loaded.
        failure: Why the pipeline could not be loaded, if so.
    """

    def __init__(self, load: Callable[[], LinkingPipeline], name: str, limits: Limits) -> None:
        self.limits = limits
        self.linking: LinkingPipeline | None = None
        self.failure: Exception | None = None
        self.metrics = Metrics()
        self.queue = LinkingQueue(limits.max_waiting, limits.timeout, self.metrics.queue.set)
        self._load = load
        self._name = name
        self._page: Page | None = None
        self._example = ""
        self._description = JSONResponse(_description(limits))

    def load(self) -> None:
        """Load the pipeline and link the example, so that no visitor meets a delay or a missing file."""
        try:
            linking = self._load()
            page = Page(linking.kb, self._name, self.limits.max_chars)
            linked = linking([Document("", EXAMPLE, position="the example")], partial(page.render, EXAMPLE))
            self._example = next(linked, page.render(EXAMPLE))
        except Exception as error:
            self.failure = error
            raise
        self._page, self.linking = page, linking

    async def show_example(self, request: Request) -> Response:
        self._loaded()
        return HTMLResponse(self._example, headers={CSP: POLICY})

    async def link_form(self, request: Request) -> Response:
        _, page = self._loaded()
        text, status, headers = "", 200, dict[str, str]()
        try:
            body = await self._body(request)
            if len(body) > _FORM_BYTES * self.limits.max_chars + _FORM_FRAME:
                raise self._too_long()  # before the time to read and show it
            text = parse_qs(body.decode(errors="replace")).get("text", [""])[0].replace("\r\n", "\n")
            (html,) = await self._linked(request, [{"text": text}], partial(page.render, text))
            if isinstance(html, Refused):
                raise html
        except Refused as refused:
            html, status = page.render(text, message=refused.detail), refused.status_code
            headers = dict(refused.headers or {})
        return HTMLResponse(html, status, {CSP: POLICY, **headers})

    async def link(self, request: Request) -> Response:
        self._loaded()
        (record,) = await self._linked(request, [await self._json(request)], self._record)
        if isinstance(record, Refused):
            raise record
        return Response(record, media_type=JSONResponse.media_type)

    async def link_batch(self, request: Request) -> Response:
        self._loaded()
        values = await self._json(request)
        if not isinstance(values, list):
            raise Refused(400, "Send a JSON list of objects with the key 'text': this is not a list.")
        if len(values) > (most := self.limits.max_texts):
            raise Refused(413, f"The batch has {len(values):,} texts. The server accepts at most {most:,}.")
        records = await self._linked(request, values, self._record)
        answers = (_to_json(record.answer) if isinstance(record, Refused) else record for record in records)
        return Response(b"[%s]" % b",".join(answers), media_type=JSONResponse.media_type)

    async def show_health(self, request: Request) -> Response:
        return JSONResponse(self._state())

    async def show_ready(self, request: Request) -> Response:
        return JSONResponse(self._state(), 200 if self.linking else 503)

    async def show_metrics(self, request: Request) -> Response:
        return Response(self.metrics.show(), media_type=CONTENT_TYPE_LATEST)

    async def show_description(self, request: Request) -> Response:
        return self._description

    def _state(self) -> dict[str, Any]:
        status, concepts = ("ok", len(self.linking.kb)) if self.linking else ("starting", None)
        return {"status": status, "pipeline": self._name, "concepts": concepts}

    def _loaded(self) -> tuple[LinkingPipeline, Page]:
        """Return the pipeline and its page, or refuse the request until they are loaded."""
        if self.linking is None or self._page is None:
            raise Refused(503, _STARTING)
        return self.linking, self._page

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request, or refuse one that is incomplete or too slow."""
        try:
            return await asyncio.wait_for(request.body(), self.limits.timeout)
        except ClientDisconnect as error:
            raise Refused(CLIENT_LEFT, "The text did not arrive completely. Send it again.") from error
        except asyncio.TimeoutError as error:  # not TimeoutError, before Python 3.11
            raise Refused(408, f"The request took more than {self.limits.timeout:g} seconds to arrive.") from error

    async def _json(self, request: Request) -> Any:
        try:
            return parse_json(await self._body(request))
        except ValueError as error:
            raise Refused(400, f"Send JSON in Unicode: this is not JSON ({error}).") from error

    async def _linked(
        self, request: Request, values: Sequence[object], show: Callable[[LinkedDocument], Shown]
    ) -> list[Shown | Refused]:
        """Link texts, JSON objects, and return what `show` makes of each, or why it was refused."""
        name = f"request {request.state.request_id}"
        documents = [self._document(value, f"{name}, text {n}") for n, value in enumerate(values, start=1)]
        sound = [document for document in documents if isinstance(document, Document)]
        request.state.texts = len(sound)  # for the log
        request.state.characters = sum(len(document.text) for document in sound)
        shown: dict[str, Shown] = {}
        if sound:
            shown = await self.queue.run(partial(self._link, sound, show), request.receive())
        return [
            document
            if isinstance(document, Refused)
            else shown.get(document.position) or Refused(500, _FAILED, document.doc_id)
            for document in documents
        ]

    def _document(self, value: object, position: str) -> Document | Refused:
        try:
            document = value_document(value, "", ReadOptions("jsonl"))._replace(position=position)
        except BrokenRecord as error:
            return Refused(400, f"Send a JSON object with the key 'text': {error}.")
        if len(document.text) > self.limits.max_chars:
            return self._too_long()
        reason = fault(document.text, self._loaded()[0].nlp.max_length)
        return Refused(400, f"There is nothing to link: {reason}.") if reason else document

    def _too_long(self) -> Refused:
        return Refused(413, f"The text is too long. The server accepts at most {self.limits.max_chars:,} characters.")

    def _link(
        self, documents: Sequence[Document], show: Callable[[LinkedDocument], Shown], stop: threading.Event
    ) -> dict[str, Shown]:
        """Link documents, and return what `show` makes of each, by its position. Those that fail are left out."""
        linking, _ = self._loaded()
        shown: dict[str, Shown] = {}

        def view(item: LinkedDocument) -> Shown:
            self.metrics.count(item.mentions)
            return show(item)

        for first in range(0, len(documents), _TEXTS_AT_ONCE):
            batch = documents[first : first + _TEXTS_AT_ONCE]
            if stop.is_set():
                break
            try:
                results = linking.link(batch, view, independent=False)
            except SapbertError as error:
                linking.problems.report(batch[0].position, error)
                break
            for document, result in zip(batch, results, strict=True):
                if isinstance(result, Failure):
                    linking.problems.report(*result)
                else:
                    shown[document.position] = result
        return shown

    def _record(self, item: LinkedDocument) -> bytes:
        """Return the record as JSON, which is written here because it can be long."""
        return _to_json(self._loaded()[0].record(item))


def _to_json(value: dict[str, Any]) -> bytes:
    return bytes(JSONResponse(value).body)
