"""Protect a server and the people who use it: hosts, tokens, secret addresses, bounded requests and strict headers."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import SapbertError

CSP = "Content-Security-Policy"
OPEN_PATHS = ("/health", "/ready")
"""The paths that need no token."""
_HEADERS = {
    CSP: "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_CHALLENGES = ('Basic realm="spacy-sapbert", charset="UTF-8"', 'Bearer realm="spacy-sapbert"')
_NO_TOKEN = (
    "This server needs a token. Send it as 'Authorization: Bearer TOKEN'. A browser takes it as the password, with any "
    "user name."
)
_RETRY_AFTER = 2  # seconds


class Refused(HTTPException):
    """A request without an answer, or a text of it, with its id if it could be read."""

    def __init__(self, status: int, message: str, doc_id: str | None = None) -> None:
        super().__init__(status, message, {"Retry-After": str(_RETRY_AFTER)} if status == 503 else None)
        self.answer = {"error": message} if doc_id is None else {"id": doc_id, "error": message}


def protect(
    app: FastAPI, hosts: Sequence[str], *, max_bytes: int, token: str | None = None, secret: str | None = None
) -> None:
    """Let only those requests reach an application that may, and let browsers only show its answers.

    Args:
        app: The application. What it refuses is answered as JSON, with the key "error".
        hosts: The host names that requests may use; `["*"]` allows any. A server for this machine only must refuse
            other names. Otherwise, a page of another site could point its own name to this machine and read the answers
            (DNS rebinding).
        max_bytes: The most bytes of a request that are read.
        token: The token that requests need, except to `OPEN_PATHS`. Programs send it as a bearer token. Browsers ask
            for a user name and a password, and send it as the password.
        secret: The first part of all addresses.
    """
    for kind in (HTTPException, RequestValidationError, SapbertError):
        app.add_exception_handler(kind, _show_error)
    app.add_middleware(_Guard, hosts=list(hosts), max_bytes=max_bytes, token=token, secret=secret)


async def _show_error(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        # without the values, which JSON may not be able to hold
        keys = {".".join(map(str, fault["loc"])) for fault in error.errors()}
        error = HTTPException(422, f"The request is malformed: {sorted(keys)!a}")
    elif not isinstance(error, HTTPException):
        error = HTTPException(400, str(error))
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def page_policy(style: str, script: str = "", *, directives: str = "form-action 'none'") -> str:
    """Return a Content-Security-Policy that allows a page its own style and script, and its empty icon."""
    scripts = f"script-src {_hash(script)}; " if script else ""
    return (
        f"default-src 'none'; style-src {_hash(style)}; {scripts}img-src data:; base-uri 'none'; "
        f"frame-ancestors 'none'; {directives}"
    )


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


class _Guard:
    """Passes on the requests that may reach an application, and adds the headers of `_HEADERS` to its answers."""

    def __init__(
        self, app: ASGIApp, hosts: Sequence[str], max_bytes: int, token: str | None, secret: str | None
    ) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._token = token
        self._secret = secret
        self._checked = TrustedHostMiddleware(self._admit, allowed_hosts=hosts, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)  # a page can bring a policy of its own
            await send(message)

        await self._checked(scope, receive, send_with_headers)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read nothing of a request without the secret or the token, and no more of another one than allowed."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        path, given = scope["path"], Headers(scope=scope)
        if self._secret and not _same(path.removeprefix("/").partition("/")[0], self._secret):
            await JSONResponse({"error": "Not Found"}, 404)(scope, receive, send)
            return
        if (
            self._token
            and path not in OPEN_PATHS
            and not _same(_sent_token(given.get("Authorization", "")), self._token)
        ):
            answer = JSONResponse({"error": _NO_TOKEN}, 401)
            for challenge in _CHALLENGES:
                answer.headers.append("WWW-Authenticate", challenge)
            await answer(scope, receive, send)
            return
        length, received = int(given.get("Content-Length", 0)), 0

        async def receive_some() -> Message:
            nonlocal received
            message: Message = await receive() if length <= self._max_bytes else {}
            received += len(message.get("body", b""))
            if max(length, received) > self._max_bytes:
                raise Refused(413, f"The request is too long. The server accepts at most {self._max_bytes:,} bytes.")
            return message

        await self._app(scope, receive_some, send)


def _same(given: str | bytes, expected: str) -> bool:
    """Compare in constant time, so that the time does not show how much of a secret was right."""
    sent = given.encode("utf-8", "surrogatepass") if isinstance(given, str) else given
    return hmac.compare_digest(sent, expected.encode())


def _sent_token(header: str) -> bytes:
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode()
    if scheme.lower() != "basic":
        return b""
    try:
        return b64decode(value.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""
