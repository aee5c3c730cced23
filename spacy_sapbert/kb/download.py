"""Download a vocabulary file: resume it, check its size, and refuse a web page or an unencrypted address."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from ..errors import Errors, SapbertError
from ..files.opening import open_unpacked
from ..files.output import open_output
from ..files.values import parse_int, parse_json

if TYPE_CHECKING:
    from requests import Response, Session

TIMEOUT = 60.0
"""How many seconds a server may be silent."""
TRIES = 5
"""How often a download is tried. A try that brought new bytes does not count."""
PAUSE = 1.0
"""Seconds before the second try. The pause grows with each further one."""

_BLOCK = 1 << 18
_HEAD = 1024
_MAX_REDIRECTS = 10
_BUSY = frozenset({429, 500, 502, 503, 504})
_GZIP_MAGIC = b"\x1f\x8b"
_PAGES = (b"<!doctype html", b"<html")
_PAGE_TYPES = ("text/html", "application/xhtml+xml")

Progress = Callable[[int, int], object]
"""Called with the number of bytes so far, and their total; 0 if the server does not tell."""


@dataclass(frozen=True)
class Origin:
    """Where a file comes from.

    Attributes:
        address: The address that was asked for.
        hosts: Other hosts to which it redirected, in order.
        downloaded: When the download began, as an ISO date and time in UTC.
        etag: The version that the server states.
        last_modified: The date of the file that the server states.
    """

    address: str
    hosts: tuple[str, ...] = ()
    downloaded: str = ""
    etag: str | None = None
    last_modified: str | None = None


class _Failed(Exception):
    """A try failed, and another may succeed."""


def download(
    address: str,
    path: Path,
    *,
    home: str = "",
    timeout: float = TIMEOUT,
    progress: Progress = lambda done, total: None,
) -> Origin:
    """Download a file, or go on with a download that was interrupted.

    A file that is complete is downloaded again only if the server has another version. Proxies are those of the
    environment variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY.

    Args:
        address: The address, with https or http.
        path: The file to write. Its folder also keeps the unfinished file and a note on its version.
        home: The page of the provider, for error messages.
        timeout: How many seconds the server may be silent.
        progress: Shows the progress.

    Raises:
        SapbertError: E112 there is no connection; E113 the server refuses; E114 it sends a web page; E115 the download
            was cut off; E117 it redirects to an address without encryption, or in a circle; E118 the disk is full.
    """
    import requests

    transfer = _Transfer(address, path, home or address, timeout, progress)
    with requests.Session() as session:
        failures = 0
        while True:
            before = transfer.size
            try:
                return transfer.run(session)
            except _Failed as failed:
                failures = 1 if transfer.size > before else failures + 1
                if failures >= TRIES or not transfer.answered:
                    raise transfer.error(str(failed)) from failed
                sleep(PAUSE * failures)
            except OSError as error:
                raise SapbertError(Errors.E118.format(path=path, reason=error.strerror or error)) from error


class _Transfer:
    """The download of one file, with what earlier tries left.

    Attributes:
        answered: Whether the server answered at all.
    """

    def __init__(self, address: str, path: Path, home: str, timeout: float, progress: Progress) -> None:
        self._address = address
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._note = path.with_name(f"{path.name}.json")
        self._home = home
        self._timeout = timeout
        self._progress = progress
        self.answered = False

    @property
    def size(self) -> int:
        """The number of bytes that are there."""
        return self._part.stat().st_size if self._part.is_file() else 0

    def error(self, reason: str) -> SapbertError:
        """Return the error for a download that failed too often."""
        if self.size:
            return SapbertError(Errors.E115.format(address=self._address, done=f"{self.size:,}", reason=reason))
        return SapbertError(Errors.E112.format(address=self._address, reason=reason, file=self._path.name))

    def run(self, session: Session) -> Origin:
        """Try once to get the rest of the file.

        Raises:
            _Failed: Another try may succeed.
            OSError: The file cannot be written.
            SapbertError: E113, E114, E117 or E118; see `download`.
        """
        from requests import RequestException
        from urllib3.exceptions import HTTPError

        self._path.parent.mkdir(parents=True, exist_ok=True)
        known = self._known()
        try:
            response, hosts = self._open(session, _conditions(known, self.size, self._path.is_file()))
            with response:
                if response.status_code == 304 and known:
                    return known
                if response.status_code == 416:  # the unfinished file is longer than the file
                    self._part.unlink(missing_ok=True)
                    raise _Failed("the size of the file changed")
                self._check_status(response)
                origin = _origin(self._address, hosts, response)
                self._receive(response, origin)
                return origin
        except (RequestException, HTTPError) as error:  # RequestException is an OSError
            raise _Failed(_reason(error)) from error

    def _known(self) -> Origin | None:
        """Return the note on the file or its beginning; None if there is none, or for another address."""
        try:
            noted: dict[str, Any] = parse_json(self._note.read_text(encoding="utf-8"))
            known = Origin(**{**noted, "hosts": tuple(noted["hosts"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return known if known.address == self._address else None

    def _open(self, session: Session, headers: dict[str, str]) -> tuple[Response, tuple[str, ...]]:
        """Follow redirects, and return the answer and the other hosts."""
        # identity: the size and the place to go on count the bytes of the file
        headers = {"Accept-Encoding": "identity", **headers}
        address, hosts = self._address, {urlsplit(self._address).hostname or "": None}
        for _ in range(_MAX_REDIRECTS):
            response = session.get(address, headers=headers, stream=True, timeout=self._timeout, allow_redirects=False)
            self.answered = True
            target = session.get_redirect_target(response)
            if target is None:
                return response, tuple(hosts)[1:]
            response.close()
            target = urljoin(address, target)
            if urlsplit(address).scheme == "https" and urlsplit(target).scheme != "https":
                raise self._bad_redirect(target, "which is not encrypted")
            address = target
            hosts[urlsplit(address).hostname or ""] = None
        raise self._bad_redirect(address, f"after {_MAX_REDIRECTS} redirects")

    def _bad_redirect(self, target: str, reason: str) -> SapbertError:
        message = Errors.E117.format(address=self._address, target=target, reason=reason, file=self._path.name)
        return SapbertError(message)

    def _check_status(self, response: Response) -> None:
        if response.status_code in _BUSY:
            raise _Failed(f"the server answered {response.status_code} {response.reason}")
        if response.status_code not in (200, 206):
            status = f"{response.status_code} {response.reason}"
            message = Errors.E113.format(address=self._address, status=status, home=self._home, file=self._path.name)
            raise SapbertError(message)

    def _receive(self, response: Response, origin: Origin) -> None:
        """Write the body to the unfinished file, and rename it when it is complete."""
        start, total = 0, _number(response.headers.get("Content-Length"))
        if response.status_code == 206:
            start, total = _content_range(response.headers.get("Content-Range", ""))
            if start != self.size:
                self._part.unlink(missing_ok=True)
                raise _Failed("the server sent another part of the file")
        blocks = response.raw.stream(_BLOCK, decode_content=False)
        first = next(blocks, b"")
        if not start and _is_page(response, first):
            raise SapbertError(Errors.E114.format(address=self._address, home=self._home, file=self._path.name))
        self._check_space(total - start)
        if not start:  # neither an old file nor an old beginning may seem to belong to the new note
            self._part.unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
        with open_output(self._note) as write:
            write(json.dumps(asdict(origin)))
        with self._part.open("ab" if start else "wb") as file:
            while first:
                file.write(first)
                start += len(first)
                self._progress(start, total)
                first = next(blocks, b"")
        if total and start != total:
            raise _Failed(f"{start:,} of {total:,} bytes came")
        os.replace(self._part, self._path)

    def _check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._path.parent).free
        if needed > free:
            reason = f"it needs {needed:,} bytes, and {free:,} are free"
            raise SapbertError(Errors.E118.format(path=self._path, reason=reason))


def is_web_page(path: Path) -> bool:
    """Return whether a file is a web page, as servers send it in place of a file."""
    with path.open("rb") as file:
        return _starts_page(file.read(_HEAD))


def sha256_unpacked(path: Path) -> str:
    """Return the SHA-256 of a file, unpacked if it is gzipped.

    Raises:
        SapbertError: E120 the file cannot be read; E121 its gzip data is damaged or cut off.
    """
    digest = sha256()
    with open_unpacked(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _conditions(known: Origin | None, size: int, complete: bool) -> dict[str, str]:
    """Return the headers that ask for the rest of a file, or for a newer version of it."""
    if known is None:
        return {}
    strong = known.etag if known.etag and not known.etag.startswith("W/") else None
    if size and (strong or known.last_modified):
        return {"Range": f"bytes={size}-", "If-Range": strong or known.last_modified or ""}
    if not complete or size:
        return {}
    headers = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in headers.items() if value}


def _origin(address: str, hosts: tuple[str, ...], response: Response) -> Origin:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Origin(address, hosts, now, response.headers.get("ETag"), response.headers.get("Last-Modified"))


def _number(text: str | None) -> int:
    """Return a number of bytes; 0 if the server states none."""
    try:
        return max(0, parse_int(text or ""))
    except ValueError:
        return 0


def _content_range(text: str) -> tuple[int, int]:
    """Return the start and the total of a `Content-Range` such as `bytes 100-199/200`; -1 for a start that it lacks."""
    part, _, total = text.partition("/")
    start = part.strip().removeprefix("bytes").strip().partition("-")[0]
    return (_number(start) if start.isdecimal() else -1), _number(total)


def _is_page(response: Response, head: bytes) -> bool:
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return _starts_page(head) or (kind in _PAGE_TYPES and head.lstrip().startswith(b"<"))


def _starts_page(head: bytes) -> bool:
    if head.startswith(_GZIP_MAGIC):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, _HEAD)
        except zlib.error:
            return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_PAGES)


def _reason(error: Exception) -> str:
    """Return the innermost cause, since the outer ones repeat the address and name objects of Python."""
    cause: BaseException = error
    for _ in range(_MAX_REDIRECTS):
        inner = getattr(cause, "reason", None) or cause.__context__ or next(iter(cause.args), None)
        if not isinstance(inner, BaseException):
            break
        cause = inner
    return getattr(cause, "strerror", None) or str(cause)
