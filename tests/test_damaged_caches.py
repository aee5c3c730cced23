"""Files of the cache that somebody changed. Each ends in an error that names its folder, or is not used."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from spacy_sapbert.encoders.ngrams import NgramEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.retrieval.concept_set import ConceptSet
from spacy_sapbert.retrieval.concept_vectors import cached_concept_vectors
from spacy_sapbert.vectors.flat import cached_name_vectors, cached_table, text_hashes
from spacy_sapbert.vectors.ngram_index import cached_ngram_index

TEXTS = ["breast cancer", "ataxia", "aspirin", "a", ""]


def use_vectors(kb, encoder):
    vectors = cached_name_vectors(kb, encoder)
    return [*vectors.nearest(encoder.encode(TEXTS), 3), vectors.encode(TEXTS)]


def use_concepts(kb, encoder):
    return [*cached_concept_vectors(ConceptSet(kb), encoder, "packed").nearest(encoder.encode(TEXTS), 3)]


def use_ngrams(kb, encoder):
    index = cached_ngram_index(kb, "biosyn")
    return [*index.search(TEXTS, 3), *index.search_together(TEXTS, 3)]


def use_matcher(kb, encoder):
    found = NameMatcher.cached(kb).find("Breast cancers, ataxia telangiectasia and aspirin.")
    return [np.array([[match.start, match.end, match.row] for match in found])]


def use_table(kb, encoder):
    table = cached_table(kb, "forms", lambda: text_hashes(kb.names(), encoder))
    return [table.find(text_hashes(TEXTS, encoder)), *table.find_all(text_hashes(TEXTS, encoder))]


USES = {
    "vectors": use_vectors,
    "concepts": use_concepts,
    "ngrams": use_ngrams,
    "matchers": use_matcher,
    "names": use_table,
}
UNSEEN = ("outside", "all outside", "below", "infinite", "backwards")
"""Damage that can leave the files as sound as before, with other values."""


def stored(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=array.dtype == object)
    return file.getvalue()


def not_numbers(array):
    changed = array.copy()
    for field in [changed[name] for name in changed.dtype.names] if changed.dtype.names else [changed]:
        if field.dtype.kind == "f":
            field[...] = np.nan
    return changed


def infinite(array):
    changed = array.copy()
    for field in [changed[name] for name in changed.dtype.names] if changed.dtype.names else [changed]:
        if field.dtype.kind == "f":
            field[...] = np.inf
    return changed


def all_outside(array):
    """All rows but the first are outside. Without a check, the memory after the arrays was read."""
    changed = array.copy()
    if changed.dtype.names is None and changed.dtype.kind in "iu":
        changed[1:-1] = np.iinfo(changed.dtype).max
    return changed


def outside(array):
    changed = array.copy()
    if changed.dtype.names is None and changed.dtype.kind in "iu" and changed.size:
        changed[changed.size // 2] = np.iinfo(changed.dtype).max
    return changed


ARRAYS = {
    "empty": lambda array: stored(array[:0]),
    "shorter": lambda array: stored(array[:-1]),
    "longer": lambda array: stored(np.concatenate([array, array[:1]])),
    "other type": lambda array: stored(np.zeros(len(array), dtype=np.complex64)),
    "objects": lambda array: stored(np.array([None] * len(array), dtype=object)),
    "one number": lambda array: stored(np.array(7)),
    "more dimensions": lambda array: stored(array.reshape(1, *array.shape)),
    "texts": lambda array: stored(np.array(["a"] * len(array))),
    "other kind": lambda array: stored(np.zeros(array.shape, np.float32 if array.dtype.kind in "iu" else np.int32)),
    "not numbers": lambda array: stored(not_numbers(array)),
    "infinite": lambda array: stored(infinite(array)),
    "outside": lambda array: stored(outside(array)),
    "all outside": lambda array: stored(all_outside(array)),
    "below": lambda array: stored(array if array.dtype.kind != "i" else np.minimum(array, -7)),
    "backwards": lambda array: stored(array[::-1].copy()),
    "no bytes": lambda array: b"",
    "cut": lambda array: stored(array)[:-1],
    "no array": lambda array: b"no array",
    "header": lambda array: stored(array).replace(b"'shape': (", b"'shape': (9"),
    "open header": lambda array: stored(array).replace(b"}", b"("),
    "header of lines": lambda array: stored(array).replace(b", 'fortran", b"\n\tfortran"),
}
JSON = {
    "deep": "[" * 100_000,
    "cut": "{",
    "empty": "",
    "list": "[]",
    "null": "null",
    "no keys": "{}",
    "number": "1" * 5000,
    "bytes": "\udcff",
}


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def is_told(use, wanted, damage=""):
    """Use a cache. Its results are those of the sound one, or the error has a name and shows the folder."""
    try:
        found = use()
    except SapbertError as error:
        return "[E30" in str(error) and "cache" in str(error)
    if damage in UNSEEN:
        return all(np.isfinite(array).all() and array.max(initial=-1) < 1000 for array in found)
    return all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("kind", USES)
def test_each_damaged_array_is_told(small_kb, encoder, cache, kind):
    wanted = USES[kind](small_kb, encoder)
    arrays = sorted((cache / kind).rglob("*.npy"))
    assert arrays
    for path in arrays:
        sound = path.read_bytes()
        for damage, change in ARRAYS.items():
            path.write_bytes(change(np.load(path)))
            assert is_told(lambda: USES[kind](small_kb, encoder), wanted, damage), f"{path.name}: {damage}"
            path.write_bytes(sound)
    assert all(np.array_equal(a, b) for a, b in zip(USES[kind](small_kb, encoder), wanted, strict=True))


@pytest.mark.parametrize("kind", [kind for kind in USES if kind != "names"])
def test_each_damaged_description_is_told(small_kb, encoder, cache, kind):
    wanted = USES[kind](small_kb, encoder)
    files = sorted((cache / kind).rglob("*.json"))
    assert files
    for path in files:
        sound = path.read_bytes()
        known = json.loads(sound)
        odd = {key: json.dumps({**known, key: [7]}) for key in known} | {f"no {key}": "" for key in known}
        odd |= {f"huge {key}": json.dumps({**known, key: 10**400}) for key in known}
        for damage, text in (JSON | odd).items():
            path.write_bytes(text.encode(errors="surrogateescape"))
            assert is_told(lambda: USES[kind](small_kb, encoder), wanted), f"{path.name}: {damage}"
            path.write_bytes(sound)


def test_vectors_that_are_not_numbers_are_no_neighbors(small_kb, encoder, cache):
    """Without the check, the neighbors of each text were the row -1."""
    use_concepts(small_kb, encoder)
    (path,) = (cache / "concepts").rglob("concepts.npy")
    path.write_bytes(stored(np.full_like(np.load(path), np.nan)))
    with pytest.raises(SapbertError, match=r"E306.*not numbers"):
        use_concepts(small_kb, encoder)


def test_an_encoder_that_gives_no_numbers_is_told(tiny_encoder, small_kb, cache):
    import torch

    encoder = TransformerEncoder(str(tiny_encoder))
    with torch.no_grad():
        next(iter(encoder.model.parameters())).fill_(float("nan"))
    with pytest.raises(SapbertError, match=r"E585"):
        cached_name_vectors(small_kb, encoder)


def test_weights_of_ngrams_that_are_not_numbers_are_told(small_kb, tmp_path):
    encoder = NgramEncoder.fit(small_kb.names())
    encoder.save(tmp_path)
    for path in tmp_path.glob("*.npy"):
        path.write_bytes(stored(np.full_like(np.load(path), np.nan)))
    with pytest.raises(SapbertError, match="E306"):
        NgramEncoder.load(tmp_path)
