"""Folders of encoders that are made to run code, or to exhaust memory."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct

import pytest
import torch

from spacy_sapbert.encoders import TransformerEncoder
from spacy_sapbert.errors import SapbertError

LAYERS = 2_000_000_000


class RunsCode:
    """Leaves a file when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.fixture
def trace(tmp_path):
    return tmp_path / "code_was_run"


@pytest.fixture
def folder(make_encoder, tmp_path):
    """An encoder of its own, which a test may damage."""
    return shutil.copytree(make_encoder(), tmp_path / "encoder")


def change(path, **values):
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | values))


def check_told(folder, reason=""):
    with pytest.raises(SapbertError, match=rf"(?s)\[E302\].*{reason}"):
        TransformerEncoder(str(folder), device="cpu").encode(["fever"])


@pytest.mark.parametrize("write", [pickle.dump, torch.save], ids=["pickle", "torch"])
def test_no_pickle_is_run(folder, trace, write):
    (folder / "model.safetensors").unlink()
    with (folder / "pytorch_model.bin").open("wb") as file:
        write({"embeddings": RunsCode(trace)}, file)
    check_told(folder)
    assert not trace.exists()


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_no_module_of_the_folder_is_imported(folder, trace, file):
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(trace)!r})\nclass Own: ...\n")
    change(folder / "config.json", model_type="own")
    change(folder / file, auto_map={"AutoConfig": "own.Own", "AutoModel": "own.Own", "AutoTokenizer": ["own.Own"] * 2})
    check_told(folder)
    assert not trace.exists()


@pytest.mark.parametrize(
    "values",
    [
        {"num_hidden_layers": LAYERS},
        {"num_hidden_layers": -1},
        {"num_attention_heads": 0},
        {"num_attention_heads": -1},
        {"hidden_size": 1 << 16},
        {"hidden_size": -8},
        {"vocab_size": 1 << 40},
        {"max_position_embeddings": 1 << 62},
        {"hidden_act": "__import__('os')"},
    ],
    ids=str,
)
def test_a_config_of_another_size_takes_no_memory(folder, values):
    change(folder / "config.json", **values)
    check_told(folder)


@pytest.mark.parametrize("length", [0, 1 << 27, 1 << 62])
def test_a_header_of_weights_with_another_length(folder, length):
    weights = folder / "model.safetensors"
    weights.write_bytes(struct.pack("<Q", length) + weights.read_bytes()[8:])
    check_told(folder)


@pytest.mark.parametrize("left", [0, 5, 100, -1])
def test_weights_that_are_cut_off(folder, left):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:left])
    check_told(folder)


def test_weights_that_are_a_link_to_another_file(folder, tmp_path):
    (tmp_path / "secret.txt").write_text("secret " * 100)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(SapbertError, match="E302") as told:
        TransformerEncoder(str(folder), device="cpu").encode(["fever"])
    assert "secret secret" not in str(told.value)


def test_files_that_are_nested_too_deeply(folder):
    (folder / "config.json").write_text("[" * 100_000)
    check_told(folder, "nested too deeply")
