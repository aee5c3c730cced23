"""Vectors of texts that are computed when they are first needed, and a bounded file that keeps them."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files.values import hash64
from ..kb.knowledge_base import KnowledgeBase
from ..store.cache import cache_dir, drop_oldest
from .flat import text_hashes
from .stored import COMPRESSION, StoredVectors, compress, stored_type

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder

logger = logging.getLogger(__name__)

FILE_LIMIT = 2**28  # bytes
IN_MEMORY = 1 << 14  # vectors; 8 to 16 MB
_PATIENCE = 30.0  # seconds to wait for another process that writes

_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key INTEGER PRIMARY KEY, stored BLOB NOT NULL, added INTEGER NOT NULL)"
_GET = "SELECT vectors.key, stored FROM json_each(?) AS wanted JOIN vectors ON vectors.key = wanted.value"
_ADD = "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)"
_SIZE = (
    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)
_DROP = """DELETE FROM vectors WHERE added <= (
    SELECT added FROM vectors ORDER BY added LIMIT 1 OFFSET (SELECT count(*) / 8 FROM vectors)
)"""


class VectorFile:
    """Vectors by key in a SQLite file that processes and threads share. It can be deleted at any time.

    Each call has its own connection, so that it is safe in threads and after a fork. Vectors are added in transactions,
    so that a process that is killed leaves none half written. If the file cannot be used, nothing is kept.

    Args:
        path: The file. It is made when the first vectors are added.
        limit: The most bytes. When they are reached, the eighth of the vectors that was added first is dropped.
    """

    def __init__(self, path: Path, limit: int = FILE_LIMIT) -> None:
        self.path = path
        self.limit = limit
        self._has_failed = False

    def get(self, keys: Iterable[int]) -> dict[int, bytes]:
        """Return the vectors that are known, by key."""
        try:
            if not self.path.is_file():
                return {}
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as db:
                return dict(db.execute(_GET, (json.dumps(list(keys)),)))
        except (sqlite3.Error, OSError) as error:
            self._report(error)
            return {}

    def add(self, vectors: Mapping[int, bytes]) -> None:
        """Add vectors by key. Those that are known stay as they are."""
        now = int(time.time())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)) as db:
                db.execute("BEGIN IMMEDIATE")
                db.execute(_SCHEMA)
                if db.execute(_SIZE).fetchone()[0] > self.limit:
                    db.execute(_DROP)
                db.executemany(_ADD, [(key, stored, now) for key, stored in vectors.items()])
                db.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            self._report(error)

    def _report(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            logger.warning("Vectors are not kept in %s, which makes linking slower: %s", self.path, error)
        if type(error) is sqlite3.DatabaseError:  # not one of its subclasses: the file is damaged
            with suppress(OSError):  # another process may have it open
                self.path.unlink()


class OnDemandVectors:
    """The dense score of names, for an encoder that has not encoded them all. It proposes no names.

    A vector is stored as those of `NameVectors` are, also that of a text which is looked up. So a text that is a name
    has exactly the vector of the name.

    Args:
        kb: The vocabulary.
        encoder: The encoder. Its vectors have unit length.
        compression: How vectors are stored, one of `COMPRESSIONS`.
    """

    def __init__(self, kb: KnowledgeBase, encoder: Encoder, compression: str = COMPRESSION) -> None:
        self.kb = kb
        self.encoder = encoder
        self.compression = compression
        self.file = VectorFile(cache_dir() / "vectors" / "on-demand.sqlite")
        self._salt = np.uint64(hash64(f"{encoder.fingerprint} {compression}"))
        self._recent: dict[int, bytes] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.encoder!r}, {self.compression})"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts, float32, shape (len(texts), dim)."""
        return self._vectors(texts)[:]

    def products(self, queries: np.ndarray, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the inner products of pairs of a query and a name, see `Index.products`."""
        different, places = np.unique(rows, return_inverse=True)
        return self._vectors(self.kb.names_at(different.tolist())).products(queries, which, places)

    def equals(self, texts: Sequence[str], which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which pairs of a text and a name have the same normal form for the encoder, bool, shape (m,)."""
        equal: np.ndarray = text_hashes([texts[i] for i in which], self.encoder) == text_hashes(
            self.kb.names_at(rows.tolist()), self.encoder
        )
        return equal

    def _vectors(self, texts: Sequence[str]) -> StoredVectors:
        """Return the vectors of texts. All that are missing are encoded at once, since `encode` sorts by length."""
        keys = (text_hashes(texts, self.encoder) ^ self._salt).view(np.int64).tolist()
        texts_by_key = dict(zip(keys, texts, strict=True))
        kind = stored_type(self.encoder.dim, self.compression)
        size = kind.itemsize if kind.names else kind.itemsize * self.encoder.dim
        known = {key: stored for key in texts_by_key if (stored := self._recent.get(key))}
        if len(known) < len(texts_by_key):
            kept = self.file.get(texts_by_key.keys() - known.keys())
            known |= {key: stored for key, stored in kept.items() if isinstance(stored, bytes) and len(stored) == size}
        if missing := [key for key in texts_by_key if key not in known]:
            # not `fast`: a vector must not depend on the texts beside it
            vectors = self.encoder.encode([texts_by_key[key] for key in missing])
            encoded = dict(zip(missing, map(bytes, compress(vectors, self.compression)), strict=True))
            self.file.add(encoded)
            known |= encoded
        self._recent |= known
        drop_oldest(self._recent, IN_MEMORY)
        array = np.frombuffer(b"".join(map(known.__getitem__, keys)), dtype=kind)
        return StoredVectors(array if kind.names else array.reshape(-1, self.encoder.dim), self.encoder.dim)
