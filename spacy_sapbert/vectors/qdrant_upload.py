"""A store and the vectors of its names on their way into a Qdrant database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from ..errors import Errors, SapbertError
from ..kb.knowledge_base import KnowledgeBase
from .flat import NameVectors, Progress
from .qdrant_collection import ABOUT_ID, CONCEPT, NAME, POINTS_PER_BATCH, About, Address, Collection
from .qdrant_index import name_ids

if TYPE_CHECKING:
    from qdrant_client.models import PointStruct

_FIELDS = ("owners[].types", "owners[].sources", "types", "sources")
"""What is filtered by."""


def upload(
    kb: KnowledgeBase,
    vectors: NameVectors,
    address: Address,
    *,
    centroids: bool = False,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Make a collection hold a store: add and change points that differ, and remove those that are of no name.

    An upload that was cut off goes on where it stopped; until one comes to its end, nothing links with the collection.
    The vectors of another encoder are replaced, all of them.

    Args:
        vectors: of the names of this store.
        centroids: give each concept a point as well, the mean of its names' vectors at length 1 (as in the
            kg-aligned-entity-linker). The linker then looks for near concepts, and scores their names.
        progress: told the points done and the points in all.

    Raises:
        SapbertError: E548 the collection is there, but no upload of ours; E325, E329, E542 as `Collection.asking`.
    """
    collection = Collection(address)
    counts = Counter(dict.fromkeys(("added", "changed", "unchanged", "removed"), 0))
    about = About(
        kb.fingerprint,
        vectors.encoder.fingerprint,
        vectors.encoder.dim,
        kb.n_names,
        len(kb) if centroids else 0,
        vectors.longest,
        complete=False,
    )
    _prepare(collection, about)
    done = 0
    for points in _points(kb, vectors, centroids=centroids):
        counts.update(_put(collection, points))
        done += len(points)
        if progress:
            progress(done, about.names + about.concepts)
    counts["removed"] = _remove_others(collection, kb, centroids=centroids)
    _tell(collection, about._replace(complete=True))
    return dict(counts)


class _Name(NamedTuple):
    """A row of the query for names and their owners."""

    row: int
    text: str
    concept: int
    concept_id: str
    source: str


def _prepare(collection: Collection, about: About) -> None:
    """Have an empty collection, or one with vectors of the same encoder."""
    from qdrant_client import models

    if collection.exists():
        before = collection.about()
        if before is None:
            raise SapbertError(Errors.E548.format(address=collection.address))
        if before.encoder != about.encoder:
            with collection.asking() as client:
                client.delete_collection(collection.name)
    if not collection.exists():
        size = models.VectorParams(size=about.dim, distance=models.Distance.DOT)
        with collection.asking() as client:
            client.create_collection(collection.name, vectors_config={NAME: size, CONCEPT: size})
            if collection.address.is_url:  # the client itself has no such indexes
                for field in _FIELDS:
                    client.create_payload_index(collection.name, field, models.PayloadSchemaType.KEYWORD)
    _tell(collection, about)


def _tell(collection: Collection, about: About) -> None:
    from qdrant_client.models import PointStruct

    with collection.asking() as client:
        client.upsert(collection.name, [PointStruct(id=ABOUT_ID, vector={}, payload=about._asdict())])


def _put(collection: Collection, points: list[PointStruct]) -> Counter[str]:
    """Return how many points were added or changed, or are there already."""
    with collection.asking() as client:
        there = {record.id: record.payload for record in client.retrieve(collection.name, [p.id for p in points])}
        differing = [point for point in points if there.get(point.id) != point.payload]
        if differing:
            client.upsert(collection.name, differing)
    added = len(points) - len(there)
    return Counter(added=added, changed=len(differing) - added, unchanged=len(points) - len(differing))


def _remove_others(collection: Collection, kb: KnowledgeBase, *, centroids: bool) -> int:
    """Return how many points went, which stood for names or concepts that the store does not have."""
    wanted = {ABOUT_ID, *name_ids(kb).tolist(), *(map(concept_point, kb.concept_ids()) if centroids else ())}
    removed, offset = 0, None
    with collection.asking() as client:
        while True:
            records, offset = client.scroll(
                collection.name, limit=10 * POINTS_PER_BATCH, offset=offset, with_payload=False, with_vectors=False
            )
            gone = [record.id for record in records if record.id not in wanted]
            if gone:
                client.delete(collection.name, gone)
            removed += len(gone)
            if offset is None:
                return removed


# --- points


def concept_point(concept_id: str) -> str:
    """Return the id of the point of a concept; those of names are numbers."""
    return str(uuid5(NAMESPACE_URL, concept_id))


def _points(kb: KnowledgeBase, vectors: NameVectors, *, centroids: bool) -> Iterator[list[PointStruct]]:
    """Yield all points, in batches."""
    from qdrant_client.models import PointStruct

    ids = name_ids(kb).tolist()
    for start in range(0, kb.n_names, POINTS_PER_BATCH):
        rows = _names(kb, "s.name", start)
        points = []
        for row, of_name in groupby(rows, key=lambda name: name.row):
            owners = list(of_name)
            payload = {"name": owners[0].text, "owners": _owners(kb, owners)}
            points.append(PointStruct(id=ids[row], vector={NAME: vectors.vectors[row].tolist()}, payload=payload))
        yield points
    for start in range(0, len(kb) if centroids else 0, POINTS_PER_BATCH):
        rows = _names(kb, "s.concept", start)
        yield [
            _centroid(kb, vectors, list(of_concept)) for _, of_concept in groupby(rows, key=lambda name: name.concept)
        ]


def _names(kb: KnowledgeBase, column: str, start: int) -> list[_Name]:
    """Return names with each source from which an owner has them, of a batch of names or concepts."""
    rows = kb.query(
        "SELECT s.name, n.text, s.concept, c.id, s.source FROM synonyms s JOIN names n ON n.row = s.name "
        f"JOIN concepts c ON c.row = s.concept WHERE {column} >= ? AND {column} < ? "
        f"ORDER BY {column}, s.name, c.id, s.source",
        start,
        start + POINTS_PER_BATCH,
    )
    return [_Name(*row) for row in rows]


def _owners(kb: KnowledgeBase, names: list[_Name]) -> list[dict[str, Any]]:
    """Return `list[dict]`: the concepts that own one name, with their types, and the sources of the name."""
    return [
        {"concept": concept_id, "types": _types(kb, concept), "sources": [name.source for name in same]}
        for (concept, concept_id), same in groupby(names, key=lambda name: (name.concept, name.concept_id))
    ]


def _centroid(kb: KnowledgeBase, vectors: NameVectors, names: list[_Name]) -> PointStruct:
    from qdrant_client.models import PointStruct

    first = names[0]
    mean = vectors.vectors[sorted({name.row for name in names})].mean(axis=0)
    mean /= max(float(np.linalg.norm(mean)), np.finfo(np.float32).tiny)
    payload = {
        "concept": first.concept_id,
        "names": sorted({name.text for name in names}),
        "types": _types(kb, first.concept),
        "sources": sorted({name.source for name in names}),
    }
    return PointStruct(id=concept_point(first.concept_id), vector={CONCEPT: mean.tolist()}, payload=payload)


def _types(kb: KnowledgeBase, concept: int) -> list[str]:
    return [row[0] for row in kb.query("SELECT type FROM types WHERE concept = ? ORDER BY type", concept)]
