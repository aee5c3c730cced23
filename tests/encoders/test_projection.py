from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from spacy_sapbert.encoders.compression import keep_layers, prune_vocabulary, quantize
from spacy_sapbert.encoders.info import describe
from spacy_sapbert.encoders.projection import ACTIVATIONS, add_projection, get_projection
from spacy_sapbert.encoders.thinc_layer import thinc_encoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError

NAMES = ["breast cancer", "cold", "neoplasms"]


def opened(folder):
    return TransformerEncoder(str(folder), device="cpu")


@pytest.fixture
def make(tiny_encoder):
    """A function that makes an encoder of 32 dimensions with a projection; its weights are always the same."""

    def make(activation="tanh", dim=None):
        encoder = opened(tiny_encoder)
        torch.manual_seed(0)
        add_projection(encoder, activation, dim)
        return encoder

    return make


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_pooled_vector_goes_through_the_layer(make, make_encoder, activation):
    encoder = make(activation, 8)
    plain = opened(make_encoder(pooling="mean", l2_normalized=False)).encode(NAMES)
    linear = get_projection(encoder.model).linear
    wanted = plain @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()
    wanted = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "none": lambda x: x}[activation](wanted)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.encode(NAMES), wanted, atol=1e-5)
    assert encoder.dim == 8


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_it_is_saved_and_loaded(make, tmp_path, activation):
    encoder = make(activation, 8)
    encoder.save(tmp_path / "a")
    again = opened(tmp_path / "a")
    np.testing.assert_allclose(again.encode(NAMES), encoder.encode(NAMES), atol=1e-5)
    assert again.fingerprint == encoder.fingerprint
    assert (again.dim, describe(again)["projection"]) == (8, activation)
    assert describe(again)["parameters"]["projection"] == 33 * 8
    again.save(tmp_path / "a")  # what is there is replaced, as a part of an encoder
    assert opened(tmp_path / "a").fingerprint == encoder.fingerprint


def test_other_programs_load_the_folder(make, tmp_path):
    """Transformers without the projection, sentence-transformers with it."""
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    encoder = make("tanh", 8)
    encoder.save(tmp_path / "a")
    _, info = AutoModel.from_pretrained(tmp_path / "a", output_loading_info=True)
    assert not info["unexpected_keys"]
    vectors = SentenceTransformer(str(tmp_path / "a"), device="cpu").encode(NAMES)
    np.testing.assert_allclose(vectors, encoder.encode(NAMES), atol=1e-5)


def test_the_fingerprint_tells_weights_and_activation(make, tiny_encoder):
    encoders = [opened(tiny_encoder), make(), make("relu"), make()]
    with torch.no_grad():
        get_projection(encoders[-1].model).linear.bias += 0.5
    assert len({encoder.fingerprint for encoder in encoders}) == 4


def test_what_makes_encoders_smaller_keeps_it(make, tmp_path):
    encoder = make("tanh", 8)
    before = encoder.encode(NAMES)
    prune_vocabulary(encoder, NAMES)
    np.testing.assert_allclose(encoder.encode(NAMES), before, atol=1e-5)
    quantize(encoder, "float16")
    keep_layers(encoder, [0])
    encoder.save(tmp_path / "small")
    small = opened(tmp_path / "small")
    assert (small.dim, small.dtype) == (8, "float16")
    np.testing.assert_allclose(small.encode(NAMES), encoder.encode(NAMES), atol=1e-5)


def test_only_one_and_only_of_a_known_kind(make, tiny_encoder):
    with pytest.raises(SapbertError, match=r"E316.*already has a projection"):
        add_projection(make())
    with pytest.raises(SapbertError, match=r"E125.*sigmoid.*tanh, relu, none"):
        add_projection(opened(tiny_encoder), "sigmoid")


def test_a_damaged_folder_is_told(make, tmp_path):
    make().save(tmp_path / "a")
    config = tmp_path / "a" / "2_Dense" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "activation_function": "os.system"}))
    with pytest.raises(SapbertError, match=r"E302.*os\.system"):
        opened(tmp_path / "a").encode(NAMES)
    shutil.rmtree(config.parent)
    with pytest.raises(SapbertError, match=r"E302.*2_Dense"):
        opened(tmp_path / "a").encode(NAMES)


def test_spacy_trains_it_with_the_layers_below(make):
    encoder = make()
    thinc_encoder(encoder, trained_layers=1)
    trained = {name for name, weights in encoder.model.named_parameters() if weights.requires_grad}
    assert {"name_projection.linear.weight", "encoder.layer.1.output.dense.weight"} <= trained
    assert "encoder.layer.0.output.dense.weight" not in trained
