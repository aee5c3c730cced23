"""Tokenizer and forward pass without transformers, compared with those of transformers."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.folder import resolve
from spacy_sapbert.encoders.plain_bert import PlainBert, _filling, plain_bert_of, read_plain_bert, read_plain_tokenizer
from spacy_sapbert.encoders.transformer import TransformerEncoder

# texts of different lengths, one of them as long as the model can read
BATCH = [[2, 5, 6, 3], [2, 3], [2, *range(5, 67), 3], [2, 7, 8, 9, 10, 3]]
TEXTS = ["breast cancer", "cold", "", "a long name of some neoplasms"]
READ = ["Breast  Cancer", "", "Café-au-lait\tspots", "[SEP] cold [MASK]", "新 cold", "a b c d e f g h " * 9, "x" * 200]


def of_transformers(model, batch, pooling):
    """Each text on its own, so without padding."""
    hidden = []
    with torch.no_grad():
        for pieces in batch:
            of_text = model(torch.tensor([pieces])).last_hidden_state[0]
            hidden.append(of_text[0] if pooling == "cls" else of_text.mean(0))
    return torch.stack(hidden).numpy()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("batch", [BATCH, BATCH[:1], [BATCH[0], BATCH[0][::-1]]])
@pytest.mark.parametrize("kind", ["BertModel", "BertForMaskedLM"])
def test_it_computes_what_transformers_does(make_encoder, kind, batch, pooling):
    folder = make_encoder(model=kind)
    model = transformers.BertModel.from_pretrained(folder).eval()
    expected = of_transformers(model, batch, pooling)
    assert len(expected) == 1 or np.abs(expected[0] - expected[1]).max() > 0.01
    for plain in (read_plain_bert(str(folder)), plain_bert_of(model)):
        with torch.inference_mode():
            np.testing.assert_allclose(plain(batch, pooling).numpy(), expected, atol=1e-5)


def test_all_weights_count(make_encoder):
    """transformers starts with biases of 0 and norms of 1, which could hide a mistake."""
    model = transformers.BertModel.from_pretrained(make_encoder()).eval()
    generator = torch.Generator().manual_seed(0)
    for weights in model.parameters():
        weights.data.add_(torch.randn(weights.shape, generator=generator) / 4)
    plain = plain_bert_of(model)
    expected = of_transformers(model, BATCH, "mean")
    with torch.no_grad():
        np.testing.assert_allclose(plain(BATCH, "mean").numpy(), expected, atol=1e-4)
        for name, weights in model.named_parameters():
            if name.startswith("pooler") or name.endswith("key.bias"):  # a bias of all keys cancels out
                continue
            before = weights.clone()
            weights.data.add_(torch.randn(weights.shape, generator=generator))
            assert np.abs(plain(BATCH, "mean").numpy() - expected).max() > 1e-3, name
            weights.data.copy_(before)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("batch", [BATCH, BATCH[:1], BATCH[1:2], [BATCH[0]] * 4, [BATCH[0]] * 11])
def test_half_precision_is_close(tiny_encoder, batch, pooling):
    plain = read_plain_bert(str(tiny_encoder))
    with torch.inference_mode():
        half, full = (plain(batch, pooling, half=half) for half in (True, False))
    assert (half.shape, half.dtype) == (full.shape, torch.float32)
    assert (half - full).abs().max() > 0
    assert torch.nn.functional.cosine_similarity(half, full).min() > 0.999


def test_products_in_half_precision_have_few_shapes(tiny_encoder, monkeypatch):
    plain = read_plain_bert(str(tiny_encoder))
    linear, rows = torch.nn.functional.linear, []

    def record(values, *weights):
        rows.append(len(values))
        return linear(values, *weights)

    monkeypatch.setattr(torch.nn.functional, "linear", record)
    with torch.inference_mode():
        for n in range(1, 41):  # up to 160 wordpieces
            plain([BATCH[0]] * n, "mean", half=True)
    assert set(rows) == {12, 16, 24, 32, 48, 64, 96, 128, 192}


@given(st.lists(st.integers(1, 64), min_size=1, max_size=64))
@settings(deadline=None)
def test_filling_is_short(lengths):
    filling = list(map(len, _filling(lengths)))
    assert all(0 < length <= max(lengths) for length in filling)
    assert sum(filling) <= max(sum(lengths) / 2, 11)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_stored_half_precision(tiny_encoder, copied, dtype):
    model = transformers.BertModel.from_pretrained(tiny_encoder).to(dtype)
    model.save_pretrained(copied)
    expected = of_transformers(model.float().eval(), BATCH, "cls")
    with torch.inference_mode():
        np.testing.assert_allclose(read_plain_bert(str(copied))(BATCH, "cls").numpy(), expected, atol=1e-5)


# --- which encoders it computes


def change(folder, file, **values):
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "electra"}, {"hidden_act": "relu"}, {"position_embedding_type": "relative_key"},
        {"is_decoder": True}, {"pruned_heads": {"0": [1]}}, {"num_hidden_layers": 3}, {"hidden_size": 64},
        {"layer_norm_eps": None}, {"num_attention_heads": 0}, {"num_attention_heads": 5},
        {"num_hidden_layers": 10**9},
    ],
)  # fmt: skip
def test_others_are_left_to_transformers(copied, changes):
    assert isinstance(read_plain_bert(str(copied)), PlainBert)
    change(copied, "config.json", **changes)
    assert read_plain_bert(str(copied)) is None


def test_unknown_weights_and_other_files(copied):
    assert read_plain_bert("nobody/no-such-encoder") is None
    (copied / "adapter_config.json").write_text("{}")
    assert read_plain_bert(str(copied)) is None
    (copied / "adapter_config.json").unlink()
    from safetensors.torch import load_file, save_file

    weights = load_file(copied / "model.safetensors")
    save_file({**weights, "encoder.layer.0.extra.weight": torch.ones(2)}, copied / "model.safetensors")
    assert read_plain_bert(str(copied)) is None


# --- in an encoder


def test_the_present_weights_are_used(encoder, tiny_encoder):
    before = encoder.encode(TEXTS)
    np.testing.assert_array_equal(before, [encoder, encoder.model][0].encode(TEXTS))  # from the open model
    with torch.no_grad():
        encoder.model.encoder.layer[1].output.dense.bias[:8].add_(1)
    for fast in (False, True):
        assert np.abs(encoder.encode(TEXTS, fast=fast) - before).max() > 0.01
    encoder.replace(encoder.model)
    assert encoder.fingerprint != TransformerEncoder(str(tiny_encoder), device="cpu").fingerprint


def test_a_model_in_training_mode_gives_the_same_vectors(encoder):
    before = encoder.encode(TEXTS)
    encoder.model.train()
    np.testing.assert_array_equal(encoder.encode(TEXTS), before)


def test_the_fingerprint_does_not_depend_on_what_computes(tiny_encoder, make_encoder):
    for folder in (tiny_encoder, make_encoder(model="BertForMaskedLM")):
        encoder, opened = (TransformerEncoder(str(folder), device="cpu") for _ in range(2))
        _ = opened.model, opened.tokenizer
        assert encoder.fingerprint == opened.fingerprint
        assert encoder.dim == opened.dim == 32
        assert encoder.positions == opened.positions == 64


def test_encoding_does_not_import_transformers(tiny_encoder):
    code = """
import sys
from spacy_sapbert.encoders.transformer import TransformerEncoder
encoder = TransformerEncoder(sys.argv[1], device="cpu")
encoder.encode(["breast cancer", "cold"], fast=True)
encoder.fingerprint, encoder.dim, encoder.positions
print([name for name in ("transformers", "sklearn", "huggingface_hub") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code, str(tiny_encoder)], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


# --- the tokenizer


def pair(folder, **settings):
    """The same encoder twice: with the tokenizer of the folder, and with that of transformers."""
    plain, theirs = (TransformerEncoder(str(folder), device="cpu", **settings) for _ in range(2))
    assert theirs.tokenizer is not None
    return plain, theirs


@pytest.fixture(scope="module", params=["tiny", "starter"])
def encoders(request, tiny_encoder):
    plain, theirs = pair(tiny_encoder if request.param == "tiny" else resolve("starter-transformer"))
    assert read_plain_tokenizer(plain.name) is not None
    return plain, theirs


@pytest.mark.parametrize("max_length", [2, 3, 8, 25])
def test_pieces_are_those_of_transformers(encoders, max_length):
    plain, theirs = pair(encoders[0].name, max_length=max_length)
    pieces = plain.tokenize(READ)
    assert pieces == theirs.tokenize(READ)
    assert max(map(len, pieces)) == max_length
    assert plain.tokenize_parts(READ) == theirs.tokenize_parts(READ)
    assert plain.tokenize_parts([]) == theirs.tokenize_parts([]) == []
    assert plain.add_special_pieces([7, 8]) == theirs.add_special_pieces([7, 8]) == [2, 7, 8, 3]


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_pieces_of_any_text(encoders, texts):
    plain, theirs = encoders
    assert plain.tokenize(texts) == theirs.tokenize(texts)
    assert plain.tokenize_parts(texts) == theirs.tokenize_parts(texts)


def added(number, content):
    flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    return {"added_tokens_decoder": {str(number): {"content": content, "special": True, **flags}}}


@pytest.mark.parametrize(
    "values",
    [
        {"do_lower_case": False}, {"strip_accents": False}, {"tokenize_chinese_chars": False},
        {"truncation_side": "left"}, {"additional_special_tokens": ["cold"]}, added(5, "breast"),
        {"unk_token": "[NONE]"}, {"tokenizer_class": "BertJapaneseTokenizer"},
        {"tokenizer_class": "PreTrainedTokenizerFast"},
    ],
)  # fmt: skip
def test_settings_by_which_transformers_changes_the_tokenizer(copied, values):
    assert read_plain_tokenizer(str(copied)) is not None
    change(copied, "tokenizer_config.json", **values)
    assert read_plain_tokenizer(str(copied)) is None


@pytest.mark.parametrize("values", [{"do_lower_case": False}, {"truncation_side": "left"}, added(5, "breast")])
def test_such_a_tokenizer_is_left_to_transformers(copied, values):
    texts = ["Cold xbreast cancer a b c d e"]
    before = TransformerEncoder(str(copied), text_normalizer="none", max_length=6).tokenize(texts)
    change(copied, "tokenizer_config.json", **values)
    plain, theirs = pair(copied, text_normalizer="none", max_length=6)
    assert plain.tokenize(texts) == theirs.tokenize(texts) != before


def test_tokenizers_with_other_files(copied):
    (copied / "added_tokens.json").write_text("{}")
    assert read_plain_tokenizer(str(copied)) is None
    (copied / "added_tokens.json").unlink()
    (copied / "tokenizer.json").unlink()
    assert read_plain_tokenizer(str(copied)) is None
    plain, theirs = pair(copied)
    assert plain.tokenize(READ) == theirs.tokenize(READ)
    assert read_plain_tokenizer("nobody/no-such-encoder") is None


def test_a_replaced_tokenizer_is_used(tiny_encoder, copied):
    tokenizer = copied / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"breast"', '"broast"'))
    encoder, other = (TransformerEncoder(str(folder), device="cpu") for folder in (tiny_encoder, copied))
    before = encoder.tokenize(["breast"])
    encoder.replace(encoder.model, other.tokenizer)
    assert encoder.tokenize(["breast"]) == other.tokenize(["breast"]) != before
