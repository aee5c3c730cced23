"""Name vectors in a Qdrant database, which searches them: the address and the collection, and its use as an index."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ..errors import Errors, SapbertError, requiring
from ..kb.knowledge_base import KnowledgeBase
from .database import POINTS_PER_BATCH, About, DatabaseVectors

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from ..encoders.encoder import Encoder
    from ..kb.filters import Filter, FilterMask


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


class Collection:
    """A collection at an address. Each process connects at the first use."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.target = f"{address.location}#{address.collection}"
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
        return About.read((found[0].payload or {}) if found else {})

    def count(self) -> int:
        """Return the number of points, without the one that describes the collection."""
        with self.asking() as client:
            return int(client.count(self.name, exact=True).count) - 1

    def described(self) -> tuple[About | None, int] | None:
        """Return the description and the number of points, or None if the collection does not exist."""
        return (self.about(), self.count()) if self.exists() else None

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
    with requiring("qdrant", "A Qdrant database"):
        from qdrant_client import QdrantClient
    key = os.getpid(), address.location if address.is_url else os.path.abspath(address.location)
    with _lock:
        client = _open.get(key)
        where: dict[str, Any] = {"path": address.location}
        if address.is_url:
            where = {"url": address.location, "api_key": os.environ.get(API_KEY), "check_compatibility": False}
        try:
            client = client or QdrantClient(**where, timeout=SECONDS)
        except RuntimeError as error:  # the client reports a locked folder like this
            raise SapbertError(Errors.E329.format(folder=address.location)) from error
        _open[key] = client
    return client


class QdrantVectors(DatabaseVectors):
    """Find names in a Qdrant database. See `DatabaseVectors`.

    Args:
        address: The address of a collection that `qdrant_upload.upload` made from this knowledge base and encoder. If
            it has points of concepts, names are found through the points of their concepts.
    """

    def __init__(self, address: Address, kb: KnowledgeBase, encoder: Encoder) -> None:
        super().__init__(Collection(address), kb, encoder)

    def nearest(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        from qdrant_client.models import QueryRequest

        collection, of_concepts = self._collection, self._about.concepts > 0
        assert isinstance(collection, Collection)
        requests = [
            QueryRequest(
                query=query.tolist(),
                using=CONCEPT if of_concepts else NAME,
                filter=_condition(mask.filter, of_concepts) if mask else None,
                limit=n,
                with_payload=[CONCEPT] if of_concepts else False,
            )
            for query in queries
        ]
        with collection.asking() as client:
            answers = client.query_batch_points(collection.name, requests)
        products = np.full((len(queries), n), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), n), -1, dtype=np.int64)
        for i, answer in enumerate(answers):
            found = self._rows_of_concepts(answer.points, mask) if of_concepts else self._rows_of_names(answer.points)
            some = dict(list(found.items())[:n])
            rows[i, : len(some)], products[i, : len(some)] = list(some), list(some.values())
        return products, rows

    def _rows_of_names(self, points: Sequence[Any]) -> dict[int, float]:
        rows = self._known_ids.find(np.array([point.id for point in points], dtype=np.uint64))
        return {int(row): point.score for row, point in zip(rows, points, strict=True) if row >= 0}

    def _rows_of_concepts(self, points: Sequence[Any], mask: FilterMask | None) -> dict[int, float]:
        """Return the rows of the names of concepts, each with the similarity of its nearest concept."""
        found: dict[int, float] = {}
        for point in points:
            rows = self._kb.name_rows(point.payload[CONCEPT])
            for row in rows if mask is None else np.intersect1d(rows, mask.rows).tolist():
                found.setdefault(row, point.score)
        return found


def _condition(filter: Filter, of_concepts: bool) -> Any:
    """Return a filter of Qdrant. One concept of the name must have both the type and the source."""
    from qdrant_client import models

    must: list[Any] = [
        models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
        for key, values in filter._asdict().items()
        if values
    ]
    condition = models.Filter(must=must)
    if of_concepts:
        return condition
    return models.Filter(must=[models.NestedCondition(nested=models.Nested(key="owners", filter=condition))])
