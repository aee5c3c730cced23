"""Name vectors that are in a Qdrant database and searched there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, SapbertError
from ..kb.knowledge_base import KnowledgeBase
from ..text.hashing import hash64
from .flat import HashTable
from .index import Index
from .qdrant_collection import CONCEPT, NAME, About, Address, Collection

if TYPE_CHECKING:
    from ..kb.filters import Filter, FilterMask


class QdrantVectors(Index):
    """The names that a database finds near. It is asked for their vectors as well, so that scores are exact.

    Nothing is connected to before the first use.

    Args:
        address: of a collection that `qdrant_upload.upload` made from this store and this encoder. Where it has points
            of concepts, names are near if their concept's point is.

    Raises:
        SapbertError: at the first use, E326 there is no such collection, E327 it is not complete, E328 it belongs to
            another store or encoder; at any, E325, E329 and E542 as `Collection.asking`.
    """

    exact = False
    local = False

    def __init__(self, address: Address, kb: KnowledgeBase, encoder: TransformerEncoder) -> None:
        self.encoder = encoder
        self._kb = kb
        self._collection = Collection(address)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return self.encoder.encode(texts)

    def similarities(self, queries: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        about = self._about  # before all else: whether the collection is the right one
        ids = (self._ids if rows is None else self._ids[rows]).tolist()
        vectors = self._collection.vectors(ids)
        if missing := set(ids).difference(vectors):
            raise self._incomplete(about, f"{len(missing)} names have no vector there")
        return queries @ np.array([vectors[one] for one in ids], dtype=np.float32).reshape(-1, about.dim).T

    def nearest(self, queries: np.ndarray, n: int, passing: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        from qdrant_client.models import QueryRequest

        of_concepts = self._about.concepts > 0
        requests = [
            QueryRequest(
                query=query.tolist(),
                using=CONCEPT if of_concepts else NAME,
                filter=_condition(passing.filter, of_concepts) if passing else None,
                limit=n,
                with_payload=[CONCEPT] if of_concepts else False,
            )
            for query in queries
        ]
        with self._collection.asking() as client:
            answers = client.query_batch_points(self._collection.name, requests)
        products = np.full((len(queries), n), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), n), -1, dtype=np.int64)
        for i, answer in enumerate(answers):
            found = self._names_of(answer.points, passing) if of_concepts else self._names(answer.points)
            some = dict(list(found.items())[:n])
            rows[i, : len(some)], products[i, : len(some)] = list(some), list(some.values())
        return products, rows

    @property
    def longest(self) -> float:
        return self._about.longest

    def _names(self, points: Sequence[Any]) -> dict[int, float]:
        rows = self._known_ids.find(np.array([point.id for point in points], dtype=np.uint64))
        return {int(row): point.score for row, point in zip(rows, points, strict=True) if row >= 0}

    def _names_of(self, points: Sequence[Any], passing: FilterMask | None) -> dict[int, float]:
        """Return the rows of the names of concepts, with the similarity of the nearest one."""
        found: dict[int, float] = {}
        for point in points:
            rows = self._kb.name_rows(point.payload[CONCEPT])
            for row in rows if passing is None else np.intersect1d(rows, passing.rows).tolist():
                found.setdefault(row, point.score)
        return found

    @cached_property
    def _ids(self) -> np.ndarray:
        return name_ids(self._kb)

    @cached_property
    def _known_ids(self) -> HashTable:
        return HashTable(self._ids)

    @cached_property
    def _about(self) -> About:
        """What the collection says of itself, when it has been seen that it is the right one."""
        exists = self._collection.exists()
        about = self._collection.about() if exists else None
        if about is None:
            reason = "it was not made by an upload" if exists else "it is not there"
            raise SapbertError(Errors.E326.format(**self._told(about), reason=reason))
        if (about.kb, about.encoder) != (self._kb.fingerprint, self.encoder.fingerprint):
            what = "vocabulary" if about.encoder == self.encoder.fingerprint else "encoder"
            dims = f" ({about.dim} dimensions, not {self.encoder.dim})" if about.dim != self.encoder.dim else ""
            raise SapbertError(Errors.E328.format(**self._told(about), what=what + dims))
        count = self._collection.count()
        if not about.complete or count != about.names + about.concepts:
            raise self._incomplete(about, f"{count} of {about.names + about.concepts} points are there")
        return about

    def _incomplete(self, about: About, reason: str) -> SapbertError:
        return SapbertError(Errors.E327.format(**self._told(about), reason=reason))

    def _told(self, about: About | None) -> dict[str, Any]:
        """What errors tell: where the collection is looked for, and the command that makes it."""
        address = self._collection.address
        command = ["spacy-sapbert", "kb", "upload", str(self._kb.path), "--encoder", self.encoder.name]
        command += ["--to", address.location, "--collection", address.collection]
        return {"address": address, "command": shlex.join(command + ["--centroids"] * bool(about and about.concepts))}


def name_ids(kb: KnowledgeBase) -> np.ndarray:
    """Return `uint64, shape (names,)`: the ids of the points of names, by row; they come from the texts alone."""
    return np.fromiter(map(hash64, kb.names()), dtype=np.uint64, count=kb.n_names)


def _condition(filter: Filter, of_concepts: bool) -> Any:
    """Return `Filter`: of Qdrant. One owner of the name has to have both the type and the source."""
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
