"""Read the pickle of a fitted TfidfVectorizer as plain data, without running any code that it refers to.

A pickle is a program that calls classes by name. Here a table maps each allowed name to a stand-in class that only
keeps its arguments. Any other name raises an error. Memory and time stay within a multiple of the file's size.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import Errors, SapbertError

MOST_SHOWN = 200  # characters of what a pickle says
MOST_NESTED = 8  # tuples in tuples


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
        if dtype.kind not in "iuf" or len(content) != prod(shape) * dtype.itemsize:
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
        if depth > MOST_NESTED:
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
        found = _Unpickler(path.read_bytes(), path).load()
    except SapbertError:
        raise
    except Exception as error:  # a damaged pickle raises many kinds of errors
        reason = f"{path.name} is damaged or cut off: {type(error).__name__}: {str(error)[:MOST_SHOWN]}"
        raise SapbertError(Errors.E344.format(path=path.parent, reason=reason)) from error
    if not isinstance(found, Vectorizer):
        reason = f"{path.name} does not hold a TfidfVectorizer"
        raise SapbertError(Errors.E344.format(path=path.parent, reason=reason))
    return found
