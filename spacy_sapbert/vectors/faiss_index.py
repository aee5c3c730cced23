"""Find the nearest names with a faiss index: faster than an exact search, but it may miss some."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoders.encoder import use_one_thread_after_fork
from ..errors import Errors, SapbertError, SettingError
from ..files.output import replacing
from ..files.values import parse_json
from ..kb.knowledge_base import KnowledgeBase
from ..store.artifact import Artifact, fingerprint_of, folder_artifact, opening
from ..store.cache import cached_folder, shared
from .flat import NAMES_PER_CHUNK, NameVectors, vectors_cache
from .stored import StoredVectors

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder
    from ..kb.filters import FilterMask

# An IVF index searches the nearest eighth of its cells, but at least `LEAST_PROBED` cells.
PROBED_SHARE = 8
LEAST_PROBED = 32
EF_SEARCH = 256
AUTO = "auto"
"""The index that is chosen by the number of names."""
EXACT_NAMES = 20_000
"""Up to this number of names, an exact search costs about as much as an index. Masks with few rows use it as well."""
REFINED, LEAST_REFINED = 3, 128
"""An index is asked for three times the wanted number of names, at least for 128. Their products decide."""
PROPOSED = 3
"""Proposals are a third more than the wanted number of names, since their products are not compared."""
AUTO_PROBED = 128
AUTO_PROBED_SHARE = 3 / 8
"""Of few cells, "auto" searches this share."""
MOST_SEARCHED = 2**18
"""The names in the cells that "auto" searches, so that the time does not grow with the vocabulary."""
MOST_CELLS = 2048
"""To find the cells of ten million names, "auto" needs two minutes of one core."""
SHORT_VECTOR = 256
"""With fewer dimensions, "auto" stores four bits for two of them, since each says more."""
NAMES_PER_CENTROID = 64  # for training
LEAST_TRAINED = 32_768
ROUNDS = 6  # of k-means; more find no nearer names


class FaissVectors(NameVectors):
    """Name vectors with a faiss index. The index only proposes names. Their scores come from the vectors themselves.

    Args:
        path: The index that `build_index` made. It is memory-mapped.
        parameters: Search parameters in faiss's notation ("nprobe=32", "efSearch=256"). By default, a graph is
            searched with `EF_SEARCH`. An IVF index searches one in `PROBED_SHARE` cells, at least `LEAST_PROBED`.
    """

    exact = False

    def __init__(self, folder: Path, kb: KnowledgeBase, encoder: Encoder, path: Path, parameters: str = "") -> None:
        super().__init__(folder, kb, encoder)
        self.path = path
        with opening(path.parent):
            if parse_json(description(path).read_text())["vectors"] != self.manifest:
                raise ValueError(f"{path.name} belongs to other vectors")
        self._index = read_index(path)
        try:
            _faiss().ParameterSpace().set_index_parameters(self._index, parameters)
        except RuntimeError as error:
            wanted = "search parameters, as in 'IVF1024,Flat;nprobe=32' or 'HNSW32;efSearch=256'"
            raise SettingError(setting="index", component=path.stem, value=parameters, wanted=wanted) from error

    def nearest(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        if mask is not None and len(mask.rows) <= EXACT_NAMES:
            return super().nearest(queries, n, mask)
        return self._best(queries, self._search(queries, max(REFINED * n, LEAST_REFINED), mask), n)

    def propose(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> np.ndarray:
        if mask is not None and len(mask.rows) <= EXACT_NAMES:
            return super().propose(queries, n, mask)
        return self._search(queries, n + n // PROPOSED, mask)

    def _search(self, queries: np.ndarray, n: int, mask: FilterMask | None) -> np.ndarray:
        """Return the rows of the n names with the highest estimates."""
        n = min(self._index.ntotal, n)
        if mask is not None:
            return self._search_allowed(queries, n, mask)
        rows: np.ndarray = self._index.search(queries, n)[1]
        return rows

    def _search_allowed(self, queries: np.ndarray, n: int, mask: FilterMask) -> np.ndarray:
        allowed = np.zeros(self._index.ntotal, dtype=bool)
        allowed[mask.rows] = True
        bits = np.packbits(allowed, bitorder="little")  # the selector only points to them, so keep them alive
        parameters = _search_parameters(self._index, _faiss().IDSelectorBitmap(bits))
        try:
            rows: np.ndarray = self._index.search(queries, n, params=parameters)[1]
        except RuntimeError as error:
            wanted = "an index with cells, a graph or SQ8, since others cannot search some types or sources only"
            raise SettingError(setting="index", component="the linker", value=self.path.stem, wanted=wanted) from error
        return rows

    def _best(self, queries: np.ndarray, rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the products and rows of the best n of some names for each query; -1 stands for no name."""
        which, columns = np.nonzero(rows >= 0)
        products = np.full(rows.shape, -np.inf, dtype=np.float32)
        products[which, columns] = self.products(queries, which, rows[which, columns])
        best = np.lexsort((rows, -products))[:, :n]
        return np.take_along_axis(products, best, axis=1), np.take_along_axis(rows, best, axis=1)


def open_faiss(vectors: NameVectors, kb: KnowledgeBase, index: str, folder: Path | None = None) -> FaissVectors:
    """Open the faiss index of name vectors.

    It is in the given folder or in the cache folder. If there is none, it is built in the cache folder.

    Args:
        index: The setting, see `index_kind`.
        folder: The folder of a saved index. It may be of another kind.
    """
    kind, parameters = index_kind(index, *vectors.vectors.shape)
    path = (folder or vectors.folder) / file_name(kind)
    if not description(path).is_file():
        cached = vectors_cache(kb, vectors.encoder, vectors.compression)
        if vectors.folder.resolve() != cached.resolve():  # of a saved pipeline: they can differ in rounding
            cached = cached.with_name(f"{cached.name}-{vectors.fingerprint[:16]}")
        path = cached / path.name
        cached_folder(cached, description(path).name, lambda folder: build_name_index(vectors, kind, path))
    key = (FaissVectors, vectors.fingerprint, id(vectors.encoder), path.resolve(), parameters, path.stat().st_mtime_ns)
    return shared(key, lambda: FaissVectors(vectors.folder, kb, vectors.encoder, path, parameters))


def faiss_artifact(vectors: NameVectors, index: str) -> Artifact:
    """Return the faiss index of vectors as an artifact of a component. It is built if they have another one or none.

    Args:
        index: The setting, see `index_kind`.
    """
    kind, _ = index_kind(index, *vectors.vectors.shape)
    path = vectors.path if isinstance(vectors, FaissVectors) and vectors.path.name == file_name(kind) else None
    parts = (file_name(kind), description(Path(file_name(kind))).name)
    folder, fingerprint = path.parent if path else None, fingerprint_of(vectors.fingerprint, kind)
    return folder_artifact(
        "index", fingerprint, folder, parts, lambda new: build_name_index(vectors, kind, new / parts[0])
    )


def build_name_index(vectors: NameVectors, kind: str, path: Path) -> None:
    """Build the index of name vectors, and a file beside it that describes it and marks it as complete.

    Args:
        kind: The string for faiss's `index_factory`.
        path: The file of the index.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    build_index(vectors.vectors, kind, path)
    with replacing(description(path)) as temporary:
        temporary.write_text(json.dumps({"vectors": vectors.manifest}, sort_keys=True))


def description(path: Path) -> Path:
    """Return the path of the file that describes an index."""
    return path.with_name(path.name + ".json")


def index_kind(index: str, names: int, dim: int) -> tuple[str, str]:
    """Parse the setting of an index: a string for faiss's `index_factory`, then optionally `;` and search parameters.

    "auto" is an IVF index with four bits for four dimensions, or for two of short vectors. HNSW, IVF and PQ may have no
    numbers. Then a name has 32 neighbors in the graph. The number of cells is the square root of the number of names. A
    vector has one byte for about eight dimensions.

    Returns:
        The string for `index_factory` with numbers, and the search parameters.
    """
    if index == AUTO:
        return _auto_kind(names, dim)
    kind, _, parameters = index.partition(";")
    kind = {"IVF": "IVF,Flat", "IVFPQ": "IVF,PQ"}.get(kind.strip(), kind.strip())
    parts = _parts(dim, 8)
    for word, number in (("HNSW", 32), ("IVF", round(math.sqrt(names))), ("PQ", parts)):
        kind = re.sub(rf"\b{word}\b", f"{word}{number}", kind)
    return kind, parameters.strip()


def _auto_kind(names: int, dim: int) -> tuple[str, str]:
    """Return the index for a number of names. Chosen by `benchmarks/index_kinds.py` and `search.py`."""
    names = max(names, 1)
    cells = min(2 ** round(math.log2(math.sqrt(names))), MOST_CELLS)
    probed = min(cells * AUTO_PROBED_SHARE, AUTO_PROBED, cells * MOST_SEARCHED / names)
    parts = _parts(dim, 4 if dim >= SHORT_VECTOR else 2)
    return f"IVF{cells},PQ{parts}x4fs", f"nprobe={max(1, round(probed))}"


def _parts(dim: int, most: int) -> int:
    """Return the number of equal parts of a vector, each of about some dimensions."""
    return next(parts for parts in range(max(dim // most, 1), 0, -1) if dim % parts == 0)


def build_index(vectors: np.ndarray | StoredVectors, kind: str, path: Path) -> None:
    """Build an inner-product index of vectors and write it to a file.

    Args:
        vectors: The vectors, float32, shape (n, dim).
        kind: The string for faiss's `index_factory`.
    """
    faiss = _faiss()
    n, dim = vectors.shape
    try:
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
        centroids = _centroids(index)
        for part in _clustered(index):
            part.cp.niter = ROUNDS
        needed = int(faiss.ClusteringParameters().min_points_per_centroid) * centroids
        if n < needed:
            wanted = f"'Flat' or 'HNSW', which need no training: {kind} needs {needed} names, and there are {n}"
            remedy = "You can also use fewer cells, or parts with fewer bits (PQ48x4)."
            raise SettingError(remedy, setting="index", component="the linker", value=kind, wanted=wanted)
        trained = min(n, max(NAMES_PER_CENTROID * centroids, LEAST_TRAINED))
        with _one_thread() if trained <= LEAST_TRAINED else nullcontext():
            index.train(np.asarray(vectors[np.linspace(0, n - 1, trained, dtype=np.int64)]))
    except RuntimeError as error:
        if "multiple of the number of subquantizers" in str(error):
            divisors = ", ".join(str(parts) for parts in range(2, dim // 2 + 1) if dim % parts == 0)
            wanted = f"an index that splits {dim} dimensions into equal parts: the number after PQ can be {divisors}"
            raise SettingError(setting="index", component="the linker", value=kind, wanted=wanted) from error
        raise SapbertError(Errors.E320.format(kind=kind, reason=_faiss_message(error))) from error
    for start in range(0, n, NAMES_PER_CHUNK):
        index.add(np.asarray(vectors[start : start + NAMES_PER_CHUNK]))
    with replacing(path) as temporary:
        try:
            faiss.write_index(index, str(temporary))
        except RuntimeError as error:
            raise OSError(_faiss_message(error)) from error


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let faiss use one thread. On a busy machine, threads that wait for each other take eight times as much time."""
    faiss = _faiss()
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def _clustered(index: Any) -> Iterator[Any]:
    """Yield what k-means trains: the cells of an index, and its codes."""
    faiss = _faiss()
    if ivf := faiss.try_extract_index_ivf(index):
        yield ivf
        if codes := getattr(faiss.downcast_index(ivf), "pq", None):
            yield codes


def _centroids(index: Any) -> int:
    """Return the most centroids that faiss fits at once. It needs a fixed number of vectors for each."""
    faiss = _faiss()
    ivf, inner = faiss.try_extract_index_ivf(index), _inner(index)
    coded = (ivf, inner, faiss.downcast_index(getattr(inner, "storage", None)))
    return max([ivf.nlist if ivf else 0, *(2**part.pq.nbits for part in coded if hasattr(part, "pq"))])


def read_index(path: Path) -> Any:
    """Open an index that `build_index` made, memory-mapped, with the default search parameters."""
    faiss = _faiss()
    with opening(path):
        # before version 1.11, faiss could only memory-map IVF indexes
        index = faiss.read_index(str(path), getattr(faiss, "IO_FLAG_MMAP_IFC", faiss.IO_FLAG_MMAP))
    ivf, inner = faiss.try_extract_index_ivf(index), _inner(index)
    if ivf:
        ivf.nprobe = min(ivf.nlist, max(LEAST_PROBED, ivf.nlist // PROBED_SHARE))
    elif isinstance(inner, faiss.IndexHNSW):
        inner.hnsw.efSearch = EF_SEARCH
    return index


def _search_parameters(index: Any, selector: Any) -> Any:
    """Return the faiss.SearchParameters of an index, limited to the names of a selector."""
    faiss = _faiss()
    index = faiss.downcast_index(index)
    if isinstance(index, faiss.IndexPreTransform):
        return faiss.SearchParametersPreTransform(index_params=_search_parameters(index.index, selector))
    if isinstance(index, faiss.IndexIVF):
        return faiss.SearchParametersIVF(sel=selector, nprobe=index.nprobe)
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(sel=selector, efSearch=index.hnsw.efSearch)
    return faiss.SearchParameters(sel=selector)


def _inner(index: Any) -> Any:
    """Return the faiss.Index behind the vector transformations."""
    faiss = _faiss()
    index = faiss.downcast_index(index)
    return _inner(index.index) if isinstance(index, faiss.IndexPreTransform) else index


def _faiss() -> Any:
    """Return the faiss module, prepared for forks. It has the type `Any`, since faiss's annotations are unreliable."""
    import faiss

    use_one_thread_after_fork()
    return faiss


def file_name(kind: str) -> str:
    """Return the name of the file of an index, for a string for faiss's `index_factory`."""
    return re.sub(r"[^\w,()-]", "_", kind) + ".faiss"


def _faiss_message(error: RuntimeError) -> str:
    """Return the message of faiss without the position in its code."""
    return re.sub(r"^Error in .*?\.\w+:\d+: (Error: )?", "", str(error).strip())
