"""A collection of name vectors in a Qdrant database: where it is, how it is opened, what it says of itself."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from ..errors import Errors, SapbertError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

FOLDER_PREFIX = "qdrant:"
URL_PREFIXES = ("http://", "https://")
COLLECTION = "spacy-sapbert"
"""The collection where none is named."""
API_KEY = "QDRANT_API_KEY"
"""The environment variable with the key of a server: it is never part of a setting, and so never saved."""
NAME, CONCEPT = "name", "concept"
"""The vectors of a collection: a point has one of them."""
ABOUT_ID = "00000000-0000-0000-0000-000000000000"
"""The point that says what the collection is; it has no vector, so that no search finds it."""

POINTS_PER_BATCH = 500
SECONDS = 60  # that the database may take for an answer
_FOLDER_FILE = "meta.json"  # of a database that the client keeps

_open: WeakValueDictionary[tuple[int, str], QdrantClient] = WeakValueDictionary()
_lock = threading.Lock()


class Address(NamedTuple):
    """Where a collection is.

    Attributes:
        location: the URL of a server, or the folder of a database that the client itself keeps.
    """

    location: str
    collection: str = COLLECTION

    @classmethod
    def parse(cls, index: str) -> Address:
        """
        Args:
            index: a setting: `qdrant:FOLDER` or a URL, and after `#` the collection if it is another.
        """
        location, _, collection = index.removeprefix(FOLDER_PREFIX).partition("#")
        return cls(location, collection or COLLECTION)

    @property
    def is_url(self) -> bool:
        return self.location.startswith(URL_PREFIXES)

    def __str__(self) -> str:
        """Return the setting."""
        return f"{'' if self.is_url else FOLDER_PREFIX}{self.location}#{self.collection}"


def is_address(index: str) -> bool:
    """Whether the setting of an index names a database."""
    return index.startswith((FOLDER_PREFIX, *URL_PREFIXES))


class About(NamedTuple):
    """What a collection says of itself.

    Attributes:
        kb: fingerprints of what it was made of.
        encoder: fingerprints of what it was made of.
        names: how many points of each kind it has; with points of concepts, names are found through them.
        concepts: see `names`.
        longest: the length of the longest vector of a name.
        complete: whether the upload came to its end.
    """

    kb: str
    encoder: str
    dim: int
    names: int
    concepts: int
    longest: float
    complete: bool


class Collection:
    """A collection at an address. Each process connects to it by itself, at the first use."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.name = address.collection
        self._clients: dict[int, QdrantClient] = {}

    @contextmanager
    def asking(self) -> Iterator[QdrantClient]:
        """Use the database.

        Raises:
            SapbertError: E325 it does not answer, or not to us; E329 the folder is in use; E542 no client is here.
        """
        process = os.getpid()
        if process not in self._clients:  # a child must not use its parent's connection, nor close it
            self._clients[process] = _connect(self.address)
        from qdrant_client.http.exceptions import ApiException

        try:
            yield self._clients[process]
        except ApiException as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SapbertError(Errors.E325.format(address=self.address, reason=reason, key=API_KEY)) from error

    def exists(self) -> bool:
        if not self.address.is_url and not (Path(self.address.location) / _FOLDER_FILE).is_file():
            return False  # the client would make a folder to look into
        with self.asking() as client:
            return bool(client.collection_exists(self.name))

    def about(self) -> About | None:
        """Return None where the collection was not made by an upload."""
        with self.asking() as client:
            found = client.retrieve(self.name, [ABOUT_ID])
        payload = (found[0].payload or {}) if found else {}
        return About(**payload) if payload.keys() == set(About._fields) else None

    def count(self) -> int:
        """Return the number of points, but for the one that tells of the collection."""
        with self.asking() as client:
            return int(client.count(self.name, exact=True).count) - 1

    def vectors(self, ids: Sequence[int]) -> dict[int, Sequence[float]]:
        """Return vectors of names by the ids of their points; none for ids not there."""
        found: dict[int, Sequence[float]] = {}
        for start in range(0, len(ids), POINTS_PER_BATCH):
            batch = ids[start : start + POINTS_PER_BATCH]
            with self.asking() as client:
                records = client.retrieve(self.name, batch, with_payload=False, with_vectors=[NAME])
            found.update((record.id, record.vector[NAME]) for record in records)
        return found


def _connect(address: Address) -> QdrantClient:
    """Open a database, or take the connection that this process has: a folder can be opened only once."""
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise SapbertError(Errors.E542.format(module="qdrant_client", extra="qdrant")) from error
    place = os.getpid(), address.location if address.is_url else os.path.abspath(address.location)
    with _lock:
        client = _open.get(place)
        try:
            client = client or QdrantClient(**_connection(address), timeout=SECONDS)
        except RuntimeError as error:  # so the client says it
            raise SapbertError(Errors.E329.format(folder=address.location)) from error
        _open[place] = client
    return client


def _connection(address: Address) -> dict[str, Any]:
    if address.is_url:
        return {"url": address.location, "api_key": os.environ.get(API_KEY), "check_compatibility": False}
    return {"path": address.location}
