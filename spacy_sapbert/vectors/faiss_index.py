"""Find the nearest names with a faiss index: faster than an exact search, but it may miss some."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoders.fork_safety import use_one_thread_after_fork
from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, SapbertError
from ..files import replacing
from ..kb.knowledge_base import KnowledgeBase
from ..shared import shared
from .flat import NAMES_PER_CHUNK, NameVectors, copy_file, vectors_cache
from .stored import StoredVectors

if TYPE_CHECKING:
    from ..kb.filters import FilterMask

# An IVF index searches the nearest eighth of its cells, but at least `LEAST_PROBED` cells.
PROBED_SHARE = 8
LEAST_PROBED = 32
EF_SEARCH = 256
INDEX_SUFFIX = ".faiss"


class FaissVectors(NameVectors):
    """Name vectors with a faiss index. Scores are exact, since they are computed from the vectors themselves.

    Args:
        folder: The folder of the vectors.
        kb: The knowledge base.
        encoder: The encoder.
        path: The index that `build_index` made. It is memory-mapped.
        parameters: Search parameters in faiss's notation ("nprobe=32", "efSearch=256"). By default, a graph is
            searched with `EF_SEARCH`. An IVF index searches one in `PROBED_SHARE` cells, at least `LEAST_PROBED`.

    Raises:
        SapbertError: E305 the vectors belong to another knowledge base or encoder, E306 a file is missing or damaged,
            E323 the index has no such parameter.
    """

    exact = False

    def __init__(
        self, folder: Path, kb: KnowledgeBase, encoder: TransformerEncoder, path: Path, parameters: str = ""
    ) -> None:
        super().__init__(folder, kb, encoder)
        self.path = path
        self._index = read_index(path, kb.n_names)
        try:
            _faiss().ParameterSpace().set_index_parameters(self._index, parameters)
        except RuntimeError as error:
            raise SapbertError(Errors.E323.format(parameters=parameters, kind=path.stem)) from error

    def nearest(self, queries: np.ndarray, n: int, mask: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        if mask is None:
            found: tuple[np.ndarray, np.ndarray] = self._index.search(queries, n)
            return found
        allowed = np.zeros(self._index.ntotal, dtype=bool)
        allowed[mask.rows] = True
        bits = np.packbits(allowed, bitorder="little")  # the selector only points to them, so keep them alive
        parameters = _search_parameters(self._index, _faiss().IDSelectorBitmap(bits))
        try:
            found = self._index.search(queries, n, params=parameters)
        except RuntimeError as error:
            raise SapbertError(Errors.E324.format(kind=self.path.stem)) from error
        return found


def open_faiss(vectors: NameVectors, kb: KnowledgeBase, index: str, folder: Path | None = None) -> FaissVectors:
    """Open the faiss index of name vectors.

    It is in the given folder or in the cache folder. If there is none, it is built in the cache folder.

    Args:
        vectors: The name vectors.
        kb: The knowledge base.
        index: The setting, see `index_kind`.
        folder: The folder of a saved index. It may be of another kind.
    """
    from filelock import FileLock

    kind, parameters = index_kind(index, *vectors.vectors.shape)
    path = (folder or vectors.folder) / file_name(kind)
    if not path.is_file():
        path = vectors_cache(kb, vectors.encoder, vectors.compression) / path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path.parent}.lock"):
            if not path.is_file():
                build_index(vectors.vectors, kind, path)
    key = (FaissVectors, vectors.fingerprint, id(vectors.encoder), path.resolve(), parameters, path.stat().st_mtime_ns)
    return shared(key, lambda: FaissVectors(vectors.folder, kb, vectors.encoder, path, parameters))


def save_faiss(vectors: NameVectors, kind: str, folder: Path) -> None:
    """Save the index of vectors in a folder. Build it if the vectors have another one or none.

    Args:
        vectors: The vectors.
        kind: The string for faiss's `index_factory`.
        folder: The folder to write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = saved_index(vectors, kind)
    if path:
        copy_file(path, folder / path.name)
    else:
        build_index(vectors.vectors, kind, folder / file_name(kind))


def saved_index(vectors: NameVectors, kind: str) -> Path | None:
    """Return the file of the index that vectors have, or None if they have another kind or none."""
    path = vectors.path if isinstance(vectors, FaissVectors) else None
    return path if path and path.name == file_name(kind) else None


def index_kind(index: str, names: int, dim: int) -> tuple[str, str]:
    """Parse the setting of an index: a string for faiss's `index_factory`, then optionally `;` and search parameters.

    HNSW, IVF and PQ may have no numbers. Then a name has 32 neighbors in the graph. The number of cells is the square
    root of the number of names. A vector has one byte for about eight dimensions.

    Args:
        index: The setting.
        names: The number of names.
        dim: The dimension of the vectors.

    Returns:
        The string for `index_factory` with numbers, and the search parameters.
    """
    kind, _, parameters = index.partition(";")
    kind = {"IVF": "IVF,Flat", "IVFPQ": "IVF,PQ"}.get(kind.strip(), kind.strip())
    parts = next(parts for parts in range(max(dim // 8, 1), 0, -1) if dim % parts == 0)
    for word, number in (("HNSW", 32), ("IVF", round(math.sqrt(names))), ("PQ", parts)):
        kind = re.sub(rf"\b{word}\b", f"{word}{number}", kind)
    return kind, parameters.strip()


def build_index(vectors: np.ndarray | StoredVectors, kind: str, path: Path) -> None:
    """Build an inner-product index of vectors and write it to a file.

    Args:
        vectors: The vectors, float32, shape (n, dim).
        kind: The string for faiss's `index_factory`.
        path: The file to write.

    Raises:
        SapbertError: E320 faiss has no such kind of index, E321 the dimension is not divisible, E322 there are too few
            names.
    """
    faiss = _faiss()
    n, dim = vectors.shape
    try:
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
        needed = _names_needed(index)
        if n < needed:
            raise SapbertError(Errors.E322.format(kind=kind, needed=needed, names=n))
        index.train(np.asarray(vectors))
    except RuntimeError as error:
        if "multiple of the number of subquantizers" in str(error):
            divisors = ", ".join(str(parts) for parts in range(2, dim // 2 + 1) if dim % parts == 0)
            raise SapbertError(Errors.E321.format(kind=kind, dim=dim, divisors=divisors)) from error
        raise SapbertError(Errors.E320.format(kind=kind, reason=_faiss_message(error))) from error
    for start in range(0, n, NAMES_PER_CHUNK):
        index.add(np.asarray(vectors[start : start + NAMES_PER_CHUNK]))
    with replacing(path) as temporary:
        faiss.write_index(index, str(temporary))


def _names_needed(index: Any) -> int:
    """Return how many vectors faiss needs to train an index: a fixed number per centroid."""
    faiss = _faiss()
    ivf, inner = faiss.try_extract_index_ivf(index), _inner(index)
    coded = (ivf, inner, faiss.downcast_index(getattr(inner, "storage", None)))
    centroids = [ivf.nlist if ivf else 0, *(2**part.pq.nbits for part in coded if hasattr(part, "pq"))]
    return int(faiss.ClusteringParameters().min_points_per_centroid) * max(centroids)


def read_index(path: Path, n: int) -> Any:
    """Open an index that `build_index` made, memory-mapped, with the default search parameters.

    Args:
        path: The file.
        n: The number of vectors that the index must have.

    Raises:
        SapbertError: E306 it is damaged, or has another number of vectors.
    """
    faiss = _faiss()
    try:
        # before version 1.11, faiss could only memory-map IVF indexes
        index = faiss.read_index(str(path), getattr(faiss, "IO_FLAG_MMAP_IFC", faiss.IO_FLAG_MMAP))
    except RuntimeError as error:
        raise SapbertError(
            Errors.E306.format(path=path.parent, reason=f"{path.name}: {_faiss_message(error)}")
        ) from error
    if index.ntotal != n:
        reason = f"{path.name} has {index.ntotal} of {n} names"
        raise SapbertError(Errors.E306.format(path=path.parent, reason=reason))
    _set_defaults(index)
    return index


def _set_defaults(index: Any) -> None:
    faiss = _faiss()
    ivf, inner = faiss.try_extract_index_ivf(index), _inner(index)
    if ivf:
        ivf.nprobe = min(ivf.nlist, max(LEAST_PROBED, ivf.nlist // PROBED_SHARE))
    elif isinstance(inner, faiss.IndexHNSW):
        inner.hnsw.efSearch = EF_SEARCH


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
    return re.sub(r"[^\w,()-]", "_", kind) + INDEX_SUFFIX


def _faiss_message(error: RuntimeError) -> str:
    """Return the message of faiss without the position in its code."""
    return re.sub(r"^Error in .*?\.\w+:\d+: (Error: )?", "", str(error).strip())
