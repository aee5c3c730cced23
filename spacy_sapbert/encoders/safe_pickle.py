"""Read the pickle of a fitted TfidfVectorizer as plain data, without running any code that it refers to.

A pickle is a program that calls classes by name. Here a table maps each allowed name to a stand-in class that only
keeps its arguments. Any other name raises an error.
"""

from __future__ import annotations

import pickle
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Errors, SapbertError


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
        """The array of numbers, in its pickled shape.

        Raises:
            ValueError: It is not an array of numbers.
        """
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
        """Return an array of numbers.

        Raises:
            ValueError: The type is not numeric, or the length of the content does not match.
        """
        byte_order = self.state[1] if self.state else "="
        dtype = np.dtype(f"{byte_order}{self.args[0]}")
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


class _Unpickler(pickle.Unpickler):
    """An unpickler that only finds the allowed classes.

    Args:
        file: The open file.
        path: Its path, for messages.
    """

    def __init__(self, file: Any, path: Path) -> None:
        super().__init__(file)
        self._path = path

    def find_class(self, module: str, name: str) -> type:
        """Return the stand-in for a class.

        Raises:
            SapbertError: E343 the class is not allowed.
        """
        if (module, name) not in _ALLOWED:
            raise SapbertError(Errors.E343.format(path=self._path, refused=f"{module}.{name}"))
        return _ALLOWED[module, name]


def read_vectorizer(path: Path) -> Vectorizer:
    """Read a pickled `TfidfVectorizer` without making one.

    Raises:
        SapbertError: E343 the pickle refers to a class that such a vectorizer does not need, E344 it is damaged or
            holds something else.
    """
    try:
        with path.open("rb") as file:
            found = _Unpickler(file, path).load()
    except SapbertError:
        raise
    except Exception as error:  # a damaged pickle raises many kinds of errors
        reason = f"{path.name} is damaged or cut off: {error!r}"
        raise SapbertError(Errors.E344.format(path=path.parent, reason=reason)) from error
    if not isinstance(found, Vectorizer):
        reason = f"{path.name} does not hold a TfidfVectorizer"
        raise SapbertError(Errors.E344.format(path=path.parent, reason=reason))
    return found
