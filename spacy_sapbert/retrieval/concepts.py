"""The concepts that can be predicted for a document, their frozen vectors, and the names of concepts near to texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..encoders.encoder import Encoder, use_one_thread_after_fork
from ..errors import MismatchError
from ..files.output import replacing
from ..files.values import parse_json, read_array
from ..kb.filters import Filter, FilterMask
from ..kb.knowledge_base import KnowledgeBase
from ..store.artifact import Artifact, folder_artifact, opening
from ..store.cache import cache_dir, cached_folder, drop_oldest
from ..vectors.faiss_index import build_index, index_kind, read_index
from ..vectors.index import Index
from ..vectors.ngram_index import NgramIndex
from ..vectors.stored import best_of


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
            return best_of(cosines, positions, n)
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
        files = [name for name in (MANIFEST_FILE, VECTORS_FILE, INDEX_FILE) if (self.folder / name).is_file()]
        return folder_artifact("concepts", self.fingerprint, self.folder, files)


def cached_concept_vectors(concepts: ConceptSet, encoder: Encoder, kind: str) -> ConceptVectors:
    """Return the vectors of concepts by an encoder. They come from the cache folder, or are made there."""
    hashes = concepts.kb.fingerprint, _hash(concepts), encoder.fingerprint
    folder = cache_dir() / "concepts" / "-".join([*(hash[:16] for hash in hashes), kind])
    cached_folder(folder, MANIFEST_FILE, lambda folder: build_concept_vectors(concepts, encoder, kind, folder))
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
    return "; ".join([*forms, *([definition] if definition else [])])


def normal_name(name: str) -> str:
    """Return a name in lower case without hyphens and commas, with single blanks and inversions resolved.

    "Neoplasm, Breast" becomes "breast neoplasm". A name with several commas may be a list, so it keeps its order.
    """
    head, comma, rest = name.partition(", ")
    turned = f"{rest} {head}" if comma and ", " not in rest else name
    return " ".join(turned.lower().replace("-", " ").replace(",", " ").split())


# --- the names near to texts


CACHE_SIZE = 200_000  # texts
TEXTS_PER_BATCH = 512
ALIKE = 0.7  # least similarity of the n-grams of a text and a name, for the text to be encoded


class Near(NamedTuple):
    """The rows and cosines of the names nearest to a text, or to several, best first. -1 stands for no more rows."""

    rows: np.ndarray
    cosines: np.ndarray


NONE = Near(np.zeros(0, np.int64), np.zeros(0, np.float32))
"""What the cache has for a text without near names."""


class ConceptMatches(NamedTuple):
    """The concepts of the names near to some texts: numbers of texts, positions, and cosines of the names."""

    texts: np.ndarray
    positions: np.ndarray
    cosines: np.ndarray


class NearNames:
    """Finds the n names that are nearest to texts, among the names of a set of concepts, by the names' vectors."""

    def __init__(self, vectors: Index, concepts: ConceptSet, n: int = 10) -> None:
        self.vectors = vectors
        self.concepts = concepts
        self.n = min(n, concepts.n_names)
        self._cache: dict[str, Near] = {}

    def __call__(self, texts: Iterable[str]) -> dict[str, Near]:
        """Return the nearest names of each text."""
        near, missing = _known(texts, self._cache)
        if missing:
            vectors = self.vectors.encode(missing)  # all at once, since `encode` sorts them by length
            for start in range(0, len(missing), TEXTS_PER_BATCH):
                batch = slice(start, start + TEXTS_PER_BATCH)
                for text, *rows_and_cosines in zip(missing[batch], *self._nearest(vectors[batch]), strict=True):
                    near[text] = self._cache[text] = Near(*rows_and_cosines)
        drop_oldest(self._cache, CACHE_SIZE)
        return near

    def forget(self) -> None:
        """Forget the names of earlier texts."""
        self._cache.clear()

    def _nearest(self, queries: np.ndarray) -> Near:
        cosines, rows = self.vectors.nearest(queries, self.n, self.concepts.names)
        if self.vectors.local and not self.vectors.exact:  # estimates: the cosine of equal names may differ from 1
            pairs = zip(queries, rows, strict=True)
            cosines = np.stack([self.vectors.similarities(query[None], nearest)[0] for query, nearest in pairs])
        return Near(rows, cosines)

    def concepts_with(self, near: Sequence[Near], without: Collection[int] = ()) -> ConceptMatches:
        """Return the concepts of the nearest names of each text, without some rows of names."""
        rows = np.concatenate([NONE.rows, *(names.rows for names in near)])
        cosines = np.concatenate([NONE.cosines, *(names.cosines for names in near)])
        texts = np.repeat(np.arange(len(near)), np.array([len(names.rows) for names in near], dtype=np.int64))
        is_name = rows >= 0
        if without:
            is_name &= ~np.isin(rows, list(without))
        names, positions = self.concepts.owners(rows[is_name])
        return ConceptMatches(texts[is_name][names], positions, cosines[is_name][names])


class LikelyNames(NearNames):
    """Finds near names of those texts that look like a name, without a search over all vectors, which must be local.

    A text that is a name has a stored vector. Any other text is compared with names by its n-grams first. Only if one
    of them is alike, the text is encoded. Cosines are exact. Names without common n-grams are not found.
    """

    def __init__(self, vectors: Index, concepts: ConceptSet, ngrams: NgramIndex, n: int = 10) -> None:
        super().__init__(vectors, concepts, n)
        self.ngrams = ngrams
        self._alike: dict[str, Near] = {}

    def forget(self) -> None:
        super().forget()
        self._alike.clear()

    def find(self, texts: Iterable[str], likely: Collection[str]) -> dict[str, Near]:
        """Return near names, as a call does, for texts that have any; of an unlikely text, only equal names."""
        near, missing = _known(texts, self._alike)
        if missing:
            is_likely = np.array([text in likely for text in missing])
            for text, searched, *rows_and_cosines in zip(
                missing, is_likely, *self._find(missing, is_likely), strict=True
            ):
                names = Near(*rows_and_cosines)
                if names.rows[0] >= 0:
                    near[text] = self._alike[text] = names
                elif searched:
                    self._alike[text] = NONE
        drop_oldest(self._alike, CACHE_SIZE)
        return {text: names for text, names in near.items() if names is not NONE}

    def _find(self, texts: Sequence[str], likely: np.ndarray) -> Near:
        """Return rows and cosines, shape (len(texts), n). All texts are encoded at once, since this is faster."""
        which, rows = self.vectors.equal_names(texts)
        if self.concepts.names is not None:
            allowed = np.isin(rows, self.concepts.names.rows)
            which, rows = which[allowed], rows[allowed]
        equal = np.unique(which)
        others = np.setdiff1d(np.flatnonzero(likely), equal)
        asked = np.concatenate([equal, others])
        scores, proposed = self.ngrams.search([texts[i] for i in asked], self.n, self.concepts.names, together=True)
        alike = (np.arange(len(asked)) < len(equal)) | (scores.max(axis=1, initial=0) >= ALIKE)
        asked, proposed = asked[alike], proposed[alike]
        which = np.concatenate([which, np.repeat(asked, proposed.shape[1])])
        rows = np.concatenate([rows, proposed.ravel()])
        which, rows = np.unique(np.stack([which, rows])[:, rows >= 0], axis=1)
        queries = self.vectors.encode([texts[i] for i in asked])
        order = np.argsort(asked)
        cosines = self.vectors.products(queries, order[np.searchsorted(asked[order], which)], rows)
        return self._best(len(texts), which, rows, cosines)

    def _best(self, n_texts: int, which: np.ndarray, rows: np.ndarray, cosines: np.ndarray) -> Near:
        """Return the n nearest names of each text, with a row of -1 and a cosine of 0 where there are fewer."""
        order = np.lexsort((rows, -cosines, which))
        which, rows, cosines = which[order], rows[order], cosines[order]
        ranks = np.arange(len(which)) - np.searchsorted(which, which)
        first = ranks < self.n
        best = Near(np.full((n_texts, self.n), -1, np.int64), np.zeros((n_texts, self.n), np.float32))
        best.rows[which[first], ranks[first]] = rows[first]
        best.cosines[which[first], ranks[first]] = cosines[first]
        return best


def _known(texts: Iterable[str], cache: dict[str, Near]) -> tuple[dict[str, Near], list[str]]:
    """Return the near names of texts that a cache has, and the other texts, once each."""
    unique = list(dict.fromkeys(texts))
    known = {text: names for text in unique if (names := cache.get(text)) is not None}
    return known, [text for text in unique if text not in known]
