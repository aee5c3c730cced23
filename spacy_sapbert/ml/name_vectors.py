"""The dense vectors of all names of a store, on disk and memory-mapped, and the nearest among them."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from ..errors import Errors, SapbertError
from ..files import cache_dir
from ..kb.store import ConceptStore
from ..text.hashing import hash64
from ..text.normalise import NORMALISERS
from .forking import compute_alone_after_fork
from .transformer_encoder import TransformerEncoder

logger = logging.getLogger(__name__)

MANIFEST_FILE = "vectors.json"
VECTORS_FILE = "vectors.npy"
NAMES_PER_CHUNK = 8192

Progress = Callable[[int, int], None]


class NameVectors:
    """One vector a name of the store, by row; an exact index by inner product.

    folder (Path): where `build_name_vectors` put them.
    RAISES (SapbertError): E305 they belong to another store or encoder, E306 something is missing.
    """

    def __init__(self, folder: Path, store: ConceptStore, encoder: TransformerEncoder) -> None:
        self.folder = folder
        self.encoder = encoder
        self._store = store
        try:
            manifest = json.loads((folder / MANIFEST_FILE).read_text())
            self.vectors: np.ndarray = np.load(folder / VECTORS_FILE, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise SapbertError(Errors.E306.format(path=folder, reason=error)) from error
        if manifest != _manifest(store, encoder) or len(self.vectors) != store.n_names:
            raise SapbertError(Errors.E305.format(path=folder))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Encode texts; one that is a name already takes that name's vector, without the encoder.

        RETURNS (float32, shape (len(texts), dim)): vectors of unit length.
        """
        normalise = NORMALISERS[self.encoder.normaliser]
        hashes, rows = self._forms
        wanted = np.array([hash64(normalise(text)) for text in texts], dtype=np.uint64)
        places = np.searchsorted(hashes, wanted).clip(max=len(hashes) - 1)
        known = hashes[places] == wanted
        vectors = np.zeros((len(texts), self.vectors.shape[1]), dtype=np.float32)
        vectors[known] = self.vectors[rows[places[known]]]
        if not known.all():
            vectors[~known] = self.encoder.encode([texts[i] for i in np.flatnonzero(~known)])
        return vectors

    def similarities(self, queries: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """RETURNS (float32, shape (len(queries), len(rows) or all)): cosines with the names at these rows."""
        return queries @ (self.vectors if rows is None else self.vectors[rows]).T

    def nearest(self, queries: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """RETURNS (float32 and int64, shape (len(queries), n)): cosines and rows of the n nearest names, best first."""
        import faiss

        compute_alone_after_fork()
        scores, rows = faiss.knn(queries, np.asarray(self.vectors), n, metric=faiss.METRIC_INNER_PRODUCT)
        return scores, rows

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (MANIFEST_FILE, VECTORS_FILE):
            shutil.copyfile(self.folder / name, folder / name)

    @cached_property
    def _forms(self) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of the names' normal forms, sorted, and the row of each."""
        normalise = NORMALISERS[self.encoder.normaliser]
        hashes = np.fromiter((hash64(normalise(name)) for name in self._store.names()), dtype=np.uint64)
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order


def cached_name_vectors(
    store: ConceptStore, encoder: TransformerEncoder, progress: Progress | None = None
) -> NameVectors:
    """Take the vectors of this store by this encoder from the cache folder, or make them there."""
    folder = cache_dir() / "vectors" / f"{store.fingerprint[:16]}-{encoder.fingerprint[:16]}"
    if not (folder / MANIFEST_FILE).is_file():
        logger.info("Encoding %d names of %s into %s", store.n_names, store.path, folder)
        build_name_vectors(store, encoder, folder, progress)
    return NameVectors(folder, store, encoder)


def build_name_vectors(
    store: ConceptStore, encoder: TransformerEncoder, folder: Path, progress: Progress | None = None
) -> None:
    """Encode all names of a store. A build that was cut off goes on where it stopped.

    progress (Callable[[int, int], None] | None): told the names done and the names in all.
    """
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    manifest = json.dumps(_manifest(store, encoder), sort_keys=True)
    if not _same(parts / MANIFEST_FILE, manifest):
        shutil.rmtree(parts)
        parts.mkdir()
        (parts / MANIFEST_FILE).write_text(manifest)
    done = 0
    for i, names in enumerate(_chunks(store.names(), NAMES_PER_CHUNK)):
        if not (parts / f"{i}.npy").is_file():
            _save(parts / f"{i}.npy", encoder.encode(names, fast=True))
        done += len(names)
        if progress:
            progress(done, store.n_names)
    _join(
        [parts / f"{i}.npy" for i in range(-(-store.n_names // NAMES_PER_CHUNK))], folder / VECTORS_FILE, store.n_names
    )
    os.replace(parts / MANIFEST_FILE, folder / MANIFEST_FILE)  # last: its presence says that all is there
    shutil.rmtree(parts)


def _manifest(store: ConceptStore, encoder: TransformerEncoder) -> dict[str, str]:
    return {"store": store.fingerprint, "encoder": encoder.fingerprint}


def _chunks(names: Iterator[str], size: int) -> Iterator[list[str]]:
    while chunk := list(islice(names, size)):
        yield chunk


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text


def _save(path: Path, vectors: np.ndarray) -> None:
    temporary = path.with_suffix(".tmp.npy")
    np.save(temporary, vectors, allow_pickle=False)
    os.replace(temporary, path)


def _join(parts: list[Path], path: Path, rows: int) -> None:
    dim = np.load(parts[0], mmap_mode="r").shape[1]
    temporary = path.with_suffix(".tmp.npy")
    joined = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=(rows, dim))
    start = 0
    for part in parts:
        vectors = np.load(part, allow_pickle=False)
        joined[start : start + len(vectors)] = vectors
        start += len(vectors)
    joined.flush()
    os.replace(temporary, path)
