from __future__ import annotations

import os
import resource
import signal

import numpy as np
import pytest

from spacy_sapbert.encoders.info import write_vectors
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError

TEXTS = ["Breast cancer", "cold", "breast cancer", "neoplasms", "z"]


@pytest.fixture
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


@pytest.mark.parametrize("batch", [1, 2, 5, 100])
def test_a_row_a_text(encoder, tmp_path, batch):
    path = tmp_path / "vectors.npy"
    assert write_vectors(encoder, iter(TEXTS), path, batch=batch) == {"texts": 5, "without_vector": 0, "dim": 32}
    vectors = np.load(path, allow_pickle=False)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), atol=1e-5)
    np.testing.assert_array_equal(np.load(path, mmap_mode="r"), vectors)
    assert [*tmp_path.iterdir()] == [path]


def test_texts_that_are_none(encoder, tmp_path):
    texts = [None, "cold", "", " \t", "z", None]
    assert write_vectors(encoder, texts, tmp_path / "v.npy", batch=4)["without_vector"] == 4
    vectors = np.load(tmp_path / "v.npy")
    assert not vectors[[0, 2, 3, 5]].any()
    np.testing.assert_allclose(vectors[[1, 4]], encoder.encode(["cold", "z"]), atol=1e-5)


def test_no_texts(encoder, tmp_path):
    assert write_vectors(encoder, [], tmp_path / "v.npy") == {"texts": 0, "without_vector": 0, "dim": 32}
    assert np.load(tmp_path / "v.npy").shape == (0, 32)


def test_fast_vectors_are_close(encoder, tmp_path):
    write_vectors(encoder, TEXTS, tmp_path / "v.npy", fast=True)
    assert (np.load(tmp_path / "v.npy") * encoder.encode(TEXTS)).sum(axis=1).min() > 0.99


def broken():
    yield "cold"
    raise RuntimeError("the input broke")


def test_cut_off(encoder, tmp_path):
    (tmp_path / "v.npy").write_text("what was there")
    with pytest.raises(RuntimeError):
        write_vectors(encoder, broken(), tmp_path / "v.npy", batch=1)
    assert (tmp_path / "v.npy").read_text() == "what was there"
    assert len([*tmp_path.iterdir()]) == 1


def test_a_place_that_cannot_be_written(encoder, tmp_path):
    with pytest.raises(SapbertError, match="E507"):
        write_vectors(encoder, TEXTS, tmp_path / "no folder" / "v.npy")
    (tmp_path / "v.npy").mkdir()
    with pytest.raises(SapbertError, match="E507"):
        write_vectors(encoder, TEXTS, tmp_path / "v.npy")


def test_a_full_disk(encoder, tmp_path):
    encoder.encode(TEXTS)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with pytest.raises(SapbertError, match="E507"):
            write_vectors(encoder, map(str, range(100)), tmp_path / "v.npy", batch=10)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert not [*tmp_path.iterdir()]
