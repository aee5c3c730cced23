"""Names and their vectors in PostgreSQL with pgvector: the upload, and the search."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MismatchError, requiring
from ..files.postgres import Database
from ..files.values import hash64, read_sections
from ..kb.knowledge_base import KnowledgeBase
from .database import About, DatabaseVectors, uploaded_names
from .flat import NameVectors, Progress

if TYPE_CHECKING:
    from psycopg import Connection

    from ..encoders.encoder import Encoder
    from ..kb.filters import FilterMask

EXACT_NAMES = 20_000
"""If at most so many names pass a filter, all of them are compared."""
_EF_SEARCH, _MOST_EF_SEARCH = 256, 1000  # names that a search in the graph visits; pgvector's limit
_NO_EXTENSION = "Let an administrator install pgvector 0.8 or later, and execute: CREATE EXTENSION vector"
_SQL = read_sections(Path(__file__).with_suffix(".sql"))


class PostgresCollection:
    """The names of a vocabulary in a schema of a database. A name has the id `hash64` of its text, with a sign.

    Args:
        address: See `files.postgres.Database`.
    """

    def __init__(self, address: str) -> None:
        self.address = Database(address)
        self.target = str(self.address)

    @contextmanager
    def connected(self) -> Iterator[Connection[Any]]:
        """Give a connection that knows the types of pgvector."""
        with requiring("postgres", "A PostgreSQL database"):
            from pgvector.psycopg import register_vector
        with self.address.transaction() as connection:
            if connection.adapters.types.get("halfvec") is None:
                query = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
                (version,) = connection.execute(query).fetchone() or ("0",)
                if tuple(map(int, version.split(".")[:2])) < (
                    0,
                    8,
                ):  # later, it searches until enough names pass a filter
                    reason = f"it has the extension vector (pgvector) in version {version}; 0 stands for none"
                    raise MismatchError(_NO_EXTENSION, path=self.target, reason=reason)
                register_vector(connection)
            yield connection

    def described(self) -> tuple[About | None, int] | None:
        """Return the description and the number of names, or None if there are no names."""
        with self.connected() as connection:
            if not self.address.has(connection, "names"):
                return None
            return self._about(connection), *connection.execute("SELECT count(*) FROM names").fetchone()

    def _about(self, connection: Connection[Any]) -> About | None:
        if not self.address.has(connection, "about"):
            return None
        (content,) = connection.execute("SELECT content FROM about").fetchone() or ({},)
        return About.read(content)

    def prepare(self, connection: Connection[Any], about: About) -> None:
        """Make empty tables, or keep those with vectors of the same encoder."""
        from psycopg import sql

        if self.address.has(connection, "names"):
            before = self._about(connection)
            if before is None:
                reason = "its tables were not made by an upload of this version"
                remedy = "Give another schema after #, or delete these tables."
                raise MismatchError(remedy, path=self.target, reason=reason)
            if before.encoder == about.encoder:
                return
            connection.execute("DROP TABLE about, names")
        connection.execute(sql.SQL(_SQL["tables"]).format(sql.Literal(about.dim)))

    def vectors(self, ids: Sequence[int]) -> dict[int, np.ndarray]:
        """Return vectors of names by their ids, float16, shape (dim,). Missing ids are left out."""
        query = "SELECT id, vector FROM names WHERE id = ANY(%s)"
        with self.connected() as connection:
            rows = connection.execute(query, [list(map(_signed, ids))], binary=True).fetchall()
        return {name_id & (1 << 64) - 1: vector.to_numpy() for name_id, vector in rows}


class PostgresVectors(DatabaseVectors):
    """Find names in PostgreSQL. See `DatabaseVectors`.

    Args:
        address: A schema that `upload` filled from this knowledge base and encoder.
    """

    def __init__(self, address: str, kb: KnowledgeBase, encoder: Encoder) -> None:
        super().__init__(PostgresCollection(address), kb, encoder)

    def nearest(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        from pgvector import HalfVector

        collection = self._collection
        assert isinstance(collection, PostgresCollection)
        assert self._about.complete  # it checks the collection
        products = np.full((len(queries), n), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), n), -1, dtype=np.int64)
        tags = None if mask is None else _tags(mask.filter.types or [""], mask.filter.sources or [""])
        with collection.connected() as connection:
            for name, value in _search_settings(n, mask).items():
                connection.execute("SELECT set_config(%s, %s, true)", [name, value])
            parameters = [list(map(HalfVector, queries)), tags, tags, n]
            nearest = connection.execute(_SQL["nearest"], parameters, binary=True).fetchall()
        if nearest:
            numbers, places, ids, distances = map(np.array, zip(*nearest, strict=True))
            rows[numbers - 1, places - 1] = self._known_ids.find(ids.view(np.uint64))
            products[numbers - 1, places - 1] = -distances
        return products, rows


def upload(
    kb: KnowledgeBase, vectors: NameVectors, address: str, *, progress: Progress | None = None
) -> dict[str, int]:
    """Make a schema hold a knowledge base, in one transaction. Until its end, others find what was there before.

    It adds and changes names that differ, and removes others. Vectors of another encoder are all replaced. The index
    of vectors is built after the names, if there is none.

    Args:
        progress: Called with the number of names sent and the number of all names.

    Returns:
        The number of names "added", "changed", "unchanged" and "removed".
    """
    collection = PostgresCollection(address)
    about = About.of(kb, vectors)._replace(complete=True)
    with collection.connected() as connection:
        collection.address.create(connection)
        collection.prepare(connection, about)
        connection.execute("CREATE TEMPORARY TABLE uploaded (LIKE names) ON COMMIT DROP")
        _copy(connection, kb, vectors, progress)
        counts = {what: connection.execute(_SQL[what]).rowcount for what in ("removed", "changed", "added")}
        connection.execute(_SQL["finish"])
        connection.execute("INSERT INTO about VALUES (%s)", [json.dumps(about._asdict())])
    return {**counts, "unchanged": kb.n_names - counts["added"] - counts["changed"]}


def _copy(connection: Connection[Any], kb: KnowledgeBase, vectors: NameVectors, progress: Progress | None) -> None:
    from pgvector import HalfVector

    with connection.cursor().copy("COPY uploaded FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "text", "text[]", "text[]", "halfvec"])
        done = 0
        for names in uploaded_names(kb, vectors):
            for text, owners, vector in names:
                pairs = (_tags(["", *owner["types"]], ["", *owner["sources"]]) for owner in owners)
                tags = sorted(set(chain.from_iterable(pairs)))
                ids = [owner["concept"] for owner in owners]
                copy.write_row((_signed(hash64(text)), text, ids, tags, HalfVector(vector)))
            done += len(names)
            if progress:
                progress(done, kb.n_names)


def _search_settings(n: int, mask: FilterMask | None) -> dict[str, str]:
    """Return the settings of PostgreSQL and pgvector with which a search finds n names."""
    if mask is not None and len(mask.rows) <= EXACT_NAMES:
        return {"enable_indexscan": "off"}  # the index of the tags is not one of these
    visited = min(max(_EF_SEARCH, n), _MOST_EF_SEARCH)
    scanned = {"hnsw.iterative_scan": "relaxed_order", "hnsw.max_scan_tuples": str(2**31 - 1)}  # until n names pass
    return {"hnsw.ef_search": str(visited), **scanned}


def _tags(types: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Return the pairs of types and sources that one concept has, as the filter compares them. "" stands for any."""
    return [f"{type}\t{source}" for type, source in product(types, sources)]


def _signed(name_id: int) -> int:
    """Return an id as the database stores it, as an integer with a sign."""
    return name_id - (name_id >> 63 << 64)
