"""Convert models saved by BioSyn's own code (Sung et al. 2020) to encoder folders.

Next to the encoder, such a folder holds a pickled `TfidfVectorizer` of character n-grams and λ as a tensor. A pickle is
a program that calls classes by name. Here it is read as plain data: a table maps each allowed name to a stand-in class
that only keeps its arguments, and any other name raises an error. Memory and time stay within a multiple of the file's
size.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import Errors, SapbertError
from .ngrams import LexicalModel, NgramEncoder
from .transformer import TransformerEncoder

VECTORIZER_FILE = "sparse_encoder.pk"
WEIGHT_FILE = "sparse_weight.pt"
TEXT_NORMALIZER = "biosyn"
MOST_SHOWN = 200  # characters of what a pickle says

# What `NgramEncoder` does. `lowercase` is not checked: names are already in lower case.
_EXPECTED = {
    "input": "content",
    "analyzer": "char",
    "strip_accents": None,
    "preprocessor": None,
    "binary": False,
    "norm": "l2",
    "use_idf": True,
    "sublinear_tf": False,
}


def import_biosyn(folder: Path, output: Path) -> TransformerEncoder:
    """Write a published BioSyn model as an encoder folder with its lexical model: n-grams and λ.

    Its vectors stay as they are, not l2_normalized. BioSyn links every mention, so the threshold becomes 0.

    Returns:
        The encoder.

    Raises:
        SapbertError: E302 the encoder cannot be loaded, E507 the output cannot be written, E343 the pickle
            refers to a class that is not allowed, E344 a file is missing or invalid.
    """
    for file in ("config.json", VECTORIZER_FILE, WEIGHT_FILE):
        if not (folder / file).is_file():
            reason = f"{file} is missing" if folder.is_dir() else "the folder does not exist"
            raise _import_error(folder, reason)
    weight = _read_weight(folder)
    ngrams = _read_ngrams(folder)
    encoder = TransformerEncoder(
        str(folder),
        pooling="cls",
        max_length=25,
        text_normalizer=TEXT_NORMALIZER,
        l2_normalized=False,
        device="cpu",
    )
    encoder.lexical_model = LexicalModel(ngrams, sparse_weight=weight, threshold=0.0)
    encoder.record("import biosyn", sparse_weight=weight, ngrams=len(ngrams.ngrams))
    encoder.save(output)
    return encoder


def _read_weight(folder: Path) -> float:
    """Return λ."""
    import torch

    try:
        weight = float(torch.load(folder / WEIGHT_FILE, map_location="cpu", weights_only=True).item())
    except Exception as error:  # torch raises many kinds of errors for a damaged file, some with long messages
        reason = f"{WEIGHT_FILE} does not hold a number: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise _import_error(folder, reason) from error
    if not (math.isfinite(weight) and weight >= 0):
        raise _import_error(folder, f"the weight in {WEIGHT_FILE} is {weight}, it must be 0 or more")
    return weight


def _read_ngrams(folder: Path) -> NgramEncoder:
    state = read_vectorizer(folder / VECTORIZER_FILE).state
    inner = state.get("_tfidf") if isinstance(state, dict) else None
    if not isinstance(inner, Transformer) or not isinstance(inner.state, dict):
        raise _import_error(folder, f"the vectorizer in {VECTORIZER_FILE} was not fitted")
    settings = {**state, **inner.state}
    wrong = [_excerpt(name, settings[name]) for name, value in _EXPECTED.items() if settings.get(name, value) != value]
    if wrong:
        raise _import_error(folder, f"its n-grams have other weights than here: {', '.join(wrong)}")
    try:
        shortest, longest = settings["ngram_range"]
        ngrams = _in_order(settings["vocabulary_"], shortest, longest)
        return NgramEncoder(ngrams, _idf(inner.state, len(ngrams)), (shortest, longest), TEXT_NORMALIZER)
    except Exception as error:  # the values can be anything
        reason = f"{VECTORIZER_FILE} is inconsistent: {type(error).__name__}: {str(error)[:MOST_SHOWN]}"
        raise _import_error(folder, reason) from error


def _excerpt(name: str, value: Any) -> str:
    """Return a setting as a message shows it. A value of another kind may be too large to be written out."""
    shown = repr(value)[:MOST_SHOWN] if isinstance(value, str | bool | int | None) else f"a {type(value).__name__}"
    return f"{name} is {shown}"


def _in_order(columns: Mapping[str, int], shortest: int, longest: int) -> list[str]:
    if (
        not isinstance(columns, dict)
        or {*map(type, columns)} | {str} != {str}
        or {*map(type, columns.values())} - {int}
    ):
        raise ValueError("the vocabulary does not have a number for each text")
    ngrams = sorted(columns, key=columns.__getitem__)
    if sorted(columns.values()) != list(range(len(ngrams))):
        raise ValueError("the columns of the n-grams are not numbered from 0")
    if not all(shortest <= len(ngram) <= longest for ngram in ngrams):
        raise ValueError(f"an n-gram is not a text of {shortest} to {longest} characters")
    return ngrams


def _idf(state: Mapping[str, Any], n: int) -> np.ndarray:
    """Return the weights of the n-grams, float64, above 0, shape (n,). Old versions keep them as a diagonal matrix."""
    stored = state["idf_"] if "idf_" in state else _diagonal(state["_idf_diag"], n)
    idf = np.asarray(_values(stored), dtype=np.float64)
    if idf.shape != (n,) or not (np.isfinite(idf).all() and (idf > 0).all()):
        raise ValueError(f"not each of the {n} n-grams has a weight above 0")
    return idf


def _diagonal(matrix: Matrix, n: int) -> Array:
    indices, indptr = _values(matrix.state["indices"]), _values(matrix.state["indptr"])
    if not (np.array_equal(indices, np.arange(n)) and np.array_equal(indptr, np.arange(n + 1))):
        raise ValueError("the matrix of weights is not diagonal")
    data: Array = matrix.state["data"]
    return data


def _values(stored: Any) -> np.ndarray:
    if not isinstance(stored, Array):
        raise TypeError(f"{type(stored).__name__} is not an array")
    return stored.values


def _import_error(folder: Path, reason: str) -> SapbertError:
    return SapbertError(Errors.E344.format(path=folder, reason=reason))


# --- the pickle


class Inert:
    """The data of a pickled object without its class.

    All stand-ins are classes with a `__setstate__`. A pickle can therefore only change objects that it made itself.

    Attributes:
        args: The arguments of the constructor.
        state: The pickled attributes by name.
    """

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> Any:
        made = super().__new__(cls)
        made.args, made.state = args, {}
        return made

    def __setstate__(self, state: Any) -> None:
        self.state = state


class Vectorizer(Inert):
    """A `TfidfVectorizer`."""


class Transformer(Inert):
    """A `TfidfTransformer`."""


class Matrix(Inert):
    """A `csr_matrix`."""


class Array(Inert):
    """A numpy array."""

    @property
    def values(self) -> np.ndarray:
        """The array of numbers, in its pickled shape."""
        _, shape, dtype, is_fortran, content = self.state
        if not isinstance(dtype, _Dtype):
            raise ValueError("an array has no data type")
        return dtype.read(content, shape, "F" if is_fortran else "C")


class _ArrayOfBuffer(Inert):
    """An array as protocol 5 of pickle makes it."""

    def __new__(cls, content: bytes, dtype: _Dtype, shape: tuple[int, ...], order: str) -> Any:
        array = Array()
        array.state = (1, shape, dtype, order == "F", content)
        return array


class _Dtype(Inert):
    def read(self, content: bytes, shape: tuple[int, ...], order: Any) -> np.ndarray:
        """Return an array of numbers."""
        byte_order, kind = self.state[1] if self.state else "=", self.args[0]
        if not (isinstance(kind, str) and byte_order in ("<", ">", "=", "|") and {*map(type, shape)} <= {int}):
            raise ValueError("an array has an unknown data type or shape")
        dtype = np.dtype(byte_order + kind)
        if dtype.kind not in "iuf" or len(content) != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{len(content)} bytes cannot be an array of {dtype} and shape {shape}")
        return np.frombuffer(content, dtype).reshape(shape, order=order)


class _Scalar(Inert):
    def __new__(cls, dtype: _Dtype, content: bytes) -> Any:
        return dtype.read(content, (), "C").item()


class _Type(Inert):
    """A type that a pickle refers to without making an object of it."""


_ALLOWED: dict[tuple[str, str], type] = {
    ("sklearn.feature_extraction.text", "TfidfVectorizer"): Vectorizer,
    ("sklearn.feature_extraction.text", "TfidfTransformer"): Transformer,
    # scipy 1.8 and numpy 2 renamed modules since the published models were made
    ("scipy.sparse.csr", "csr_matrix"): Matrix,
    ("scipy.sparse._csr", "csr_matrix"): Matrix,
    **{("numpy", name): _Type for name in ("ndarray", "float32", "float64", "int32", "int64")},
    ("numpy", "dtype"): _Dtype,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): Array for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _Scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _ArrayOfBuffer for core in ("core", "_core")},
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
}


class _Unpickler(pickle._Unpickler):  # that in C takes memory for any memo index
    """An unpickler that only finds the allowed classes.

    Args:
        path: Its path, for messages.
    """

    dispatch: ClassVar[Any] = dict(pickle._Unpickler.dispatch)

    def __init__(self, content: bytes, path: Path) -> None:
        super().__init__(io.BytesIO(content))
        self._path = path
        self._depths: dict[int, int] = {}

    def find_class(self, module: str, name: str) -> type:
        """Return the stand-in for a class."""
        if (module, name) not in _ALLOWED:
            raise SapbertError(Errors.E343.format(path=self._path, refused=f"{module}.{name}"[:MOST_SHOWN]))
        return _ALLOWED[module, name]

    def load_bytearray8(self: Any) -> None:
        """Read bytes, without memory for more than there are."""
        (size,) = struct.unpack("<Q", self.read(8))
        self.append(bytearray(self.read(size)))

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8

    def check_tuple(self: Any) -> None:
        """Refuse a deep tuple: if its parts share elements, a hash of it takes time without end."""
        made = self.stack[-1]
        depth = self._depths[id(made)] = 1 + max(
            (self._depths[id(part)] for part in made if isinstance(part, tuple)), default=0
        )
        if depth > 8:
            raise ValueError("its tuples are nested too deeply")


def _checked(load: Callable[[_Unpickler], None]) -> Callable[[_Unpickler], None]:
    def load_tuple(unpickler: _Unpickler) -> None:
        load(unpickler)
        unpickler.check_tuple()

    return load_tuple


for _code in (pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
    _Unpickler.dispatch[_code[0]] = _checked(_Unpickler.dispatch[_code[0]])


def read_vectorizer(path: Path) -> Vectorizer:
    """Read a pickled `TfidfVectorizer` without making one."""
    try:
        vectorizer = _Unpickler(path.read_bytes(), path).load()
    except SapbertError:
        raise
    except Exception as error:  # a damaged pickle raises many kinds of errors
        reason = f"{path.name} is damaged or cut off: {type(error).__name__}: {str(error)[:MOST_SHOWN]}"
        raise _import_error(path.parent, reason) from error
    if not isinstance(vectorizer, Vectorizer):
        raise _import_error(path.parent, f"{path.name} does not hold a TfidfVectorizer")
    return vectorizer
