"""Define the server of the demo page: the page with its form, a JSON endpoint and a health check.

The pipeline links one text after the other in its own thread, so the server can answer meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...corpora.source import BrokenRecord
from ...errors import SapbertError
from ...io.documents import InputDocument, ReadOptions, fault
from ...io.formats import InputFormat
from ...io.pipelines import LinkedDocument, LinkingPipeline
from ...io.records import record_of
from ...io.text_files import json_document
from .page import POLICY, Page

EXAMPLE = (
    "A 58-year-old woman with breast and ovarian cancer and chronic kidney disease (CKD) had a heart attack while on "
    "doxorubicin. Her CKD and high blood pressure were treated with lisinopril, and nausea with ondansetron. "
    "Acetylsalicylic acid was continued."
)
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "[")
"""The host names of this machine. Starlette before 1.8 reads an IPv6 address as the last one."""
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_BYTES_PER_CHAR = 12  # the maximum, percent-encoded in a form or escaped in JSON
_PLACE = "a request"
Shown = TypeVar("Shown")


class Refused(Exception):
    """A request without an answer from the linker.

    Args:
        status: The HTTP status of the answer.
        message: The message for the user.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def make_app(linking: LinkingPipeline, *, name: str, max_chars: int, hosts: Sequence[str] = LOCAL_HOSTS) -> Starlette:
    """Create the server of a pipeline.

    Args:
        linking: The pipeline. Its `problems` report texts on which it fails.
        name: The name of the pipeline.
        max_chars: The maximum length of a text, in characters.
        hosts: The host names that requests may use; `["*"]` allows any. A server for this machine only must refuse
            other names. Otherwise, a page of another site could point its own name to this machine and read the answers
            (DNS rebinding).

    Raises:
        SapbertError: The pipeline cannot work, for example because its encoder is missing.
    """
    site = _Site(linking, name, max_chars)
    return Starlette(
        routes=[
            Route("/", site.show_example, methods=["GET"]),
            Route("/", site.link_form, methods=["POST"]),
            Route("/link", site.link_json, methods=["POST"]),
            Route("/health", site.show_health, methods=["GET"]),
        ],
        middleware=[
            Middleware(_StrictHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        ],
    )


class _StrictHeaders:
    """Adds headers that let a browser only show an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self.app(scope, receive, send_with_headers)


class _Site:
    """The answers of the server."""

    def __init__(self, linking: LinkingPipeline, name: str, max_chars: int) -> None:
        self.linking = linking
        self.max_chars = max_chars
        self.page = Page(linking.kb, name, max_chars)
        self.health = {"status": "ok", "pipeline": name, "concepts": len(linking.kb)}
        self._worker = ThreadPoolExecutor(max_workers=1)
        # link a text now, so that the first visitor meets no delay and no missing file
        self._example = next(linking([InputDocument("", EXAMPLE, "the example")]), None)

    async def show_example(self, request: Request) -> Response:
        return HTMLResponse(self.page.render(EXAMPLE, self._example))

    async def link_form(self, request: Request) -> Response:
        text = ""
        try:
            text = _form_text(await self._body(request))
            page = await self._linked(InputDocument("", text, _PLACE), partial(self.page.render, text))
        except Refused as refused:
            return HTMLResponse(self.page.render(text, message=refused.message), refused.status)
        return HTMLResponse(page)

    async def link_json(self, request: Request) -> Response:
        try:
            record = await self._linked(_json_document(await self._body(request)), self._record)
        except Refused as refused:
            return JSONResponse({"error": refused.message}, refused.status)
        return JSONResponse(record)

    def _record(self, item: LinkedDocument) -> dict[str, Any]:
        return record_of(item, self.linking.kb, language=self.linking.display_language)

    async def show_health(self, request: Request) -> Response:
        return JSONResponse(self.health)

    async def _body(self, request: Request) -> bytes:
        """Read the body of a request, up to the maximum length.

        Raises:
            Refused: The body is too long, or incomplete.
        """
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > _BYTES_PER_CHAR * (self.max_chars + 100):
                    raise self._too_long()
        except ClientDisconnect as error:
            raise Refused(400, "The text did not arrive completely. Send it again.") from error
        return bytes(body)

    async def _linked(self, document: InputDocument, show: Callable[[LinkedDocument], Shown]) -> Shown:
        """Link a document, and return what `show` makes of it.

        Raises:
            Refused: The text is not valid, or the pipeline fails on it.
        """
        if len(document.text) > self.max_chars:
            raise self._too_long()
        reason = fault(document.text, self.linking.nlp.max_length)
        if reason:
            raise Refused(400, f"There is nothing to link: {reason}.")
        shown = await asyncio.get_running_loop().run_in_executor(self._worker, self._link, document, show)
        if shown is None:
            raise Refused(500, "The pipeline failed on this text. The terminal of the server shows the reason.")
        return shown

    def _link(self, document: InputDocument, show: Callable[[LinkedDocument], Shown]) -> Shown | None:
        try:
            # the memory of new words is freed when the document has been shown
            with closing(self.linking([document], short_lived=True)) as linked:
                return next(map(show, linked), None)
        except SapbertError as error:
            self.linking.problems.report(document.place, error)
            return None

    def _too_long(self) -> Refused:
        return Refused(413, f"The text is too long. The server accepts at most {self.max_chars:,} characters.")


def _form_text(body: bytes) -> str:
    """Return the text of the form, with the line ends of the text area; empty if there is no text."""
    texts = parse_qs(body.decode(errors="replace")).get("text", [""])
    return texts[0].replace("\r\n", "\n")


def _json_document(body: bytes) -> InputDocument:
    """Read a document from a JSON object.

    Raises:
        Refused: The body is not a JSON object with a text.
    """
    try:
        return json_document(body, "", _PLACE, ReadOptions(InputFormat.jsonl))
    except BrokenRecord as reason:
        raise Refused(400, f"Send a JSON object with the key 'text': {reason}.") from reason
