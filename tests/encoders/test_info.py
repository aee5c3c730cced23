from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from spacy_sapbert.encoders.compression import quantize
from spacy_sapbert.encoders.info import describe
from spacy_sapbert.encoders.transformer import TransformerEncoder


def test_sizes(tiny_encoder):
    found = describe(TransformerEncoder(str(tiny_encoder), device="cpu"))
    # pieces, positions and two segments, each of 32 dimensions, and a layer norm
    embeddings = (82 + 64 + 2 + 2) * 32
    # four maps of attention, two of the feed-forward part through 64, two layer norms
    layer = 4 * (32 * 32 + 32) + (32 * 64 + 64) + (64 * 32 + 32) + 2 * 64
    pooler = 32 * 32 + 32
    assert found["parameters"] == {
        "embeddings": embeddings,
        "layers": 2 * layer,
        "adapter": 0,
        "projection": 0,
        "other": pooler,
        "all": embeddings + 2 * layer + pooler,
    }
    sizes = {key: found[key] for key in ("architecture", "layers", "dim", "vocabulary", "positions", "adapter")}
    assert sizes == {
        "architecture": "BertModel",
        "layers": 2,
        "dim": 32,
        "vocabulary": 82,
        "positions": 64,
        "adapter": False,
    }


def test_bytes_on_disk_and_history(tiny_encoder, tmp_path):
    encoder = TransformerEncoder(str(tiny_encoder), device="cpu")
    quantize(encoder, "float16")
    encoder.record("quantize", dtype="float16")
    encoder.save(tmp_path / "half")
    found = describe(TransformerEncoder(str(tmp_path / "half"), device="cpu"))
    assert found["weight_bytes"] == (tmp_path / "half" / "model.safetensors").stat().st_size
    assert found["bytes"] == sum(path.stat().st_size for path in (tmp_path / "half").rglob("*") if path.is_file())
    assert 2 * found["parameters"]["all"] < found["weight_bytes"] < 2 * found["parameters"]["all"] + 8000
    assert found["dtype"] == "float16"
    assert found["trained"]["history"] == [{"step": "quantize", "dtype": "float16"}]
    assert (found["pooling"], found["max_length"], found["text_normalizer"]) == ("mean", 25, "lower+greek")
    assert found["fingerprint"] == encoder.fingerprint


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
    script = "import sys, json; from spacy_sapbert.encoders.info import *; "
    script += "print(json.dumps(describe(TransformerEncoder('someone/tiny'))))"
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["dtype"], found["pooling"]) == ("bfloat16", "mean")
    assert found["bytes"] == sum(path.stat().st_size for path in (tmp_path / "half").rglob("*") if path.is_file())
    assert found["fingerprint"] == encoder.fingerprint
