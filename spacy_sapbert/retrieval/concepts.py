"""The concepts that can be predicted for a document, and their frozen vectors, memory-mapped from disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..encoders.encoder import Encoder
from ..encoders.fork_safety import use_one_thread_after_fork
from ..errors import MismatchError
from ..files.output import replacing
from ..files.values import parse_json, read_array
from ..kb.filters import Filter, FilterMask
from ..kb.knowledge_base import KnowledgeBase
from ..store.artifact import Artifact, copy_parts, opening
from ..store.cache import cache_dir, make_once
from ..vectors.faiss_index import build_index, index_kind, read_index


class ConceptSet:
    """A set of concepts of a knowledge base. Each has a position, in the order of the rows.

    Args:
        ids: Primary or alternative ids; None for all. Ids that the knowledge base does not have are ignored.
        types: Only concepts of these types; empty for all.
    """

    def __init__(self, kb: KnowledgeBase, ids: Collection[str] | None = None, types: Sequence[str] = ()) -> None:
        self.kb = kb
        chosen = np.ones(len(kb), dtype=bool)
        if ids is not None:
            chosen = np.zeros(len(kb), dtype=bool)
            chosen[[row for concept_id in ids for row in kb.concept_rows(concept_id)]] = True
        if types:
            typed = np.zeros(len(kb), dtype=bool)
            typed[kb.name_concepts.concepts[kb.matching_entries(types)]] = True
            chosen &= typed
        self.rows = np.flatnonzero(chosen)
        self._positions = np.full(len(kb), -1)
        self._positions[self.rows] = np.arange(len(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def ids(self) -> list[str]:
        """The primary ids, by position."""
        chosen = set(self.rows.tolist())
        return [concept_id for row, concept_id in enumerate(self.kb.concept_ids()) if row in chosen]

    def positions_of(self, concept_id: str) -> list[int]:
        """Return the positions of the concepts of the set with this primary or alternative id."""
        positions = (int(self._positions[row]) for row in self.kb.concept_rows(concept_id))
        return [position for position in positions if position >= 0]

    @cached_property
    def names(self) -> FilterMask | None:
        """The filter mask of the names of these concepts, for `Index.nearest`. None if all names are included."""
        if len(self) == len(self.kb):
            return None
        entries = self._positions[self.kb.name_concepts.concepts] >= 0
        return FilterMask(Filter(), entries, np.unique(self.kb.name_concepts.names[entries]))

    @property
    def n_names(self) -> int:
        """The number of names of these concepts."""
        return self.kb.n_names if self.names is None else len(self.names.rows)

    def owners(self, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the concepts of names, one pair per name and concept: indices into `names`, and positions."""
        which, owners = self.kb.name_concepts.of(names)
        positions = self._positions[self.kb.name_concepts.concepts[owners]]
        return which[positions >= 0], positions[positions >= 0]


MANIFEST_FILE = "concepts.json"
VECTORS_FILE = "concepts.npy"
INDEX_FILE = "concepts.faiss"
EXACT_LIMIT = 200_000  # concepts
CELLS = "IVF,PQ"
"""The index for more than `EXACT_LIMIT` concepts: √N cells with quantized vectors, as in Shao et al. (2024)."""
REFINED = 4
"""With an index, four times the wanted number of concepts are compared exactly."""
CHUNK = 4096
SEPARATOR = "; "


class ConceptVectors:
    """The vectors of the concepts of a set, by position, in a folder that `build_concept_vectors` wrote."""

    def __init__(self, folder: Path, concepts: ConceptSet) -> None:
        self.folder = folder
        self.concepts = concepts
        with opening(folder):
            manifest = parse_json((folder / MANIFEST_FILE).read_text())
            concepts_hash, self.kind = str(manifest["concepts"]), str(manifest["kind"])
            self.vectors = read_array(folder / VECTORS_FILE)
        if concepts_hash != _hash(concepts) or len(self.vectors) != len(concepts):
            remedy = "Delete the folder, or assemble the pipeline again."
            raise MismatchError(remedy, path=folder, reason="the vectors are those of other concepts")
        self._index: Any = None
        if (folder / INDEX_FILE).is_file():
            self._index = read_index(folder / INDEX_FILE)

    def nearest(self, queries: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the n nearest concepts of vectors, float32, shape (q, dim). With many concepts, the index may miss some.

        Returns:
            Cosines and positions, float32 and int64, shape (q, n), best first. -1 means that no more concepts were
                found.
        """
        import faiss

        use_one_thread_after_fork()
        n = min(n, len(self.vectors))
        if self._index is not None:
            _, positions = self._index.search(queries, min(REFINED * n, len(self.vectors)))
            # the index only estimated the cosines
            cosines = np.einsum("qd,qmd->qm", queries, self.vectors[positions.clip(min=0)])
            cosines[positions < 0] = -np.inf
            best = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
            return np.take_along_axis(cosines, best, axis=1), np.take_along_axis(positions, best, axis=1)
        scores, positions = faiss.knn(queries, np.asarray(self.vectors), n, metric=faiss.METRIC_INNER_PRODUCT)
        return scores, positions

    def similarities(self, queries: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return exact cosines, float32, shape (len(queries), len(positions))."""
        similarities: np.ndarray = queries @ self.vectors[positions].T
        return similarities

    def subset(self, concepts: ConceptSet, folder: Path) -> ConceptVectors:
        """Return the vectors of a subset of the concepts, in their own folder."""
        rows = np.searchsorted(self.concepts.rows, concepts.rows)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / VECTORS_FILE, self.vectors[rows], allow_pickle=False)
        _write_index_and_manifest(folder, concepts, self.kind)
        return ConceptVectors(folder, concepts)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of concepts and vectors. Vectors of other names or of another encoder have another hash."""
        digest = hashlib.sha256((self.folder / MANIFEST_FILE).read_bytes())
        for start in range(0, len(self.vectors), CHUNK):
            digest.update(self.vectors[start : start + CHUNK].tobytes())
        return digest.hexdigest()

    def artifact(self) -> Artifact:
        """Return the vectors as an artifact of a component."""
        return Artifact("concepts", self.fingerprint, self.save, large=True, source=self.folder, parts=self.files)

    @property
    def files(self) -> list[str]:
        """The names of the files of vectors and index."""
        return [name for name in (MANIFEST_FILE, VECTORS_FILE, INDEX_FILE) if (self.folder / name).is_file()]

    def save(self, folder: Path) -> None:
        """Write vectors and index into a folder."""
        copy_parts(self.folder, folder, self.files)


def cached_concept_vectors(concepts: ConceptSet, encoder: Encoder, kind: str) -> ConceptVectors:
    """Return the vectors of concepts by an encoder. They come from the cache folder, or are made there."""
    names = concepts.kb.fingerprint[:16]
    folder = cache_dir() / "concepts" / f"{names}-{_hash(concepts)[:16]}-{encoder.fingerprint[:16]}-{kind}"
    is_made = (folder / MANIFEST_FILE).is_file
    make_once(folder, is_made, lambda: build_concept_vectors(concepts, encoder, kind, folder))
    return ConceptVectors(folder, concepts)


def build_concept_vectors(concepts: ConceptSet, encoder: Encoder, kind: str, folder: Path) -> None:
    """Encode the concepts of a set into a folder.

    "packed" encodes one text of all names and the definition. "mean" is the mean of the names' vectors, scaled to unit
    length.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shape = len(concepts), encoder.dim
    with replacing(folder / VECTORS_FILE) as temporary:
        vectors = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=shape)
        described = filter(None, map(concepts.kb.get, concepts.ids))
        texts = (([each.canonical_name, *each.aliases], each.definition) for each in described)
        for start in range(0, len(concepts), CHUNK):
            chunk = list(islice(texts, CHUNK))
            packed = [concept_text(names, definition) for names, definition in chunk] if kind == "packed" else []
            encoded = encoder.encode(packed, fast=True) if packed else _means(chunk, encoder)
            vectors[start : start + CHUNK] = encoded
        vectors.flush()
    _write_index_and_manifest(folder, concepts, kind)


def _means(concepts: list[tuple[list[str], str | None]], encoder: Encoder) -> np.ndarray:
    forms = [list(dict.fromkeys(map(normal_name, names))) for names, _ in concepts]
    vectors = encoder.encode([form for names in forms for form in names], fast=True)
    sums = np.add.reduceat(vectors, np.cumsum([0, *map(len, forms[:-1])]), axis=0)
    means: np.ndarray = sums / np.linalg.norm(sums, axis=1, keepdims=True).clip(min=np.finfo(np.float32).tiny)
    return means


def _write_index_and_manifest(folder: Path, concepts: ConceptSet, kind: str) -> None:
    """Build an index if there are many concepts. Then write the manifest, which marks the folder as complete."""
    if len(concepts) > EXACT_LIMIT:
        vectors = np.load(folder / VECTORS_FILE, mmap_mode="r", allow_pickle=False)
        build_index(vectors, index_kind(CELLS, *vectors.shape)[0], folder / INDEX_FILE)
    manifest = {"concepts": _hash(concepts), "kind": kind}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest))


def _hash(concepts: ConceptSet) -> str:
    """Return a hash of the concepts and their order. It does not depend on their names."""
    return hashlib.sha256("\n".join(concepts.ids).encode()).hexdigest()


# --- the texts of concepts


def concept_text(names: Iterable[str], definition: str | None = None) -> str:
    """Return the unique names in normal form, and the definition."""
    forms = dict.fromkeys(form for name in names if (form := normal_name(name)))
    return SEPARATOR.join([*forms, *([definition] if definition else [])])


def normal_name(name: str) -> str:
    """Return a name in lower case without hyphens and commas, with single blanks and inversions resolved.

    "Neoplasm, Breast" becomes "breast neoplasm". A name with several commas may be a list, so it keeps its order.
    """
    head, comma, rest = name.partition(", ")
    turned = f"{rest} {head}" if comma and ", " not in rest else name
    return " ".join(turned.lower().replace("-", " ").replace(",", " ").split())
