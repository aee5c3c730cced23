import logging
import multiprocessing
import os
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.on_demand import OnDemandVectors, VectorFile
from spacy_sapbert.vectors.stored import COMPRESSIONS

from .test_flat import CountingEncoder, stored

TEXTS = ["cold", "CF", "a cold", "COLD"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path):
    return VectorFile(tmp_path / "new folder" / "vectors.sqlite")


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_products_are_those_of_vectors_of_all_names(small_kb, compression):
    encoder = CountingEncoder()
    every = cached_name_vectors(small_kb, encoder, compression=compression)
    vectors = OnDemandVectors(small_kb, encoder, compression)
    queries = vectors.encode(TEXTS)
    np.testing.assert_array_equal(queries, stored([encoder.vector(text) for text in TEXTS], compression))
    which, rows = np.array([0, 0, 1, 3]), np.array([5, 0, 5, 33])
    np.testing.assert_array_equal(vectors.products(queries, which, rows), every.products(queries, which, rows))
    assert vectors.encode([]).shape == (0, encoder.dim)


def test_a_text_is_encoded_once_for_each_encoder_and_compression(small_kb):
    first, again, other = CountingEncoder(), CountingEncoder(), CountingEncoder("two")
    vectors = OnDemandVectors(small_kb, first)
    expected = vectors.encode(TEXTS)
    assert first.calls == [["COLD", "CF", "a cold"]]  # one of those with the same normal form
    np.testing.assert_array_equal(vectors.encode(TEXTS), expected)
    np.testing.assert_array_equal(OnDemandVectors(small_kb, again).encode(TEXTS), expected)
    assert (first.n_texts, again.n_texts) == (3, 0)
    OnDemandVectors(small_kb, again, "int4").encode(TEXTS)
    OnDemandVectors(small_kb, other).encode(TEXTS)
    assert (again.n_texts, other.n_texts) == (3, 3)


@pytest.mark.parametrize("kept", [b"\1\2", "text", 5])
def test_what_is_no_vector_in_the_file_is_encoded_again(small_kb, kept):
    vectors = OnDemandVectors(small_kb, CountingEncoder())
    expected = vectors.encode(TEXTS)
    with closing(sqlite3.connect(vectors.file.path)) as db, db:
        db.execute("UPDATE vectors SET stored = ?", (kept,))
    np.testing.assert_array_equal(OnDemandVectors(small_kb, CountingEncoder()).encode(TEXTS), expected)


def test_equal_names(small_kb):
    vectors = OnDemandVectors(small_kb, CountingEncoder())
    row = small_kb.rows_of_names(["cold"])["cold"]
    assert vectors.equals(TEXTS, np.arange(4), np.full(4, row)).tolist() == [True, False, False, True]


def test_a_full_file_drops_what_was_added_first(file, monkeypatch):
    file.limit = 2**17
    for second in range(60):
        monkeypatch.setattr("time.time", lambda second=second: second)
        file.add({second * 100 + i: bytes(100) for i in range(100)})
        assert len(file.get([second * 100])) == 1
    assert file.get([0]) == {}
    assert file.path.stat().st_size < 2 * file.limit


def _add(path, number):
    for i in range(20):
        VectorFile(path).add({number * 100 + i: bytes([number])})


def test_processes_share_a_file(file):
    file.add({1: b"x"})  # a connection before the fork
    processes = [multiprocessing.get_context("fork").Process(target=_add, args=(file.path, n)) for n in range(1, 5)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted(file.get(range(1000))) == [1, *(number * 100 + i for number in range(1, 5) for i in range(20))]


def test_a_killed_process_leaves_nothing_half_written(file):
    file.add({1: b"x"})
    if not (pid := os.fork()):
        db = sqlite3.connect(file.path)
        db.executemany("INSERT INTO vectors VALUES (?, ?, 0)", ((i, bytes(1000)) for i in range(2, 9000)))
        os._exit(9)
    os.waitpid(pid, 0)
    assert file.get(range(9000)) == {1: b"x"}
    file.add({2: b"y"})
    assert file.get([2]) == {2: b"y"}


def test_a_damaged_file_is_made_again(file, caplog):
    file.add({1: b"x"})
    file.path.write_bytes(b"no database" * 1000)
    assert file.get([1]) == {}
    file.add({1: b"y"})
    assert file.get([1]) == {1: b"y"}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_without_a_file_vectors_are_computed(small_kb, tmp_path, monkeypatch, caplog):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "a file"))
    encoder = CountingEncoder()
    vectors = OnDemandVectors(small_kb, encoder)
    np.testing.assert_array_equal(vectors.encode(TEXTS), vectors.encode(TEXTS))
    assert encoder.n_texts == 3
    assert len(caplog.records) == 1
