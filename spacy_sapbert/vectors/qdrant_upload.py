"""Upload a knowledge base and the vectors of its names to a Qdrant database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MismatchError
from ..kb.knowledge_base import KnowledgeBase
from .flat import NameVectors, Progress
from .qdrant_index import ABOUT_ID, NAME, POINTS_PER_BATCH, About, Address, Collection, name_ids

if TYPE_CHECKING:
    from qdrant_client.models import PointStruct

_FIELDS = ("owners[].types", "owners[].sources")
"""The fields that filters use."""


def upload(
    kb: KnowledgeBase, vectors: NameVectors, address: Address, *, progress: Progress | None = None
) -> dict[str, int]:
    """Make a collection hold a knowledge base.

    It adds and changes points that differ, and removes points of other names. An interrupted upload continues where it
    stopped. Nothing links with the collection until the upload is complete. Vectors of another encoder are all
    replaced.

    Args:
        progress: Called with the number of points done and the number of all points.

    Returns:
        The number of points "added", "changed", "unchanged" and "removed".
    """
    collection = Collection(address)
    counts = Counter(dict.fromkeys(("added", "changed", "unchanged", "removed"), 0))
    encoder = vectors.encoder
    about = About(kb.fingerprint, encoder.fingerprint, encoder.dim, kb.n_names, vectors.longest, complete=False)
    _prepare(collection, about)
    done = 0
    for points in _points(kb, vectors):
        counts.update(_upload_points(collection, points))
        done += len(points)
        if progress:
            progress(done, about.names)
    counts["removed"] = _remove_others(collection, kb)
    _write_about(collection, about._replace(complete=True))
    return dict(counts)


class _Name(NamedTuple):
    """A name of a concept, by their rows, and the source of the name."""

    row: int
    text: str
    concept: int
    concept_id: str
    source: str


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
            client.create_collection(collection.name, vectors_config={NAME: size})
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


def _remove_others(collection: Collection, kb: KnowledgeBase) -> int:
    """Remove points of names that the knowledge base does not have, and return their number."""
    expected = {ABOUT_ID, *name_ids(kb).tolist()}
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


def _points(kb: KnowledgeBase, vectors: NameVectors) -> Iterator[list[PointStruct]]:
    """Yield all points in batches."""
    from qdrant_client.models import PointStruct

    ids = name_ids(kb).tolist()
    for start in range(0, kb.n_names, POINTS_PER_BATCH):
        rows = _names(kb, start)
        points, batch_vectors = [], vectors.vectors[start : start + POINTS_PER_BATCH].tolist()
        for row, group in groupby(rows, key=lambda name: name.row):
            owners = list(group)
            payload = {"name": owners[0].text, "owners": _owners(kb, owners)}
            points.append(PointStruct(id=ids[row], vector={NAME: batch_vectors[row - start]}, payload=payload))
        yield points


def _names(kb: KnowledgeBase, start: int) -> list[_Name]:
    """Return the names of a batch, with one row per concept and source."""
    rows = kb.query(
        "SELECT DISTINCT s.name, n.text, s.concept, c.id, s.source FROM synonyms s JOIN names n ON n.row = s.name "
        "JOIN concepts c ON c.row = s.concept WHERE s.name >= ? AND s.name < ? ORDER BY s.name, c.id, s.source",
        start,
        start + POINTS_PER_BATCH,
    )
    return [_Name(*row) for row in rows]


def _owners(kb: KnowledgeBase, names: list[_Name]) -> list[dict[str, Any]]:
    """Return the concepts of one name with their types, and the sources of the name."""
    types = "SELECT type FROM types WHERE concept = ? ORDER BY type"
    return [
        {
            "concept": concept_id,
            "types": [row[0] for row in kb.query(types, concept)],
            "sources": [name.source for name in same],
        }
        for (concept, concept_id), same in groupby(names, key=lambda name: (name.concept, name.concept_id))
    ]
