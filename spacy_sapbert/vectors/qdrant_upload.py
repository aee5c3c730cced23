"""Upload a knowledge base and the vectors of its names to a Qdrant database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from ..errors import MismatchError
from ..kb.knowledge_base import KnowledgeBase
from .database import POINTS_PER_BATCH, About, NameRow, name_ids, name_rows, owners, types_of
from .flat import NameVectors, Progress
from .qdrant_index import ABOUT_ID, CONCEPT, NAME, Address, Collection

if TYPE_CHECKING:
    from qdrant_client.models import PointStruct

_FIELDS = ("owners[].types", "owners[].sources", "types", "sources")
"""The fields that filters use."""


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
    """Yield all points in batches."""
    from qdrant_client.models import PointStruct

    ids = name_ids(kb).tolist()
    for start in range(0, kb.n_names, POINTS_PER_BATCH):
        rows = name_rows(kb, "s.name", start)
        points, batch_vectors = [], vectors.vectors[start : start + POINTS_PER_BATCH].tolist()
        for row, group in groupby(rows, key=lambda name: name.row):
            names = list(group)
            payload = {"name": names[0].text, "owners": owners(kb, names)}
            points.append(PointStruct(id=ids[row], vector={NAME: batch_vectors[row - start]}, payload=payload))
        yield points
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
