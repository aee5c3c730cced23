"""Reads the pickle of a fitted TfidfVectorizer as plain data: no code that it names runs, not even scikit-learn's.

A pickle is a program that says what to call. Here each name in it is looked up in a table of stand-ins, which keep what
they are given; any other name ends the reading.
"""

from __future__ import annotations

import pickle
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Errors, SapbertError


class Inert:
    """What an object consists of whose class was not loaded.

    All stand-ins are classes with a `__setstate__`, so that a pickle can change none of them, but only what it made.

    Attributes:
        args (tuple): what it was made of. state (Any): its attributes by name, as its class pickles them.
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
        """Return `numbers, shape as pickled). RAISES (ValueError`: it is no array of numbers."""
        _, shape, dtype, is_fortran, content = self.state
        if not isinstance(dtype, _Dtype):
            raise ValueError("an array has no type")
        return dtype.read(content, shape, "F" if is_fortran else "C")


class _ArrayOfBuffer(Inert):
    """Protocol 5 of pickle makes arrays in another way."""

    def __new__(cls, content: bytes, dtype: _Dtype, shape: tuple[int, ...], order: str) -> Any:
        array = Array()
        array.state = (1, shape, dtype, order == "F", content)
        return array


class _Dtype(Inert):
    def read(self, content: bytes, shape: tuple[int, ...], order: Any) -> np.ndarray:
        """Raise ValueError: it is no type of numbers, or the content has another length."""
        byte_order = self.state[1] if self.state else "="
        dtype = np.dtype(f"{byte_order}{self.args[0]}")
        if dtype.kind not in "iuf" or len(content) != prod(shape) * dtype.itemsize:
            raise ValueError(f"{len(content)} bytes are no array of {dtype} and shape {shape}")
        return np.frombuffer(content, dtype).reshape(shape, order=order)


class _Scalar(Inert):
    def __new__(cls, dtype: _Dtype, content: bytes) -> Any:
        return dtype.read(content, (), "C").item()


class _Type(Inert):
    """A type that is named, but of which nothing is made."""


_ADMITTED: dict[tuple[str, str], type] = {
    ("sklearn.feature_extraction.text", "TfidfVectorizer"): Vectorizer,
    ("sklearn.feature_extraction.text", "TfidfTransformer"): Transformer,
    # modules have other names since the published models were made: from scipy 1.8 and from numpy 2 on
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
    """
    Args:
        path: the file that is read, for messages.
    """

    def __init__(self, file: Any, path: Path) -> None:
        super().__init__(file)
        self._path = path

    def find_class(self, module: str, name: str) -> type:
        """Raise SapbertError: E343 it is none of those admitted."""
        if (module, name) not in _ADMITTED:
            raise SapbertError(Errors.E343.format(path=self._path, refused=f"{module}.{name}"))
        return _ADMITTED[module, name]


def read_vectorizer(path: Path) -> Vectorizer:
    """Read a pickled `TfidfVectorizer` without making one.

    Raises:
        SapbertError: E343 the pickle names what such a vectorizer does not need, E344 it is damaged or holds something
            else.
    """
    try:
        with path.open("rb") as file:
            found = _Unpickler(file, path).load()
    except SapbertError:
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        reason = f"{path.name} is damaged or cut off: {error!r}"
        raise SapbertError(Errors.E344.format(path=path.parent, reason=reason)) from error
    if not isinstance(found, Vectorizer):
        reason = f"{path.name} holds no TfidfVectorizer"
        raise SapbertError(Errors.E344.format(path=path.parent, reason=reason))
    return found
