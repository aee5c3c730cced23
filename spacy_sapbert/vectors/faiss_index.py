"""The nearest names by an index that faiss makes: faster than comparing with each, but it may miss some."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoders.fork_safety import use_one_thread_after_fork
from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, SapbertError
from ..files import replacing
from ..kb.knowledge_base import KnowledgeBase
from .flat import NAMES_PER_CHUNK, NameVectors, vectors_cache

if TYPE_CHECKING:
    from ..kb.filters import FilterMask

PROBED_SHARE = 8  # of an index of cells, every so many-th cell is searched, but these at least
LEAST_PROBED = 32
EF_SEARCH = 256


class FaissVectors(NameVectors):
    """Name vectors of which faiss finds the near ones. Scores are exact: they come from the vectors themselves.

    Args:
        folder: where the vectors are.
        path: the index, made by `build_index`. It is memory-mapped.
        parameters: how to search, as faiss writes it ("nprobe=32", "efSearch=256"); what is not named there is
            `EF_SEARCH` for a graph, and a `PROBED_SHARE`-th of the cells.

    Raises:
        SapbertError: E305 and E306 as `NameVectors`; E306 the index is damaged, E323 it has no such parameter.
    """

    exact = False

    def __init__(
        self, folder: Path, kb: KnowledgeBase, encoder: TransformerEncoder, path: Path, parameters: str = ""
    ) -> None:
        super().__init__(folder, kb, encoder)
        self._path = path
        self._index = read_index(path, kb.n_names)
        try:
            _faiss().ParameterSpace().set_index_parameters(self._index, parameters)
        except RuntimeError as error:
            raise SapbertError(Errors.E323.format(parameters=parameters, kind=path.stem)) from error

    def nearest(self, queries: np.ndarray, n: int, passing: FilterMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        if passing is None:
            found: tuple[np.ndarray, np.ndarray] = self._index.search(queries, n)
            return found
        allowed = np.zeros(self._index.ntotal, dtype=bool)
        allowed[passing.rows] = True
        bits = np.packbits(allowed, bitorder="little")  # which the selector points to, so it has to live as long
        parameters = _search_parameters(self._index, _faiss().IDSelectorBitmap(bits))
        try:
            found = self._index.search(queries, n, params=parameters)
        except RuntimeError as error:
            raise SapbertError(Errors.E324.format(kind=self._path.stem)) from error
        return found

    def save(self, folder: Path) -> None:
        super().save(folder)
        shutil.copyfile(self._path, folder / self._path.name)


def open_faiss(vectors: NameVectors, kb: KnowledgeBase, index: str) -> FaissVectors:
    """Open the index that lies beside name vectors, or in the cache folder; make it there if there is none.

    Args:
        index: a setting, see `index_kind`.
    """
    from filelock import FileLock

    kind, parameters = index_kind(index, *vectors.vectors.shape)
    path = vectors.folder / _file_name(kind)
    if not path.is_file():
        path = vectors_cache(kb, vectors.encoder) / path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path.parent}.lock"):
            if not path.is_file():
                build_index(vectors.vectors, kind, path)
    return FaissVectors(vectors.folder, kb, vectors.encoder, path, parameters)


def save_faiss(vectors: NameVectors, index: str, folder: Path) -> None:
    """Save vectors with the index that a setting asks for; it is made there if they have another or none."""
    vectors.save(folder)
    kind, _ = index_kind(index, *vectors.vectors.shape)
    if not (folder / _file_name(kind)).is_file():
        build_index(vectors.vectors, kind, folder / _file_name(kind))


def index_kind(index: str, names: int, dim: int) -> tuple[str, str]:
    """Read the setting of an index: faiss's string for `index_factory`, then `;` and parameters of the search, if any.

    HNSW, IVF and PQ may stand there without numbers: then a name has 32 neighbours in the graph, there are as many
    cells as the square root of the number of names, and a vector has a byte for about eight of its dimensions.

    Returns:
        faiss's string with numbers, and the parameters.
    """
    kind, _, parameters = index.partition(";")
    kind = {"IVF": "IVF,Flat", "IVFPQ": "IVF,PQ"}.get(kind.strip(), kind.strip())
    parts = next(parts for parts in range(max(dim // 8, 1), 0, -1) if dim % parts == 0)
    for word, number in (("HNSW", 32), ("IVF", round(math.sqrt(names))), ("PQ", parts)):
        kind = re.sub(rf"\b{word}\b", f"{word}{number}", kind)
    return kind, parameters.strip()


def build_index(vectors: np.ndarray, kind: str, path: Path) -> None:
    """Make an index of vectors by inner product, and write it to a file.

    Args:
        kind: faiss's string for `index_factory`.

    Raises:
        SapbertError: E320 faiss has no such kind, E321 the dimension does not divide, E322 too few names.
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
        raise SapbertError(Errors.E320.format(kind=kind, reason=_reason(error))) from error
    for start in range(0, n, NAMES_PER_CHUNK):
        index.add(np.asarray(vectors[start : start + NAMES_PER_CHUNK]))
    with replacing(path) as temporary:
        faiss.write_index(index, str(temporary))


def _names_needed(index: Any) -> int:
    """Return how many vectors it takes to train an index: as many for each centroid as faiss asks for."""
    faiss = _faiss()
    ivf, inner = faiss.try_extract_index_ivf(index), _inner(index)
    coded = (ivf, inner, faiss.downcast_index(getattr(inner, "storage", None)))
    centroids = [ivf.nlist if ivf else 0, *(2**part.pq.nbits for part in coded if hasattr(part, "pq"))]
    return int(faiss.ClusteringParameters().min_points_per_centroid) * max(centroids)


def read_index(path: Path, n: int) -> Any:
    """Open an index that `build_index` made, memory-mapped, with the defaults for how to search.

    Args:
        n: the number of vectors that it must have.

    Raises:
        SapbertError: E306 it is damaged, or has another number.
    """
    faiss = _faiss()
    try:
        # before version 1.11 faiss could map an index of cells only
        index = faiss.read_index(str(path), getattr(faiss, "IO_FLAG_MMAP_IFC", faiss.IO_FLAG_MMAP))
    except RuntimeError as error:
        raise SapbertError(Errors.E306.format(path=path.parent, reason=f"{path.name}: {_reason(error)}")) from error
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
    """Return `faiss.SearchParameters`: those that the index has, and names to choose from."""
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
    """Return `faiss.Index`: what is behind the transformations of vectors."""
    faiss = _faiss()
    index = faiss.downcast_index(index)
    return _inner(index.index) if isinstance(index, faiss.IndexPreTransform) else index


def _faiss() -> Any:
    """Return `module`: faiss, whose own annotations are not to be relied on, safe to use before a fork."""
    import faiss

    use_one_thread_after_fork()
    return faiss


def _file_name(kind: str) -> str:
    return re.sub(r"[^\w,()-]", "_", kind) + ".faiss"


def _reason(error: RuntimeError) -> str:
    """Return what faiss says, without the place in its code."""
    return re.sub(r"^Error in .*?\.\w+:\d+: (Error: )?", "", str(error).strip())
