"""One frozen vector for each concept of a set, on disk and memory-mapped, and the nearest among them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..encoders.fork_safety import use_one_thread_after_fork
from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, SapbertError
from ..files import cache_dir, replacing
from ..linking.candidates import EXACT_LIMIT
from ..vectors.faiss_index import build_index, index_kind, read_index
from .concept_set import ConceptSet
from .concept_texts import concept_text, normal_name

MANIFEST_FILE = "concepts.json"
VECTORS_FILE = "concepts.npy"
INDEX_FILE = "concepts.faiss"
CELLS = "IVF,PQ"
"""The index above `EXACT_LIMIT` concepts: √N cells with quantised vectors, as in Shao et al. (2024)."""
REFINED = 4
"""Of an index, so many times as many concepts as wanted are compared exactly."""
CHUNK = 4096


class ConceptVectors:
    """The vectors of the concepts of a set, by place.

    Args:
        folder: where `build_concept_vectors` put them.
        concepts: what they stand for.

    Raises:
        SapbertError: E305 they belong to other concepts, E306 something is missing.
    """

    def __init__(self, folder: Path, concepts: ConceptSet) -> None:
        self.folder = folder
        self.concepts = concepts
        try:
            manifest = json.loads((folder / MANIFEST_FILE).read_text())
            of_concepts, self.kind = str(manifest["concepts"]), str(manifest["kind"])
            self.vectors = np.load(folder / VECTORS_FILE, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SapbertError(Errors.E306.format(path=folder, reason=repr(error))) from error
        if of_concepts != _hash(concepts) or len(self.vectors) != len(concepts):
            raise SapbertError(Errors.E305.format(path=folder))
        self._index: Any = None
        if (folder / INDEX_FILE).is_file():
            self._index = read_index(folder / INDEX_FILE, len(concepts))

    def nearest(self, queries: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return `float32 and int64, shape (len(queries), n)`: cosines and places of the nearest, best first; places of
        -1 where there are no more. Among many concepts some may be missed.

        Raises:
            SapbertError: E646 the queries have another dimension.
        """
        import faiss

        use_one_thread_after_fork()
        if queries.shape[1] != self.vectors.shape[1]:
            raise SapbertError(Errors.E646.format(documents=queries.shape[1], concepts=self.vectors.shape[1]))
        n = min(n, len(self.vectors))
        if self._index is not None:
            _, places = self._index.search(queries, min(REFINED * n, len(self.vectors)))
            return self._refined(queries, places, n)
        scores, places = faiss.knn(queries, np.asarray(self.vectors), n, metric=faiss.METRIC_INNER_PRODUCT)
        return scores, places

    def similarities(self, queries: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return `float32, shape (len(queries), len(places))`: exact cosines."""
        similarities: np.ndarray = queries @ self.vectors[places].T
        return similarities

    def _refined(self, queries: np.ndarray, places: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ``: as `nearest`, the best n of those at `places`, which an index knows by estimates only."""
        cosines = np.einsum("qd,qmd->qm", queries, self.vectors[places.clip(min=0)])
        cosines[places < 0] = -np.inf
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
        return np.take_along_axis(cosines, best, axis=1), np.take_along_axis(places, best, axis=1)

    def of(self, concepts: ConceptSet, folder: Path) -> ConceptVectors:
        """Return `ConceptVectors`: those of some of the concepts, in a folder of their own."""
        rows = np.searchsorted(self.concepts.rows, concepts.rows)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / VECTORS_FILE, self.vectors[rows], allow_pickle=False)
        _finish(folder, concepts, self.kind)
        return ConceptVectors(folder, concepts)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (MANIFEST_FILE, VECTORS_FILE, INDEX_FILE):
            if (self.folder / name).is_file():
                shutil.copyfile(self.folder / name, folder / name)


def cached_concept_vectors(concepts: ConceptSet, encoder: TransformerEncoder, kind: str) -> ConceptVectors:
    """Take the vectors of these concepts by this encoder from the cache folder, or make them there."""
    from filelock import FileLock

    names = concepts.kb.fingerprint[:16]
    folder = cache_dir() / "concepts" / f"{names}-{_hash(concepts)[:16]}-{encoder.fingerprint[:16]}-{kind}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / MANIFEST_FILE).is_file():
            build_concept_vectors(concepts, encoder, kind, folder)
    return ConceptVectors(folder, concepts)


def build_concept_vectors(concepts: ConceptSet, encoder: TransformerEncoder, kind: str, folder: Path) -> None:
    """Encode the concepts of a set.

    Args:
        kind: "packed", one text of all names and the definition; or "mean", the mean of the names' vectors, brought to
            unit length.
    """
    folder.mkdir(parents=True, exist_ok=True)
    encode, shape = _packed if kind == "packed" else _mean, (len(concepts), encoder.dim)
    with replacing(folder / VECTORS_FILE) as temporary:
        vectors = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=shape)
        start = 0
        for texts in _chunks(_texts(concepts)):
            vectors[start : start + len(texts)] = encode(texts, encoder)
            start += len(texts)
        vectors.flush()
    _finish(folder, concepts, kind)


def _packed(concepts: list[tuple[list[str], str | None]], encoder: TransformerEncoder) -> np.ndarray:
    return encoder.encode([concept_text(names, definition) for names, definition in concepts], fast=True)


def _mean(concepts: list[tuple[list[str], str | None]], encoder: TransformerEncoder) -> np.ndarray:
    forms = [list(dict.fromkeys(map(normal_name, names))) for names, _ in concepts]
    vectors = encoder.encode([form for of_concept in forms for form in of_concept], fast=True)
    sums = np.add.reduceat(vectors, np.cumsum([0, *map(len, forms[:-1])]), axis=0)
    means: np.ndarray = sums / np.linalg.norm(sums, axis=1, keepdims=True).clip(min=np.finfo(np.float32).tiny)
    return means


def _texts(concepts: ConceptSet) -> Iterator[tuple[list[str], str | None]]:
    """Yield names and definition of each concept."""
    for concept_id in concepts.ids:
        concept = concepts.kb.get(concept_id)
        assert concept is not None
        yield [concept.canonical_name, *concept.aliases], concept.definition


def _chunks(items: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(items, CHUNK)):
        yield chunk


def _finish(folder: Path, concepts: ConceptSet, kind: str) -> None:
    """Make an index where the concepts are many, and write the manifest, whose presence says that all is there."""
    if len(concepts) > EXACT_LIMIT:
        vectors = np.load(folder / VECTORS_FILE, mmap_mode="r", allow_pickle=False)
        build_index(vectors, index_kind(CELLS, *vectors.shape)[0], folder / INDEX_FILE)
    manifest = {"concepts": _hash(concepts), "kind": kind}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest))


def _hash(concepts: ConceptSet) -> str:
    """Return `str`: equal for the same concepts in the same order, whatever names they have gained since."""
    return hashlib.sha256("\n".join(concepts.ids).encode()).hexdigest()
