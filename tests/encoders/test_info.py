import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from spacy_sapbert.encoders.compression import describe, quantize, write_vectors
from spacy_sapbert.encoders.transformer import TransformerEncoder


def test_sizes(tiny_encoder):
    result = describe(TransformerEncoder(str(tiny_encoder), device="cpu"))
    # pieces, positions and two segments, each of 32 dimensions, and a layer norm
    embeddings = (82 + 64 + 2 + 2) * 32
    # four maps of attention, two of the feed-forward part through 64, two layer norms
    layer = 4 * (32 * 32 + 32) + (32 * 64 + 64) + (64 * 32 + 32) + 2 * 64
    pooler = 32 * 32 + 32
    assert result["parameters"] == {
        "embeddings": embeddings, "layers": 2 * layer, "adapter": 0, "projection": 0, "other": pooler,
        "all": embeddings + 2 * layer + pooler,
    }  # fmt: skip
    sizes = {key: result[key] for key in ("architecture", "layers", "dim", "vocabulary", "positions", "adapter")}
    assert sizes == {
        "architecture": "BertModel", "layers": 2, "dim": 32, "vocabulary": 82, "positions": 64, "adapter": False,
    }  # fmt: skip


def test_bytes_on_disk_and_history(tiny_encoder, tmp_path):
    encoder = TransformerEncoder(str(tiny_encoder), device="cpu")
    quantize(encoder, "float16")
    encoder.record("quantize", dtype="float16")
    encoder.save(tmp_path / "half")
    result = describe(TransformerEncoder(str(tmp_path / "half"), device="cpu"))
    assert result["weight_bytes"] == (tmp_path / "half" / "model.safetensors").stat().st_size
    assert result["bytes"] == sum(path.stat().st_size for path in (tmp_path / "half").rglob("*") if path.is_file())
    assert 2 * result["parameters"]["all"] < result["weight_bytes"] < 2 * result["parameters"]["all"] + 8000
    assert result["dtype"] == "float16"
    assert result["trained"]["history"] == [{"step": "quantize", "dtype": "float16"}]
    assert (result["pooling"], result["max_length"], result["text_normalizer"]) == ("mean", 25, "lower+greek")
    assert result["fingerprint"] == encoder.fingerprint


@pytest.mark.slow
def test_an_encoder_of_the_hub(tiny_encoder, tmp_path):
    """It lies in the cache of Hugging Face, whose place is read once, when the library is imported."""
    encoder = TransformerEncoder(str(tiny_encoder), device="cpu")
    quantize(encoder, "bfloat16")
    encoder.save(tmp_path / "half")
    repository = tmp_path / "cache" / "models--someone--tiny"
    shutil.copytree(tmp_path / "half", repository / "snapshots" / "0123")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123")
    script = "import sys, json; from spacy_sapbert.encoders.compression import *; "
    script += "print(json.dumps(describe(TransformerEncoder('someone/tiny'))))"
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["dtype"], result["pooling"]) == ("bfloat16", "mean")
    assert result["bytes"] == sum(path.stat().st_size for path in (tmp_path / "half").rglob("*") if path.is_file())
    assert result["fingerprint"] == encoder.fingerprint


TEXTS = ["Breast cancer", "cold", "breast cancer", "neoplasms", "z"]


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
    texts = ["", "cold", "", " \t", "z", "\n"]
    assert write_vectors(encoder, texts, tmp_path / "v.npy", batch=4)["without_vector"] == 4
    vectors = np.load(tmp_path / "v.npy")
    assert not vectors[[0, 2, 3, 5]].any()
    np.testing.assert_allclose(vectors[[1, 4]], encoder.encode(["cold", "z"]), atol=1e-5)


def broken():
    yield "cold"
    raise RuntimeError("the input broke")


def test_cut_off(encoder, tmp_path):
    (tmp_path / "v.npy").write_text("what was there")
    with pytest.raises(RuntimeError):
        write_vectors(encoder, broken(), tmp_path / "v.npy", batch=1)
    assert (tmp_path / "v.npy").read_text() == "what was there"
    assert len([*tmp_path.iterdir()]) == 1
