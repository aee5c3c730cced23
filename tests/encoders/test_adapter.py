"""Adapters, where the library is installed."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import torch
import transformers

from spacy_sapbert.encoders.adapter import add_adapter, has_adapter
from spacy_sapbert.encoders.compression import keep_layers
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError

NAMES = ["breast cancer", "cold", "neoplasms"]


@pytest.fixture
def library():
    return pytest.importorskip("adapters")


@pytest.fixture
def adapted(library, tiny_encoder):
    """An encoder with an adapter whose weights are not near zero, as they are at first."""
    encoder = TransformerEncoder(str(tiny_encoder), device="cpu")
    add_adapter(encoder, 4)
    torch.manual_seed(1)
    for weights in encoder.model.parameters():
        if weights.requires_grad:
            torch.nn.init.normal_(weights)
    return encoder


def test_numbers_of_weights(library, tiny_encoder):
    encoder = TransformerEncoder(str(tiny_encoder))
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


def test_saved_and_loaded(adapted, tiny_encoder, tmp_path):
    adapted.save(tmp_path / "saved")
    loaded = TransformerEncoder(str(tmp_path / "saved"), device="cpu")
    plain = TransformerEncoder(str(tiny_encoder), device="cpu")
    np.testing.assert_array_equal(loaded.encode(NAMES), adapted.encode(NAMES))
    assert np.abs(loaded.encode(NAMES) - plain.encode(NAMES)).max() > 0.01
    assert loaded.fingerprint != plain.fingerprint
    loaded.save(tmp_path / "again")
    again = TransformerEncoder(str(tmp_path / "again"), device="cpu")
    np.testing.assert_array_equal(again.encode(NAMES), adapted.encode(NAMES))
    assert again.fingerprint == loaded.fingerprint == adapted.fingerprint


def test_the_base_lies_in_the_folder_as_it_was(adapted, tiny_encoder, tmp_path):
    adapted.save(tmp_path / "saved")
    base = transformers.AutoModel.from_pretrained(tmp_path / "saved").state_dict()
    for key, value in transformers.AutoModel.from_pretrained(tiny_encoder).state_dict().items():
        assert torch.equal(base[key], value)
    assert not [path for path in (tmp_path / "saved").rglob("*") if path.suffix in (".bin", ".pt")]


def test_other_weights_of_the_adapter_change_the_fingerprint(adapted):
    before = adapted.fingerprint
    with torch.no_grad():
        next(weights for weights in adapted.model.parameters() if weights.requires_grad).add_(1)
    adapted.replace(adapted.model)
    assert adapted.fingerprint != before


def test_half_precision(adapted, tmp_path):
    adapted.dtype = "float16"
    adapted.save(tmp_path / "half")
    loaded = TransformerEncoder(str(tmp_path / "half"), device="cpu")
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
    folder = make_encoder()
    (folder / "spacy_sapbert.json").write_text(json.dumps({"adapter": "../other"}))
    with pytest.raises(SapbertError, match=r"adapter\.safetensors in .*/adapter\b"):
        _ = TransformerEncoder(str(folder)).model
