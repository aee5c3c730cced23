import numpy as np
import pytest

from spacy_sapbert.vectors import stored
from spacy_sapbert.vectors.stored import (
    COMPRESSIONS,
    HASHES_FILE,
    HashTable,
    StoredVectors,
    compress,
    expand,
    read_array,
)

# The highest number of a vector has 127 or 7 steps. Rounding changes a number by at most half a step. The factor, which
# keeps the length, changes it by less than another half.
ONE_STEP = {"int8": 1 / 127, "int4": 1 / 7, "float32": 1e-6}


def some_vectors(n=50, dim=32, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(stored, "ROWS_PER_CHUNK", 7)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("dim", [1, 7, 32])
def test_numbers_are_rounded_and_lengths_stay(compression, dim):
    vectors = some_vectors(dim=dim)
    read = expand(compress(vectors, compression), dim)
    assert read.shape == vectors.shape
    assert read.dtype == np.float32
    rounded = np.abs(read - vectors).max(axis=1) / np.abs(vectors).max(axis=1)
    assert rounded.max() < ONE_STEP[compression]
    np.testing.assert_allclose(np.linalg.norm(read, axis=1), np.linalg.norm(vectors, axis=1), rtol=1e-6)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_vectors_of_zeros_and_no_vectors(compression):
    np.testing.assert_array_equal(expand(compress(np.zeros((2, 6), np.float32), compression), 6), np.zeros((2, 6)))
    assert expand(compress(np.zeros((0, 6), np.float32), compression), 6).shape == (0, 6)


@pytest.mark.parametrize(("compression", "size"), [("int8", 384 + 4), ("int4", 192 + 4)])
def test_how_much_is_stored(compression, size):
    assert compress(some_vectors(3, 384), compression).itemsize == size


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_inner_products(compression):
    vectors, queries = StoredVectors(compress(some_vectors(), compression), 32), some_vectors(5, seed=1)
    expected = queries @ np.asarray(vectors).T
    drawn = np.random.default_rng(0)
    which, rows = drawn.integers(0, 5, 100), drawn.integers(0, 50, 100)
    np.testing.assert_allclose(vectors.products(queries, which, rows), expected[which, rows], atol=1e-4)
    np.testing.assert_allclose(vectors.similarities(queries), expected, atol=1e-4)
    np.testing.assert_allclose(vectors.similarities(queries, rows), expected[:, rows], atol=1e-4)
    assert vectors.products(queries, which[:0], rows[:0]).shape == (0,)
    assert vectors.similarities(queries[:0]).shape == (0, 50)


@pytest.mark.parametrize("n", [1, 3, 20, 50])
@pytest.mark.parametrize("largest_group", [1, 4, 32])
def test_the_nearest(n, largest_group, monkeypatch):
    monkeypatch.setattr(stored, "ROWS_PER_SEARCH", 23)
    monkeypatch.setattr(stored, "LARGEST_GROUP", largest_group)
    vectors, queries = StoredVectors(compress(some_vectors(), "int8"), 32), some_vectors(5, seed=1)
    exact = vectors.similarities(queries)
    products, rows = vectors.nearest(queries, n)
    np.testing.assert_array_equal(rows, np.argsort(-exact, axis=1)[:, :n])
    np.testing.assert_allclose(products, -np.sort(-exact, axis=1)[:, :n], atol=1e-4)
    some = np.random.default_rng(0).permutation(50)[:30]
    products, rows = vectors.nearest(queries, n, some)
    expected = some[np.argsort(-exact[:, some], axis=1)][:, :n]
    np.testing.assert_array_equal(rows[:, :30], expected)
    assert (rows[:, 30:] == -1).all()
    assert np.isneginf(products[:, 30:]).all()


def test_equally_near_vectors_keep_their_order():
    vectors = StoredVectors(np.repeat(np.eye(4, dtype=np.float32), 10, axis=0), 4)
    products, rows = vectors.nearest(np.eye(4, dtype=np.float32)[1:3], 12)
    np.testing.assert_array_equal(rows[:, :10], [range(10, 20), range(20, 30)])
    np.testing.assert_array_equal(products, [[1] * 10 + [0] * 2] * 2)
    assert vectors.nearest(np.zeros((0, 4), np.float32), 3)[1].shape == (0, 3)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_some_rows(compression):
    vectors = StoredVectors(compress(some_vectors(), compression), 32)
    whole = np.asarray(vectors)
    assert len(vectors) == 50
    np.testing.assert_array_equal(vectors[3], whole[3])
    np.testing.assert_array_equal(vectors[np.int64(3)], whole[3])
    np.testing.assert_array_equal(vectors[[4, 4, 1]], whole[[4, 4, 1]])
    np.testing.assert_array_equal(vectors[10:13], whole[10:13])
    assert np.asarray(vectors, dtype=np.float64).dtype == np.float64


def test_of_equal_hashes_the_first_is_found():
    hashes = np.array([9, 2**63 + 5, 9, 3, 3], dtype=np.uint64)
    table = HashTable.of(hashes)
    np.testing.assert_array_equal(table.find(hashes), [0, 1, 0, 3, 3])
    missing = np.array([0, 4, 2**64 - 1], dtype=np.uint64)
    np.testing.assert_array_equal(table.find(missing), [-1, -1, -1])
    assert table.find(hashes).dtype == np.int64
    assert HashTable.of(hashes[:0]).find(missing).tolist() == [-1, -1, -1]
    np.testing.assert_array_equal(table.repeated(), [[2, 4], [0, 3]])
    np.testing.assert_array_equal(HashTable.of(hashes[:0]).repeated(), np.zeros((2, 0)))


def test_a_saved_table_is_memory_mapped(tmp_path):
    hashes = np.array([9, 1, 7], dtype=np.uint64)
    HashTable.of(hashes).save(tmp_path)
    opened = HashTable.open(tmp_path)
    np.testing.assert_array_equal(opened.find(hashes), [0, 1, 2])
    np.testing.assert_array_equal(read_array(tmp_path / HASHES_FILE), [1, 7, 9])
    assert not opened._hashes.flags.owndata
    assert not opened._hashes.flags.writeable
