"""Download a vocabulary file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import Errors, SapbertError
from ..files.opening import open_unpacked

TIMEOUT = 60.0
"""How many seconds a server may be silent."""
PAUSE = 1.0
"""Seconds before the second try, if a server is busy. The pause doubles with each further one."""

_TRIES = 4
_BUSY = (429, 500, 502, 503, 504)
_BLOCK = 1 << 18
_PAGES = (b"<!doctype html", b"<html")
_NESTED = 5  # causes of an error


def download(
    address: str, path: Path, *, home: str = "", progress: Callable[[int, int], object] = lambda done, total: None
) -> dict[str, Any]:
    """Download a file. Proxies are those of the environment variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY.

    Args:
        address: The address, with https or http.
        home: The page of the provider, for error messages.
        progress: Called with the number of bytes so far, and their total; 0 if the server does not report it.

    Returns:
        What a knowledge base records: the address, when it was "downloaded" in UTC, and the version that the server
        states ("etag", "last_modified"), if any.

    Raises:
        SapbertError: E112 if there is no connection, the server refuses, the download is cut off, or the address
            redirects to one without encryption.
    """
    import requests
    from requests.adapters import HTTPAdapter, Retry

    def failed(reason: str) -> SapbertError:
        return SapbertError(Errors.E112.format(address=address, reason=reason, home=home or address, file=path.name))

    retry = Retry(_TRIES - 1, connect=0, backoff_factor=PAUSE, status_forcelist=_BUSY, raise_on_status=False)
    session = requests.Session()
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry))
    # identity: the size counts the bytes of the file
    settings: dict[str, Any] = {"headers": {"Accept-Encoding": "identity"}, "stream": True, "timeout": TIMEOUT}
    try:
        with session, session.get(address, **settings) as response:
            hops = [*(hop.url for hop in response.history), response.url]
            if address.startswith("https:") and not all(hop.startswith("https:") for hop in hops):
                raise failed(f"it redirects to {response.url}, which is not encrypted")
            if not response.ok:
                raise failed(f"the server answered {response.status_code} {response.reason}")
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else 0
            with path.open("wb") as file:
                for block in response.iter_content(_BLOCK):
                    file.write(block)
                    progress(file.tell(), total)
    except requests.RequestException as error:
        raise failed(_cause(error)) from error
    origin = {"downloaded": datetime.now(timezone.utc).isoformat(timespec="seconds")}
    origin |= {"etag": response.headers.get("ETag"), "last_modified": response.headers.get("Last-Modified")}
    return {"address": address, **{name: value for name, value in origin.items() if value}}


def is_web_page(path: Path) -> bool:
    """Return whether a file, gzipped or not, is a web page, as servers send it in place of a file."""
    with open_unpacked(path) as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_PAGES)


def _cause(error: BaseException) -> str:
    """Return the innermost cause, since the outer ones repeat the address and name objects of Python."""
    for _ in range(_NESTED):
        inner = getattr(error, "reason", None) or error.__context__ or next(iter(error.args), None)
        if not isinstance(inner, BaseException):
            break
        error = inner
    return getattr(error, "strerror", None) or str(error)
