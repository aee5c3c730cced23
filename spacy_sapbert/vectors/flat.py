"""Dense vectors of all names of a knowledge base, memory-mapped from disk, and the exact nearest-name search."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import MismatchError
from ..files.output import replacing, writing
from ..files.values import array_header, hash64, parse_json, read_array
from ..kb.knowledge_base import KnowledgeBase
from ..store.artifact import Artifact, fingerprint_of, folder_artifact, opening
from ..store.cache import cache_dir, cached_folder
from ..text.normalize import normal_forms
from .index import Index
from .stored import (
    COMPRESSION,
    HASHES_FILE,
    ROWS_FILE,
    VECTORS_FILE,
    HashTable,
    StoredVectors,
    compress,
    stored_type,
)

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder
    from ..kb.filters import FilterMask

logger = logging.getLogger(__name__)

MANIFEST_FILE = "vectors.json"
VECTORS = "vectors"
"""The role and the kind of vectors among the artifacts of a component."""
UNFINISHED = "unfinished"
"""The folder of a build that was not completed."""
NAMES_PER_CHUNK = 8192
_FILES = (VECTORS_FILE, HASHES_FILE, ROWS_FILE, MANIFEST_FILE)  # the manifest is last: it marks them as complete
_SAMPLED = 64  # names

Progress = Callable[[int, int], None]
_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)


class NameVectors(Index):
    """One vector per name of the knowledge base, by row, with an exact inner-product search over all names.

    Args:
        folder: The folder that `build_name_vectors` wrote.

    Attributes:
        fingerprint (str): A hash of what the vectors are made of. Equal hashes mean equal vectors.
        known (KnownVectors): The vectors by name, for another knowledge base with some of these names.
        manifest (dict): What the vectors were made from. Vectors with an equal manifest are equal.
    """

    exact = True
    local = True

    def __init__(self, folder: Path, kb: KnowledgeBase, encoder: Encoder) -> None:
        self.folder = folder
        self.encoder = encoder
        self.manifest = _read_manifest(folder)
        if not _manifest(kb, encoder, self.compression).items() <= self.manifest.items():
            remedy = "Delete the folder, or assemble the pipeline again."
            reason = "the vectors are those of another vocabulary or encoder"
            raise MismatchError(remedy, path=folder, reason=reason)
        self.known = _open_known(folder)
        self.fingerprint = fingerprint_of(self.manifest)
        self._last: tuple[tuple[str, ...], np.ndarray] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.vectors):,} names, {self.compression}, {self.encoder!r})"

    @property
    def vectors(self) -> StoredVectors:
        """The vectors, memory-mapped. An index with rows gives float32."""
        return self.known.vectors

    @property
    def compression(self) -> str:
        """How the vectors are stored, one of `COMPRESSIONS`."""
        return str(self.manifest["compression"])

    @property
    def longest(self) -> float:
        return float(self.manifest["longest"])

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Encode texts, see `Index.encode`. A text that is a name gets its stored vector, without the encoder."""
        return _encode(texts, self._hashes(texts), self.encoder, [self.known])

    def equal_names(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self.known.table.find_all(self._hashes(texts))

    def known_rows(self, texts: Sequence[str]) -> np.ndarray:
        return self.known.table.find(self._hashes(texts))

    def _hashes(self, texts: Sequence[str]) -> np.ndarray:
        """Return the hashes of texts. Those of the last ones are kept, for `encode` and then `equal_names`."""
        key, last = tuple(texts), self._last
        if last is None or last[0] != key:
            self._last = last = key, text_hashes(texts, self.encoder)
        return last[1]

    def products(self, queries: np.ndarray, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self.vectors.products(queries, which, rows)

    def similarities(self, queries: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        return self.vectors.similarities(queries, rows)

    def nearest(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        return self.vectors.nearest(queries, n, None if mask is None else np.asarray(mask.rows, dtype=np.int64))

    def artifact(self) -> Artifact:
        """Return the vectors as an artifact of a component."""
        return folder_artifact(VECTORS, self.fingerprint, self.folder, _FILES)


class KnownVectors(NamedTuple):
    """Vectors of texts, and their rows by the hashes of the normal forms of the texts."""

    vectors: StoredVectors
    table: HashTable


def _encode(texts: Sequence[str], hashes: np.ndarray, encoder: Encoder, known: Sequence[KnownVectors]) -> np.ndarray:
    """Encode texts with these hashes, but reuse the vectors that are known."""
    vectors = np.zeros((len(texts), encoder.dim), dtype=np.float32)
    missing = np.ones(len(texts), dtype=bool)
    for other in known:
        rows = other.table.find(hashes)
        has_vector = missing & (rows >= 0)
        vectors[has_vector] = other.vectors[rows[has_vector]]
        missing &= ~has_vector
    if missing.any():
        vectors[missing] = encoder.encode([texts[i] for i in np.flatnonzero(missing)], fast=True)
    return vectors


@contextmanager
def encoding_progress(progress: Progress) -> Iterator[None]:
    """Report the progress of all name vectors that are made inside, also deep in a component."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def text_hashes(texts: Iterable[str], encoder: Encoder) -> np.ndarray:
    """Return the hashes of the normal forms in which an encoder reads texts, uint64."""
    remaining = iter(texts)
    chunks = iter(lambda: list(islice(remaining, NAMES_PER_CHUNK)), [])
    forms = (form for chunk in chunks for form in normal_forms(chunk, encoder.text_normalizer))
    return np.fromiter(map(hash64, forms), dtype=np.uint64)


def cached_name_vectors(
    kb: KnowledgeBase,
    encoder: Encoder,
    progress: Progress | None = None,
    compression: str = COMPRESSION,
) -> NameVectors:
    """Return the vectors of a knowledge base by an encoder. They come from the cache folder, or are made there.

    If the knowledge base is that of a saved pipeline which has such vectors, they are used as they are. Names in other
    cached knowledge bases with the same encoder are not encoded again.

    Args:
        progress: See `build_name_vectors`. The default is that of `encoding_progress`, or else a bar.
    """
    saved = saved_with(kb, encoder, compression)
    if saved is not None:
        return NameVectors(saved, kb, encoder)

    def build(folder: Path) -> None:
        from ..files.console import progress_callback, stderr_console  # rich is not needed to link

        logger.info("Encoding %d names of %s into %s", kb.n_names, kb.path, folder)
        known = _cached_elsewhere(folder, encoder, compression)
        with progress_callback(stderr_console(), "names") as shown:
            build_name_vectors(kb, encoder, folder, progress or _progress.get() or shown, known, compression)

    folder = cached_folder(vectors_cache(kb, encoder, compression), MANIFEST_FILE, build)
    return NameVectors(folder, kb, encoder)


def vectors_cache(kb: KnowledgeBase, encoder: Encoder, compression: str = COMPRESSION) -> Path:
    """Return the cache folder for a knowledge base, an encoder and a compression."""
    return cache_dir() / "vectors" / f"{kb.fingerprint[:16]}-{encoder.fingerprint[:16]}-{compression}"


def saved_with(kb: KnowledgeBase, encoder: Encoder, compression: str) -> Path | None:
    """Return the folder of the vectors that a pipeline saved with this knowledge base."""
    needed = _manifest(kb, encoder, compression)
    for manifest in sorted(kb.path.parent.glob(f"{VECTORS}-*/{MANIFEST_FILE}")):
        if needed.items() <= _read_manifest(manifest.parent).items():
            return manifest.parent
    return None


def _cached_elsewhere(folder: Path, encoder: Encoder, compression: str) -> list[KnownVectors]:
    """Return vectors of other knowledge bases. None of them is less exact than what is asked for."""
    forms = dict.fromkeys(("float32", compression))
    return [
        _open_known(other.parent)
        for form in forms
        for other in sorted(folder.parent.glob(f"*-{encoder.fingerprint[:16]}-{form}/{MANIFEST_FILE}"))
    ]


def build_name_vectors(
    kb: KnowledgeBase,
    encoder: Encoder,
    folder: Path,
    progress: Progress | None = None,
    known: Sequence[KnownVectors] = (),
    compression: str = COMPRESSION,
) -> None:
    """Encode all names of a knowledge base. An interrupted build continues where it stopped.

    Names with equal normal forms get exactly equal vectors.

    Args:
        progress: Called with the number of names done and the number of all names.
        known: Vectors of the same encoder, which are not computed again.
        compression: How vectors are stored, one of `COMPRESSIONS`.
    """
    unfinished = folder / UNFINISHED
    manifest = _manifest(kb, encoder, compression)
    with writing(folder):
        _prepare(unfinished, manifest)
        hashes = _append_vectors(kb, encoder, unfinished / VECTORS_FILE, progress, known, compression)
        table = _equalize(unfinished / VECTORS_FILE, hashes)
        table.save(unfinished)
        array = read_array(unfinished / VECTORS_FILE)
        vectors = StoredVectors(array, encoder.dim)
        chunks = (vectors[start : start + NAMES_PER_CHUNK] for start in range(0, len(array), NAMES_PER_CHUNK))
        longest = max((float(np.linalg.norm(chunk, axis=1).max()) for chunk in chunks), default=0.0)
        details = {"longest": longest, "sample": _sample(array)}
        for name in _FILES[:-1]:
            os.replace(unfinished / name, folder / name)
        with replacing(folder / MANIFEST_FILE) as temporary:
            temporary.write_text(json.dumps(manifest | details, sort_keys=True))
        shutil.rmtree(unfinished)


def _prepare(unfinished: Path, manifest: dict[str, Any]) -> None:
    """Make the folder of an unfinished build, or keep one from the same names and encoder."""
    text = json.dumps(manifest, sort_keys=True)
    path = unfinished / MANIFEST_FILE
    if unfinished.is_dir() and not (path.is_file() and path.read_text() == text):
        shutil.rmtree(unfinished)
    unfinished.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(text)


def _append_vectors(
    kb: KnowledgeBase,
    encoder: Encoder,
    path: Path,
    progress: Progress | None,
    known: Sequence[KnownVectors],
    compression: str,
) -> np.ndarray:
    """Write the vectors of all names to a file, after those that are in it already. Return the hashes of all names."""
    header, row_size = _header(kb.n_names, encoder.dim, compression)
    path.touch()
    with path.open("r+b") as file:
        rows = max(0, path.stat().st_size - len(header)) // row_size
        complete = rows if rows == kb.n_names else rows // NAMES_PER_CHUNK * NAMES_PER_CHUNK
        file.write(header)
        file.truncate(len(header) + complete * row_size)
        file.seek(0, os.SEEK_END)
        done = 0
        all_hashes = np.zeros(kb.n_names, dtype=np.uint64)
        texts = kb.names()
        while names := list(islice(texts, NAMES_PER_CHUNK)):
            hashes = all_hashes[done : done + len(names)] = text_hashes(names, encoder)
            done += len(names)
            if done > complete:
                vectors = _encode(names, hashes, encoder, known)
                file.write(compress(vectors, compression).tobytes())
                file.flush()
            if progress:
                progress(done, kb.n_names)
    return all_hashes


def _header(n: int, dim: int, compression: str) -> tuple[bytes, int]:
    """Return the first bytes of the file of vectors, and the number of bytes of one vector."""
    kind = stored_type(dim, compression)
    shape = (n, dim) if kind.names is None else (n,)
    return array_header(kind, shape), kind.itemsize * (dim if kind.names is None else 1)


def _equalize(path: Path, hashes: np.ndarray) -> HashTable:
    """Give names with equal hashes the vector of the first, as batches round differently. Return the rows by hash."""
    table = HashTable.of(hashes)
    repeated, firsts = table.repeated()
    array = np.load(path, mmap_mode="r+", allow_pickle=False)
    for start in range(0, len(repeated), NAMES_PER_CHUNK):
        part = slice(start, start + NAMES_PER_CHUNK)
        array[repeated[part]] = array[firsts[part]]
    array.flush()
    return table


def _sample(array: np.ndarray) -> str:
    """Return a hash of some vectors. It is fast, and shows that a file belongs to its manifest."""
    rows = np.linspace(0, len(array) - 1, min(_SAMPLED, len(array)), dtype=np.int64)
    return hashlib.sha256(array[rows].tobytes()).hexdigest()


def _open_known(folder: Path) -> KnownVectors:
    manifest = _read_manifest(folder)
    with opening(folder):
        array = read_array(folder / VECTORS_FILE)
        if _sample(array) != manifest["sample"]:
            raise ValueError(f"{VECTORS_FILE} does not belong to {MANIFEST_FILE}")
        return KnownVectors(StoredVectors(array, manifest["dim"]), HashTable.open(folder))


def cached_table(kb: KnowledgeBase, kind: str, hashes: Callable[[], np.ndarray]) -> HashTable:
    """Return the rows of names by a hash of them. The table comes from the cache folder, or is made there.

    Args:
        kind: What is hashed. It is part of the name of the folder.
        hashes: Returns the hashes of all names, by row.
    """

    def build(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        HashTable.of(hashes()).save(folder)

    folder = cached_folder(cache_dir() / "names" / f"{kb.fingerprint[:16]}-{kind}", ROWS_FILE, build)
    with opening(folder):
        return HashTable.open(folder)


def _read_manifest(folder: Path) -> dict[str, Any]:
    with opening(folder):
        manifest: dict[str, Any] = parse_json((folder / MANIFEST_FILE).read_text())
        if not {"compression", "dim", "longest", "sample"} <= manifest.keys():
            raise ValueError(f"another version made {MANIFEST_FILE}")
        return manifest


def _manifest(kb: KnowledgeBase, encoder: Encoder, compression: str) -> dict[str, Any]:
    return {
        "store": kb.fingerprint,
        "encoder": encoder.fingerprint,
        "dim": encoder.dim,
        "compression": compression,
    }
