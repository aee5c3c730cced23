"""Name vectors in a database, which searches them. Scores are exact, since the vectors are read from there, too."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import MismatchError
from ..files.values import hash64
from ..kb.knowledge_base import KnowledgeBase
from .flat import NameVectors, cached_table, text_hashes
from .index import Index
from .stored import HashTable

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder

POINTS_PER_BATCH = 500


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

    @classmethod
    def of(cls, kb: KnowledgeBase, vectors: NameVectors, *, concepts: int = 0) -> About:
        """Describe what an upload makes, before it is complete."""
        made_by = vectors.encoder
        values = kb.fingerprint, made_by.fingerprint, made_by.dim, kb.n_names, concepts, vectors.longest
        return cls(*values, complete=False)

    @classmethod
    def read(cls, values: dict[str, Any]) -> About | None:
        """Return what an upload of this version wrote, or None."""
        return cls(**values) if values.keys() == set(cls._fields) else None


class DatabaseVectors(Index):
    """Find names in a database. It connects at the first use.

    Args:
        collection: What an upload made from this knowledge base and encoder: a collection of Qdrant or of PostgreSQL.
    """

    exact = False
    local = False

    def __init__(self, collection: Any, kb: KnowledgeBase, encoder: Encoder) -> None:
        self.encoder = encoder
        self._kb = kb
        self._collection = collection

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Encode texts, see `Index.encode`. A text that is a name gets its stored vector, without the encoder."""
        rows = self.known_rows(texts)
        known, vectors = rows >= 0, np.zeros((len(texts), self.encoder.dim), dtype=np.float32)
        if known.any():
            vectors[known] = self._vectors(rows[known])
        if not known.all():
            vectors[~known] = self.encoder.encode([texts[i] for i in np.flatnonzero(~known)])
        return vectors

    def known_rows(self, texts: Sequence[str]) -> np.ndarray:
        return self._known_forms.find(text_hashes(texts, self.encoder))

    def equal_names(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self._known_forms.find_all(text_hashes(texts, self.encoder))

    def products(self, queries: np.ndarray, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        different, places = np.unique(rows, return_inverse=True)
        vectors = self._vectors(different)
        products: np.ndarray = np.einsum("md,md->m", queries[which], vectors[places])
        return products

    def similarities(self, queries: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        return queries @ self._vectors(rows).T

    @property
    def longest(self) -> float:
        return self._about.longest

    def _vectors(self, rows: np.ndarray | None) -> np.ndarray:
        """Return the vectors of some names or of all, float32, shape (len(rows), dim)."""
        about = self._about  # first, since it checks that the collection is the right one
        ids = name_ids(self._kb).tolist() if rows is None else list(map(hash64, self._kb.names_at(rows.tolist())))
        vectors = self._collection.vectors(ids)
        if missing := set(ids).difference(vectors):
            raise self._mismatch(about, f"{len(missing)} names have no vector in it")
        stored = np.array([vectors[name_id] for name_id in ids], dtype=np.float32).reshape(-1, about.dim)
        if self.encoder.l2_normalized:  # a database may have rounded the numbers
            stored /= np.linalg.norm(stored, axis=1, keepdims=True).clip(min=np.finfo(np.float32).tiny)
        return stored

    @cached_property
    def _known_ids(self) -> HashTable:
        return cached_table(self._kb, "ids", lambda: name_ids(self._kb))

    @cached_property
    def _known_forms(self) -> HashTable:
        kind = f"forms-{self.encoder.text_normalizer}"
        return cached_table(self._kb, kind, lambda: text_hashes(self._kb.names(), self.encoder))

    @cached_property
    def _about(self) -> About:
        """The description of the collection, after it was checked."""
        description = self._collection.described()
        about, count = description or (None, 0)
        if about is None:
            reason = "it was not made by an upload of this version" if description else "it does not exist"
            raise self._mismatch(about, reason)
        if (about.kb, about.encoder) != (self._kb.fingerprint, self.encoder.fingerprint):
            what = "vocabulary" if about.encoder == self.encoder.fingerprint else "encoder"
            dims = f" ({about.dim} dimensions, not {self.encoder.dim})" if about.dim != self.encoder.dim else ""
            raise self._mismatch(about, f"it belongs to another {what}{dims}")
        if not about.complete or count != about.names + about.concepts:
            raise self._mismatch(about, f"it is not complete: it has {count} of {about.names + about.concepts} points")
        return about

    def _mismatch(self, about: About | None, reason: str) -> MismatchError:
        """Return an error with the command that makes the collection."""
        command = ["spacy-sapbert", "kb", "upload", str(self._kb.path), "--encoder", self.encoder.name]
        command += ["--to", self._collection.target, *["--centroids"] * bool(about and about.concepts)]
        address = str(self._collection.address)
        return MismatchError(f"Upload the vocabulary: {shlex.join(command)}", path=address, reason=reason)


def name_ids(kb: KnowledgeBase) -> np.ndarray:
    """Return the ids of names by row, uint64, shape (names,). They only depend on the texts."""
    return np.fromiter(map(hash64, kb.names()), dtype=np.uint64, count=kb.n_names)


# --- what is uploaded


class NameRow(NamedTuple):
    """A row of the query for names and their concepts."""

    row: int
    text: str
    concept: int
    concept_id: str
    source: str


def name_rows(kb: KnowledgeBase, column: str, start: int) -> list[NameRow]:
    """Return the names of a batch of names or concepts, with one row per concept and source."""
    rows = kb.query(
        "SELECT DISTINCT s.name, n.text, s.concept, c.id, s.source FROM synonyms s JOIN names n ON n.row = s.name "
        f"JOIN concepts c ON c.row = s.concept WHERE {column} >= ? AND {column} < ? "
        f"ORDER BY {column}, s.name, c.id, s.source",
        start,
        start + POINTS_PER_BATCH,
    )
    return [NameRow(*row) for row in rows]


def uploaded_names(
    kb: KnowledgeBase, vectors: NameVectors
) -> Iterator[list[tuple[str, list[dict[str, Any]], np.ndarray]]]:
    """Yield all names in batches, each with its concepts, their types and the sources of the name, and its vector."""
    for start in range(0, kb.n_names, POINTS_PER_BATCH):
        batch = vectors.vectors[start : start + POINTS_PER_BATCH]
        groups = groupby(name_rows(kb, "s.name", start), key=lambda name: (name.row, name.text))
        yield [(text, _owners(kb, names), batch[row - start]) for (row, text), names in groups]


def _owners(kb: KnowledgeBase, names: Iterable[NameRow]) -> list[dict[str, Any]]:
    return [
        {"concept": concept_id, "types": types_of(kb, concept), "sources": [name.source for name in same]}
        for (concept, concept_id), same in groupby(names, key=lambda name: (name.concept, name.concept_id))
    ]


def types_of(kb: KnowledgeBase, concept: int) -> list[str]:
    return [row[0] for row in kb.query("SELECT type FROM types WHERE concept = ? ORDER BY type", concept)]
