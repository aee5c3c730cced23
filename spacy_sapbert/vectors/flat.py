"""Dense vectors of all names of a knowledge base, memory-mapped from disk, and the exact nearest-name search."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..assets import fingerprint_of
from ..encoders.fork_safety import use_one_thread_after_fork
from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, SapbertError
from ..files import cache_dir, replacing
from ..kb.knowledge_base import KnowledgeBase
from ..text.characters import slices
from ..text.hashing import hash64
from ..text.normalize import TEXT_NORMALIZERS
from .index import Index

if TYPE_CHECKING:
    from ..kb.filters import FilterMask

logger = logging.getLogger(__name__)

MANIFEST_FILE = "vectors.json"
VECTORS_FILE = "vectors.npy"
HASHES_FILE = "hashes.npy"
NAMES_PER_CHUNK = 8192

Progress = Callable[[int, int], None]


class NameVectors(Index):
    """One vector per name of the knowledge base, by row, with an exact inner-product search over all names.

    Args:
        folder: The folder that `build_name_vectors` wrote.
        kb: The knowledge base.
        encoder: The encoder.

    Attributes:
        fingerprint (str): A hash of what the vectors are made of. Equal hashes mean equal vectors.
        known (KnownVectors): The vectors by name, for another knowledge base with some of these names.

    Raises:
        SapbertError: E305 the vectors belong to another knowledge base or encoder, E306 a file is missing or damaged.
    """

    exact = True
    local = True

    def __init__(self, folder: Path, kb: KnowledgeBase, encoder: TransformerEncoder) -> None:
        self.folder = folder
        self.encoder = encoder
        try:
            manifest = json.loads((folder / MANIFEST_FILE).read_text())
        except (OSError, ValueError) as error:
            raise SapbertError(Errors.E306.format(path=folder, reason=error)) from error
        self.known = _open_known(folder)
        if manifest != _manifest(kb, encoder) or len(self.known.vectors) != kb.n_names:
            raise SapbertError(Errors.E305.format(path=folder))
        self.fingerprint = fingerprint_of(manifest)

    @property
    def vectors(self) -> np.ndarray:
        """The vectors, float32, shape (names, dim), memory-mapped."""
        return self.known.vectors

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Encode texts, see `Index.encode`. A text that is a name gets its stored vector, without the encoder."""
        return _encode(texts, self.encoder, [self.known])

    def equal_names(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self.known.find_all(_hashes(texts, self.encoder))

    def products(self, queries: np.ndarray, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.einsum("md,md->m", queries[which], self.vectors[rows])

    def similarities(self, queries: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        return queries @ (self.vectors if rows is None else self.vectors[rows]).T

    def nearest(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        import faiss

        use_one_thread_after_fork()
        vectors = np.asarray(self.vectors if mask is None else self.vectors[mask.rows])
        scores, rows = faiss.knn(queries, vectors, n, metric=faiss.METRIC_INNER_PRODUCT)
        return scores, rows if mask is None else mask.rows[rows]

    @cached_property
    def longest(self) -> float:
        starts = range(0, len(self.vectors), NAMES_PER_CHUNK)
        return max(float(np.linalg.norm(self.vectors[i : i + NAMES_PER_CHUNK], axis=1).max()) for i in starts)

    def save(self, folder: Path) -> None:
        """Copy the vectors into a folder, where `NameVectors` opens them."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in (MANIFEST_FILE, VECTORS_FILE, HASHES_FILE):
            shutil.copyfile(self.folder / name, folder / name)


class HashTable:
    """Find rows by hashes from `hash64`.

    Args:
        hashes: The hashes by row, uint64, shape (n,). Of equal ones, the first is found.
    """

    def __init__(self, hashes: np.ndarray) -> None:
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def find(self, hashes: np.ndarray) -> np.ndarray:
        """Return the row of each hash, or -1, int64, shape (len(hashes),)."""
        places = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
        return np.where(self._hashes[places] == hashes, self._order[places], -1)

    def find_all(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lefts = np.searchsorted(self._hashes, hashes)
        counts = np.searchsorted(self._hashes, hashes, side="right") - lefts
        return np.repeat(np.arange(len(hashes)), counts), self._order[slices(lefts, counts)]


class KnownVectors(HashTable):
    """Find vectors by the normal form of their texts.

    Args:
        vectors: The vectors of the texts, float32, shape (n, dim).
        hashes: The hashes of the same texts in the same order, uint64, shape (n,).
    """

    def __init__(self, vectors: np.ndarray, hashes: np.ndarray) -> None:
        super().__init__(hashes)
        self.vectors = vectors


def _encode(
    texts: Sequence[str], encoder: TransformerEncoder, known: Sequence[KnownVectors], *, fast: bool = False
) -> np.ndarray:
    """Encode texts, but reuse the vectors that are known."""
    hashes = _hashes(texts, encoder)
    vectors = np.zeros((len(texts), encoder.dim), dtype=np.float32)
    missing = np.ones(len(texts), dtype=bool)
    for other in known:
        rows = other.find(hashes)
        found = missing & (rows >= 0)
        vectors[found] = other.vectors[rows[found]]
        missing &= ~found
    if missing.any():
        vectors[missing] = encoder.encode([texts[i] for i in np.flatnonzero(missing)], fast=fast)
    return vectors


def _hashes(texts: Iterable[str], encoder: TransformerEncoder) -> np.ndarray:
    normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
    return np.fromiter((hash64(normalize(text)) for text in texts), dtype=np.uint64)


def cached_name_vectors(
    kb: KnowledgeBase, encoder: TransformerEncoder, progress: Progress | None = None
) -> NameVectors:
    """Return the vectors of a knowledge base by an encoder. They come from the cache folder, or are made there.

    Names in other cached knowledge bases with the same encoder are not encoded again.

    Args:
        kb: The knowledge base.
        encoder: The encoder.
        progress: See `build_name_vectors`.
    """
    from filelock import FileLock

    folder = vectors_cache(kb, encoder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):  # of several processes, only one builds
        if not (folder / MANIFEST_FILE).is_file():
            logger.info("Encoding %d names of %s into %s", kb.n_names, kb.path, folder)
            others = sorted(folder.parent.glob(f"*-{encoder.fingerprint[:16]}/{MANIFEST_FILE}"))
            build_name_vectors(kb, encoder, folder, progress, [_open_known(other.parent) for other in others])
    return NameVectors(folder, kb, encoder)


def vectors_cache(kb: KnowledgeBase, encoder: TransformerEncoder) -> Path:
    """Return the cache folder for a knowledge base and an encoder."""
    return cache_dir() / "vectors" / f"{kb.fingerprint[:16]}-{encoder.fingerprint[:16]}"


def build_name_vectors(
    kb: KnowledgeBase,
    encoder: TransformerEncoder,
    folder: Path,
    progress: Progress | None = None,
    known: Sequence[KnownVectors] = (),
) -> None:
    """Encode all names of a knowledge base. An interrupted build continues where it stopped.

    Args:
        kb: The knowledge base.
        encoder: The encoder.
        folder: The folder to write.
        progress: Called with the number of names done and the number of all names.
        known: Vectors of the same encoder, which are not computed again.

    Raises:
        SapbertError: E507 a file cannot be written.
    """
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    manifest = json.dumps(_manifest(kb, encoder), sort_keys=True)
    if not _has_content(parts / MANIFEST_FILE, manifest):
        shutil.rmtree(parts)
        parts.mkdir()
        (parts / MANIFEST_FILE).write_text(manifest)
    done = 0
    for i, names in enumerate(_chunks(kb.names(), NAMES_PER_CHUNK)):
        if not (parts / f"{i}.npy").is_file():
            _save(parts / f"{i}.npy", _encode(names, encoder, known, fast=True))
        done += len(names)
        if progress:
            progress(done, kb.n_names)
    _join([parts / f"{i}.npy" for i in range(-(-kb.n_names // NAMES_PER_CHUNK))], folder / VECTORS_FILE, kb.n_names)
    _save(folder / HASHES_FILE, _hashes(kb.names(), encoder))
    os.replace(parts / MANIFEST_FILE, folder / MANIFEST_FILE)  # last: the manifest marks the folder as complete
    shutil.rmtree(parts)


def _open_known(folder: Path) -> KnownVectors:
    try:
        vectors = np.load(folder / VECTORS_FILE, mmap_mode="r", allow_pickle=False)
        return KnownVectors(vectors, np.load(folder / HASHES_FILE, allow_pickle=False))
    except (OSError, EOFError, ValueError) as error:
        raise SapbertError(Errors.E306.format(path=folder, reason=error)) from error


def _manifest(kb: KnowledgeBase, encoder: TransformerEncoder) -> dict[str, str]:
    return {"store": kb.fingerprint, "encoder": encoder.fingerprint}


def _chunks(names: Iterator[str], size: int) -> Iterator[list[str]]:
    while chunk := list(islice(names, size)):
        yield chunk


def _has_content(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text


def _save(path: Path, array: np.ndarray) -> None:
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def _join(parts: list[Path], path: Path, rows: int) -> None:
    dim = np.load(parts[0], mmap_mode="r").shape[1]
    with replacing(path) as temporary:
        joined = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=(rows, dim))
        start = 0
        for part in parts:
            vectors = np.load(part, allow_pickle=False)
            joined[start : start + len(vectors)] = vectors
            start += len(vectors)
        joined.flush()
