"""Protect a server and the people who use it: strict headers, a check of the host name, and a token."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSP = "Content-Security-Policy"
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


def page_policy(style: str, script: str = "", *, directives: str = "form-action 'none'") -> str:
    """Return a Content-Security-Policy that allows a page its own style and script, and its empty icon."""
    scripts = f"script-src {_hash(script)}; " if script else ""
    return (
        f"default-src 'none'; style-src {_hash(style)}; {scripts}img-src data:; base-uri 'none'; "
        f"frame-ancestors 'none'; {directives}"
    )


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


class StrictHeaders:
    """Adds headers that let a browser only show an answer. A page can bring a policy of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)


class TokenCheck:
    """Refuses requests without the token, except to some open paths.

    Programs send it as a bearer token. Browsers ask for a user name and a password, and send it as the password.
    """

    def __init__(self, app: ASGIApp, token: str, open_paths: Collection[str]) -> None:
        self.app = app
        self._token = token.encode()
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._open_paths or self._allows(scope):
            await self.app(scope, receive, send)
            return
        answer = JSONResponse({"error": _NO_TOKEN}, 401)
        for challenge in _CHALLENGES:
            answer.headers.append("WWW-Authenticate", challenge)
        await answer(scope, receive, send)

    def _allows(self, scope: Scope) -> bool:
        # in constant time, so that the time does not show how much of the token was right
        return hmac.compare_digest(_sent_token(Headers(scope=scope).get("Authorization", "")), self._token)


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


class BodyLimit:
    """Reads no more of a request than a number of bytes. For the application, a client that sends more has left."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0

        async def receive_some() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            return message if received <= self._max_bytes else {"type": "http.disconnect"}

        await self.app(scope, receive_some, send)
