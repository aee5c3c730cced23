"""Download the files of a vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console

from ..errors import Errors, MismatchError, NotFoundError, SapbertError
from ..files.console import progress_callback
from ..files.opening import open_unpacked, sha256_of
from .recipe import LATEST, File, Recipe, release_in

TIMEOUT = 60.0
"""How many seconds a server may be silent."""
PAUSE = 1.0
"""Seconds before the second try, if a server is busy. The pause doubles with each further one."""

_MEGABYTE = 10**6
_TRIES = 4
_BUSY = (429, 500, 502, 503, 504)
_BLOCK = 1 << 18
_PAGES = (b"<!doctype html", b"<html")
_NESTED = 5  # causes of an error


def fetch(
    recipe: Recipe, folder: Path, kept: Path, console: Console, mirror: str | None = None
) -> tuple[Recipe, dict[str, Any]]:
    """Download the files of a recipe, and return it with their paths, and what a knowledge base records of them.

    Args:
        folder: A temporary folder, in which downloads are checked.
        kept: The folder in which they stay.
        console: Gets the progress.
        mirror: A folder or an address that has the files, under the same names.

    Raises:
        SapbertError: See `download`.
        NotFoundError: The mirror lacks a file.
        MismatchError: A file is of another release.
    """
    sources: list[File] = []
    origin: dict[str, Any] = {}
    for source in recipe.sources:
        path = source.path
        if source.address:
            path, origin = _fetch(source, recipe, mirror, folder, kept, console)
        sources.append(replace(source, path=path))
    release = release_in(sources[0].path) if recipe.release == LATEST else recipe.release
    return replace(recipe, sources=sources, release=release), origin


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


def _fetch(
    source: File, recipe: Recipe, mirror: str | None, folder: Path, kept: Path, console: Console
) -> tuple[Path, dict[str, Any]]:
    """Return the file of a source, and what a knowledge base records of its origin.

    A download is checked in `folder`, and then moved to `kept`.
    """
    name = source.path.name
    if mirror and not mirror.lower().startswith(("http://", "https://")):
        plain = name.removesuffix(".gz")
        paths = [path for end in (name, plain, f"{plain}.gz") if (path := Path(mirror) / end).is_file()]
        if not paths:
            remedy = f"Save it there from {source.address}, under this name."
            raise NotFoundError(what=f"file {name} in {mirror}, gzipped or not", remedy=remedy)
        _check(paths[0], source, recipe)
        return paths[0], {}
    address = f"{mirror.rstrip('/')}/{name}" if mirror else source.address
    console.print(f"Downloading {address}" + (f", about {recipe.size:g} MB." if recipe.size else "."))
    with progress_callback(console, "MB") as update:
        origin = download(
            address,
            folder / name,
            home=recipe.home,
            progress=lambda done, total: update(done // _MEGABYTE, total // _MEGABYTE),
        )
    _check(folder / name, source, recipe)
    return (folder / name).replace(kept / name), origin


def _check(path: Path, source: File, recipe: Recipe) -> None:
    """Check that a file is what the recipe says: no web page, no other release, and not damaged."""
    if is_web_page(path):
        reason = "it is a web page; the provider may want a login, or refuse programs"
        home, address = recipe.home or source.address, source.address
        raise SapbertError(Errors.E112.format(address=address, reason=reason, home=home, file=source.path.name))
    sha256 = sha256_of(path, unpacked=True)  # it also finds damaged gzip data
    if sha256 != (source.sha256 or sha256):
        reason = (
            f"it is not the release {recipe.release} of {recipe.name}: its SHA-256 is {sha256}, not {source.sha256}"
        )
        remedy = "Download it again. To use another release, give the file to `spacy-sapbert kb build`."
        raise MismatchError(path=path, reason=reason, remedy=remedy)


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
