"""Adapters, where the library is installed, and projections."""

import json
import shutil
import sys

import numpy as np
import pytest
import torch
import transformers

from spacy_sapbert.encoders.additions import ACTIVATIONS, add_adapter, add_projection, get_projection, has_adapter
from spacy_sapbert.encoders.compression import describe, keep_layers, prune_vocabulary, quantize
from spacy_sapbert.encoders.segments import thinc_encoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError

NAMES = ["breast cancer", "cold", "neoplasms"]


def opened(folder):
    return TransformerEncoder(str(folder), device="cpu")


@pytest.fixture
def library():
    return pytest.importorskip("adapters")


@pytest.fixture
def adapted(library, encoder):
    """An encoder with an adapter whose weights are not near zero, as they are at first."""
    add_adapter(encoder, 4)
    torch.manual_seed(1)
    for weights in encoder.model.parameters():
        if weights.requires_grad:
            torch.nn.init.normal_(weights)
    return encoder


def test_numbers_of_weights_of_an_adapter(library, encoder):
    everything = sum(weights.numel() for weights in encoder.model.parameters())
    # 32 dimensions: two layers with a bottleneck of 8, and two maps of one half to the other through 8
    layers = 2 * (32 * 8 + 8 + 8 * 32 + 32)
    invertible = 2 * (16 * 8 + 8 + 8 * 16 + 16)
    assert add_adapter(encoder, 4) == (layers + invertible, everything)


def test_sizes_of_the_paper(library):
    """SapBERT's authors report adapters of 13.22 % and 1.09 % of the weights of a BERT-base."""

    class Meta:
        model = None

        def replace(self, model):
            self.model = model

    for reduction_factor, percent in ((1, 13.22), (16, 1.09)):
        encoder = Meta()
        with torch.device("meta"):
            encoder.model = transformers.BertModel(transformers.BertConfig())
            size = add_adapter(encoder, reduction_factor)
        assert round(100 * size.trained / size.all, 2) == percent


def test_only_the_adapter_is_trained(adapted):
    before = {key: value.clone() for key, value in adapted.model.state_dict().items()}
    optimizer = torch.optim.SGD((weights for weights in adapted.model.parameters() if weights.requires_grad), lr=0.1)
    adapted.embed(adapted.tokenize(NAMES))[:, 0].sum().backward()
    optimizer.step()
    changed = {key for key, value in adapted.model.state_dict().items() if not torch.equal(value, before[key])}
    assert changed
    assert all("adapters." in key for key in changed)


def test_an_adapter_is_saved_and_loaded(adapted, tiny_encoder, tmp_path):
    adapted.save(tmp_path / "saved")
    loaded = opened(tmp_path / "saved")
    plain = opened(tiny_encoder)
    np.testing.assert_array_equal(loaded.encode(NAMES), adapted.encode(NAMES))
    assert np.abs(loaded.encode(NAMES) - plain.encode(NAMES)).max() > 0.01
    assert loaded.fingerprint != plain.fingerprint
    loaded.save(tmp_path / "again")
    again = opened(tmp_path / "again")
    np.testing.assert_array_equal(again.encode(NAMES), adapted.encode(NAMES))
    assert again.fingerprint == loaded.fingerprint == adapted.fingerprint


def test_the_base_lies_in_the_folder_as_it_was(adapted, tiny_encoder, tmp_path):
    adapted.save(tmp_path / "saved")
    base = transformers.AutoModel.from_pretrained(tmp_path / "saved").state_dict()
    for key, value in transformers.AutoModel.from_pretrained(tiny_encoder).state_dict().items():
        assert torch.equal(base[key], value)
    assert not [path for path in (tmp_path / "saved").rglob("*") if path.suffix in (".bin", ".pt")]


def test_an_adapter_in_half_precision(adapted, tmp_path):
    adapted.dtype = "float16"
    adapted.save(tmp_path / "half")
    loaded = opened(tmp_path / "half")
    assert (loaded.encode(NAMES) * adapted.encode(NAMES)).sum(axis=1).min() > 0.999
    assert loaded.dtype == "float16"


def test_an_adapter_goes_last(adapted):
    with pytest.raises(SapbertError, match="E316"):
        keep_layers(adapted, [0])
    with pytest.raises(SapbertError, match="E316"):
        add_adapter(adapted)
    assert has_adapter(adapted.model)


def test_an_adapter_without_weights(adapted, tmp_path):
    adapted.save(tmp_path / "saved")
    (tmp_path / "saved" / "adapter" / "adapter.safetensors").unlink()
    with pytest.raises(SapbertError, match=r"E302.*adapter\.safetensors"):
        TransformerEncoder(str(tmp_path / "saved")).encode(NAMES)


def test_the_library_is_not_installed(make_encoder, monkeypatch):
    monkeypatch.setitem(sys.modules, "adapters", None)
    folder = make_encoder(adapter="adapter")
    with pytest.raises(SapbertError, match=r"E542.*spacy-sapbert\[adapters\]"):
        TransformerEncoder(str(folder)).encode(NAMES)
    with pytest.raises(SapbertError, match="E542"):
        add_adapter(TransformerEncoder(str(make_encoder())))


def test_an_adapter_is_read_from_the_own_folder_only(make_encoder):
    pytest.importorskip("adapters")
    folder = make_encoder()
    (folder / "spacy_sapbert.json").write_text(json.dumps({"adapter": "../other"}))
    with pytest.raises(SapbertError, match=r"adapter\.safetensors in .*/adapter\b"):
        _ = TransformerEncoder(str(folder)).model


@pytest.fixture
def projected(tiny_encoder):
    """A function that makes an encoder of 32 dimensions with a projection; its weights are always the same."""

    def make(activation="tanh", dim=None):
        encoder = opened(tiny_encoder)
        torch.manual_seed(0)
        add_projection(encoder, activation, dim)
        return encoder

    return make


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_pooled_vector_goes_through_the_layer(projected, make_encoder, tmp_path, activation):
    encoder = projected(activation, 8)
    plain = opened(make_encoder(pooling="mean", l2_normalized=False)).encode(NAMES)
    linear = get_projection(encoder.model).linear
    expected = plain @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()
    expected = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "none": lambda x: x}[activation](expected)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    encoder.save(tmp_path / "a")
    again = opened(tmp_path / "a")
    for one in (encoder, again):
        np.testing.assert_allclose(one.encode(NAMES), expected, atol=1e-5)
        assert (one.dim, one.fingerprint) == (8, encoder.fingerprint)
    assert describe(again)["projection"] == activation
    assert describe(again)["parameters"]["projection"] == 33 * 8
    again.save(tmp_path / "a")  # what is there is replaced, as a part of an encoder
    assert opened(tmp_path / "a").fingerprint == encoder.fingerprint


def test_other_programs_load_the_folder(projected, tmp_path):
    """Transformers without the projection, sentence-transformers with it."""
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    encoder = projected("tanh", 8)
    encoder.save(tmp_path / "a")
    _, info = AutoModel.from_pretrained(tmp_path / "a", output_loading_info=True)
    assert not info["unexpected_keys"]
    vectors = SentenceTransformer(str(tmp_path / "a"), device="cpu").encode(NAMES)
    np.testing.assert_allclose(vectors, encoder.encode(NAMES), atol=1e-5)


def test_weights_and_activation_change_the_fingerprint(projected, tiny_encoder):
    encoders = [opened(tiny_encoder), projected(), projected("relu"), projected()]
    with torch.no_grad():
        get_projection(encoders[-1].model).linear.bias += 0.5
    assert len({encoder.fingerprint for encoder in encoders}) == 4


def test_a_smaller_encoder_has_the_same_projection(projected, tmp_path):
    encoder = projected("tanh", 8)
    before = encoder.encode(NAMES)
    prune_vocabulary(encoder, NAMES)
    np.testing.assert_allclose(encoder.encode(NAMES), before, atol=1e-5)
    quantize(encoder, "float16")
    keep_layers(encoder, [0])
    encoder.save(tmp_path / "small")
    small = opened(tmp_path / "small")
    assert (small.dim, small.dtype) == (8, "float16")
    np.testing.assert_allclose(small.encode(NAMES), encoder.encode(NAMES), atol=1e-5)


def test_a_second_projection_and_an_unknown_activation(projected, tiny_encoder):
    with pytest.raises(SapbertError, match=r"E316.*already has a projection"):
        add_projection(projected())
    with pytest.raises(SapbertError, match=r"E125.*sigmoid.*tanh, relu, none"):
        add_projection(opened(tiny_encoder), "sigmoid")


def test_a_damaged_projection(projected, tmp_path):
    projected().save(tmp_path / "a")
    config = tmp_path / "a" / "2_Dense" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "activation_function": "os.system"}))
    with pytest.raises(SapbertError, match=r"E302.*os\.system"):
        opened(tmp_path / "a").encode(NAMES)
    shutil.rmtree(config.parent)
    with pytest.raises(SapbertError, match=r"E302.*2_Dense"):
        opened(tmp_path / "a").encode(NAMES)


def test_spacy_trains_a_projection_with_the_layers_below(projected):
    encoder = projected()
    thinc_encoder(encoder, trained_layers=1)
    trained = {name for name, weights in encoder.model.named_parameters() if weights.requires_grad}
    assert {"name_projection.linear.weight", "encoder.layer.1.output.dense.weight"} <= trained
    assert "encoder.layer.0.output.dense.weight" not in trained
