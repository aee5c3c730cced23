"""Convert models saved by BioSyn's own code (Sung et al. 2020) to encoder folders.

Next to the encoder, such a folder holds a pickled `TfidfVectorizer` of character n-grams and λ as a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Errors, SapbertError
from .ngrams import LexicalModel, NgramEncoder
from .safe_pickle import MOST_SHOWN, Array, Matrix, Transformer, read_vectorizer
from .transformer import TransformerEncoder

VECTORIZER_FILE = "sparse_encoder.pk"
WEIGHT_FILE = "sparse_weight.pt"
MAX_LENGTH = 25
TEXT_NORMALIZER = "biosyn"

# What `NgramEncoder` does. `lowercase` is not checked: names are already in lower case.
_WANTED = {
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
        SapbertError: E302 the encoder cannot be loaded, E507 and E507 the output cannot be written, E343 the pickle
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
        max_length=MAX_LENGTH,
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
        found = torch.load(folder / WEIGHT_FILE, map_location="cpu", weights_only=True)
        weight = float(found.item())  # a tensor of one element
    except Exception as error:  # torch raises many kinds of errors for a damaged file, some with long messages
        reason = f"{WEIGHT_FILE} does not hold a number: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise _import_error(folder, reason) from error
    if not (math.isfinite(weight) and weight >= 0):
        raise _import_error(folder, f"the weight in {WEIGHT_FILE} is {weight}, it must be 0 or more")
    return weight


def _read_ngrams(folder: Path) -> NgramEncoder:
    """Return the n-grams and their weights."""
    state = read_vectorizer(folder / VECTORIZER_FILE).state
    inner = state.get("_tfidf") if isinstance(state, dict) else None
    if not isinstance(inner, Transformer) or not isinstance(inner.state, dict):
        raise _import_error(folder, f"the vectorizer in {VECTORIZER_FILE} was not fitted")
    settings = {**state, **inner.state}
    wrong = [_excerpt(name, settings[name]) for name, value in _WANTED.items() if settings.get(name, value) != value]
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
    """Return the n-grams in the order of their columns."""
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
    """Return the weights of the n-grams. Older versions of scikit-learn keep them as a diagonal matrix.

    Returns:
        float64, shape (n,): Weights above 0.
    """
    stored = state["idf_"] if "idf_" in state else _diagonal(state["_idf_diag"], n)
    idf = np.asarray(_values(stored), dtype=np.float64)
    if idf.shape != (n,) or not (np.isfinite(idf).all() and (idf > 0).all()):
        raise ValueError(f"not each of the {n} n-grams has a weight above 0")
    return idf


def _diagonal(matrix: Matrix, n: int) -> Array:
    indices, indptr = _values(matrix.state["indices"]), _values(matrix.state["indptr"])
    if not (np.array_equal(indices, np.arange(n)) and np.array_equal(indptr, np.arange(n + 1))):
        raise ValueError("the matrix of weights is not diagonal")
    found: Array = matrix.state["data"]
    return found


def _values(stored: Any) -> np.ndarray:
    if not isinstance(stored, Array):
        raise TypeError(f"{type(stored).__name__} is not an array")
    return stored.values


def _import_error(folder: Path, reason: str) -> SapbertError:
    return SapbertError(Errors.E344.format(path=folder, reason=reason))
