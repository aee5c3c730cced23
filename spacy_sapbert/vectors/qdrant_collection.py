"""A collection of name vectors in a Qdrant database: its address, its connection and its description."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from ..errors import Errors, MissingExtraError, SapbertError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

FOLDER_PREFIX = "qdrant:"
URL_PREFIXES = ("http://", "https://")
COLLECTION = "spacy-sapbert"
"""The default collection."""
API_KEY = "QDRANT_API_KEY"
"""The environment variable with the key of a server. The key is never a setting, so it is never saved."""
NAME, CONCEPT = "name", "concept"
"""The named vectors of a collection. A point has one of them."""
ABOUT_ID = "00000000-0000-0000-0000-000000000000"
"""The point that describes the collection. It has no vector, so that no search finds it."""

POINTS_PER_BATCH = 500
SECONDS = 60  # timeout of the database
_FOLDER_FILE = "meta.json"  # in the folder of a local database

_open: WeakValueDictionary[tuple[int, str], QdrantClient] = WeakValueDictionary()
_lock = threading.Lock()


class Address(NamedTuple):
    """The address of a collection.

    Attributes:
        location: The URL of a server, or the folder of a local database.
        collection: The name of the collection.
    """

    location: str
    collection: str = COLLECTION

    @classmethod
    def parse(cls, index: str) -> Address:
        """Parse the setting of an index.

        Args:
            index: `qdrant:FOLDER` or a URL, optionally with `#` and the name of the collection.
        """
        location, _, collection = index.removeprefix(FOLDER_PREFIX).partition("#")
        return cls(location, collection or COLLECTION)

    @property
    def is_url(self) -> bool:
        """Whether the location is the URL of a server."""
        return self.location.startswith(URL_PREFIXES)

    def __str__(self) -> str:
        """Return the setting of the index."""
        return f"{'' if self.is_url else FOLDER_PREFIX}{self.location}#{self.collection}"


def is_address(index: str) -> bool:
    """Return whether the setting of an index is the address of a database."""
    return index.startswith((FOLDER_PREFIX, *URL_PREFIXES))


class About(NamedTuple):
    """The description of a collection.

    Attributes:
        kb: Fingerprint of the knowledge base.
        encoder: Fingerprint of the encoder.
        dim: Dimension of the vectors.
        names: Number of points of names.
        concepts: Number of points of concepts. If there are any, names are found through them.
        longest: The length of the longest vector of a name.
        complete: Whether the upload is complete.
    """

    kb: str
    encoder: str
    dim: int
    names: int
    concepts: int
    longest: float
    complete: bool


class Collection:
    """A collection at an address. Each process connects at the first use."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.name = address.collection
        self._clients: dict[int, QdrantClient] = {}

    @contextmanager
    def asking(self) -> Iterator[QdrantClient]:
        """Give a connection to the database."""
        process = os.getpid()
        if process not in self._clients:  # a child process must neither use nor close its parent's connection
            self._clients[process] = _connect(self.address)
        from qdrant_client.http.exceptions import ApiException

        try:
            yield self._clients[process]
        except ApiException as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SapbertError(Errors.E325.format(address=self.address, reason=reason, key=API_KEY)) from error

    def exists(self) -> bool:
        """Return whether the collection exists."""
        if not self.address.is_url and not (Path(self.address.location) / _FOLDER_FILE).is_file():
            return False  # asking the client would make the folder
        with self.asking() as client:
            return bool(client.collection_exists(self.name))

    def about(self) -> About | None:
        """Return the description, or None if the collection was not made by an upload."""
        with self.asking() as client:
            found = client.retrieve(self.name, [ABOUT_ID])
        payload = (found[0].payload or {}) if found else {}
        return About(**payload) if payload.keys() == set(About._fields) else None

    def count(self) -> int:
        """Return the number of points, without the one that describes the collection."""
        with self.asking() as client:
            return int(client.count(self.name, exact=True).count) - 1

    def vectors(self, ids: Sequence[int]) -> dict[int, Sequence[float]]:
        """Return vectors of names by the ids of their points. Missing ids are left out."""
        found: dict[int, Sequence[float]] = {}
        for start in range(0, len(ids), POINTS_PER_BATCH):
            batch = ids[start : start + POINTS_PER_BATCH]
            with self.asking() as client:
                records = client.retrieve(self.name, batch, with_payload=False, with_vectors=[NAME])
            found.update((record.id, record.vector[NAME]) for record in records)
        return found


def _connect(address: Address) -> QdrantClient:
    """Connect to a database, or reuse the connection of this process, since a folder can be opened only once."""
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise MissingExtraError(what="A Qdrant database", package="qdrant_client", extra="qdrant") from error
    place = os.getpid(), address.location if address.is_url else os.path.abspath(address.location)
    with _lock:
        client = _open.get(place)
        try:
            client = client or QdrantClient(**_connection(address), timeout=SECONDS)
        except RuntimeError as error:  # the client reports a locked folder like this
            raise SapbertError(Errors.E329.format(folder=address.location)) from error
        _open[place] = client
    return client


def _connection(address: Address) -> dict[str, Any]:
    if address.is_url:
        return {"url": address.location, "api_key": os.environ.get(API_KEY), "check_compatibility": False}
    return {"path": address.location}
