"""Name vectors in a Qdrant database: how they are uploaded, and searched as an index."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5
from weakref import WeakValueDictionary

import numpy as np

from ..errors import Errors, MismatchError, SapbertError, requiring
from ..files.values import hash64
from ..kb.knowledge_base import KnowledgeBase
from .database import POINTS_PER_BATCH, About, DatabaseVectors, NameRow, name_ids, name_rows, types_of, uploaded_names
from .flat import NameVectors, Progress

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import PointStruct

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

_open: WeakValueDictionary[tuple[int, str], QdrantClient] = WeakValueDictionary()
_lock = threading.Lock()
_FIELDS = ("owners[].types", "owners[].sources", "types", "sources")
"""The fields that filters use."""


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
        if not self.address.is_url and not (Path(self.address.location) / "meta.json").is_file():
            return False  # asking the client would make the folder
        with self.asking() as client:
            return bool(client.collection_exists(self.name))

    def about(self) -> About | None:
        """Return the description, or None if the collection was not made by an upload."""
        with self.asking() as client:
            found = client.retrieve(self.name, [ABOUT_ID])
        return About.read((found[0].payload or {}) if found else {})

    def described(self) -> tuple[About | None, int] | None:
        """Return the description and the number of other points, or None if the collection does not exist."""
        if not self.exists():
            return None
        with self.asking() as client:
            return self.about(), int(client.count(self.name, exact=True).count) - 1

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
        address: The address of a collection that `upload` made from this knowledge base and encoder. If
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


# --- upload


def upload(
    kb: KnowledgeBase,
    vectors: NameVectors,
    address: Address,
    *,
    centroids: bool = False,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Make a collection hold a knowledge base.

    It adds and changes points that differ, and removes points of other names. An interrupted upload continues where it
    stopped. Nothing links with the collection until the upload is complete. Vectors of another encoder are all
    replaced.

    Args:
        centroids: Whether to give each concept a point as well: the mean of its names' vectors, scaled to unit length
            (as in kg-aligned-entity-linker). The linker then finds the nearest concepts, and scores their names.
        progress: Called with the number of points done and the number of all points.

    Returns:
        The number of points "added", "changed", "unchanged" and "removed".
    """
    collection = Collection(address)
    counts = Counter(dict.fromkeys(("added", "changed", "unchanged", "removed"), 0))
    about = About.of(kb, vectors, concepts=len(kb) if centroids else 0)
    _prepare(collection, about)
    done = 0
    for points in _points(kb, vectors, centroids=centroids):
        counts.update(_upload_points(collection, points))
        done += len(points)
        if progress:
            progress(done, about.names + about.concepts)
    counts["removed"] = _remove_others(collection, kb, centroids=centroids)
    _write_about(collection, about._replace(complete=True))
    return dict(counts)


def _prepare(collection: Collection, about: About) -> None:
    """Make an empty collection, or keep one with vectors of the same encoder."""
    from qdrant_client import models

    if collection.exists():
        before = collection.about()
        if before is None:
            remedy = "Choose another name after #, or delete the collection."
            raise MismatchError(remedy, path=str(collection.address), reason="the collection was not made by an upload")
        if before.encoder != about.encoder:
            with collection.asking() as client:
                client.delete_collection(collection.name)
    if not collection.exists():
        size = models.VectorParams(size=about.dim, distance=models.Distance.DOT)
        with collection.asking() as client:
            client.create_collection(collection.name, vectors_config={NAME: size, CONCEPT: size})
            if collection.address.is_url:  # a local database has no such indexes
                for field in _FIELDS:
                    client.create_payload_index(collection.name, field, models.PayloadSchemaType.KEYWORD)
    _write_about(collection, about)


def _write_about(collection: Collection, about: About) -> None:
    from qdrant_client.models import PointStruct

    with collection.asking() as client:
        client.upsert(collection.name, [PointStruct(id=ABOUT_ID, vector={}, payload=about._asdict())])


def _upload_points(collection: Collection, points: list[PointStruct]) -> Counter[str]:
    """Return how many points were added, changed or unchanged."""
    with collection.asking() as client:
        there = {record.id: record.payload for record in client.retrieve(collection.name, [p.id for p in points])}
        differing = [point for point in points if there.get(point.id) != point.payload]
        if differing:
            client.upsert(collection.name, differing)
    added = len(points) - len(there)
    return Counter(added=added, changed=len(differing) - added, unchanged=len(points) - len(differing))


def _remove_others(collection: Collection, kb: KnowledgeBase, *, centroids: bool) -> int:
    """Remove points of names or concepts that the knowledge base does not have, and return their number."""
    expected = {ABOUT_ID, *name_ids(kb).tolist(), *(map(concept_point, kb.concept_ids()) if centroids else ())}
    removed, offset = 0, None
    with collection.asking() as client:
        while True:
            records, offset = client.scroll(
                collection.name, limit=10 * POINTS_PER_BATCH, offset=offset, with_payload=False, with_vectors=False
            )
            gone = [record.id for record in records if record.id not in expected]
            if gone:
                client.delete(collection.name, gone)
            removed += len(gone)
            if offset is None:
                return removed


# --- points


def concept_point(concept_id: str) -> str:
    """Return the id of the point of a concept. Unlike those of names, it is not a number."""
    return str(uuid5(NAMESPACE_URL, concept_id))


def _points(kb: KnowledgeBase, vectors: NameVectors, *, centroids: bool) -> Iterator[list[PointStruct]]:
    from qdrant_client.models import PointStruct

    for names in uploaded_names(kb, vectors):
        yield [
            PointStruct(id=hash64(text), vector={NAME: vector.tolist()}, payload={"name": text, "owners": owners})
            for text, owners, vector in names
        ]
    for start in range(0, len(kb) if centroids else 0, POINTS_PER_BATCH):
        rows = name_rows(kb, "s.concept", start)
        yield [_centroid(kb, vectors, list(group)) for _, group in groupby(rows, key=lambda name: name.concept)]


def _centroid(kb: KnowledgeBase, vectors: NameVectors, names: list[NameRow]) -> PointStruct:
    from qdrant_client.models import PointStruct

    first = names[0]
    mean = vectors.vectors[sorted({name.row for name in names})].mean(axis=0)
    mean /= max(float(np.linalg.norm(mean)), np.finfo(np.float32).tiny)
    payload = {
        "concept": first.concept_id,
        "names": sorted({name.text for name in names}),
        "types": types_of(kb, first.concept),
        "sources": sorted({name.source for name in names}),
    }
    return PointStruct(id=concept_point(first.concept_id), vector={CONCEPT: mean.tolist()}, payload=payload)
