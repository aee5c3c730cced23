import json
import shutil

import numpy as np
import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.compression import (
    check_wordpiece,
    indispensable,
    keep_layers,
    prune_vocabulary,
    quantize,
    spread_layers,
    with_vocabulary,
)
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS

NAMES = ["breast cancer", "Breast  Neoplasms", "zoster"]


@pytest.fixture
def original(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


def reloaded(encoder, tmp_path):
    encoder.save(tmp_path / "saved")
    return TransformerEncoder(str(tmp_path / "saved"), device="cpu")


def make(kind, folder):
    """A random model of another architecture, with the tiny encoder's tokenizer."""
    sizes = {"vocab_size": 82, "max_position_embeddings": 66, "hidden_size": 32, "num_hidden_layers": 3}
    others = {"num_attention_heads": 4, "intermediate_size": 64}
    if kind == "DistilBert":
        config = transformers.DistilBertConfig(
            vocab_size=82, max_position_embeddings=66, dim=32, n_layers=3, n_heads=4, hidden_dim=64
        )
    else:
        config = getattr(transformers, f"{kind}Config")(**sizes, **others)
    torch.manual_seed(0)
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)


# --- vocabulary


def test_names_whose_pieces_stay_keep_their_vectors(encoder, original, tmp_path):
    before = original.encode([*NAMES, "cold"])
    report = prune_vocabulary(encoder, NAMES)
    after = encoder.encode([*NAMES, "cold"])
    np.testing.assert_allclose(after[:3], before[:3], atol=1e-5)
    assert np.abs(after[3] - before[3]).max() > 0.01  # "cold" is c ##o ##l ##d now
    assert report["pieces_before"] - report["pieces"] == 1
    loaded = reloaded(encoder, tmp_path)
    np.testing.assert_array_equal(loaded.encode([*NAMES, "cold"]), after)
    assert loaded.fingerprint == encoder.fingerprint != original.fingerprint
    assert loaded.model.config.vocab_size == len(loaded.tokenizer.get_vocab()) == report["pieces"]


def test_any_text_can_still_be_read(encoder):
    prune_vocabulary(encoder, ["breast"])
    assert encoder.tokenizer.tokenize("cold neoplasms 42") == [
        *("c", "##o", "##l", "##d"),
        *("n", "##e", "##o", "##p", "##l", "##a", "##s", "##m", "##s"),
        *("4", "##2"),
    ]


def test_the_report(encoder):
    assert prune_vocabulary(encoder, iter(NAMES)) == {"names": 3, "pieces_before": 82, "pieces": 81}  # "cold" goes


def test_the_most_used_pieces_stay(encoder):
    always = 5 + 2 * 36
    names = ["breast", "cancer", "cancer", "neo"]
    report = prune_vocabulary(encoder, names, keep_pieces=always + 2, always=["neo"])
    assert report["pieces"] == always + 2
    assert {"neo", "cancer"} <= set(encoder.tokenizer.get_vocab())
    with pytest.raises(SapbertError, match=f"E533.*{always} must stay"):
        prune_vocabulary(encoder, ["breast"], keep_pieces=always - 1)


def test_names_are_read_in_the_encoders_normal_form(encoder, monkeypatch):
    monkeypatch.setitem(TEXT_NORMALIZERS, encoder.text_normalizer, lambda name: name.replace("cold", "breast"))
    prune_vocabulary(encoder, ["cold"])
    assert "breast" in encoder.tokenizer.get_vocab()
    assert "cold" not in encoder.tokenizer.get_vocab()


def test_the_pooler_stays_as_it_was(make_encoder, tmp_path):
    with_pooler = TransformerEncoder(str(make_encoder()), device="cpu")
    weights = with_pooler.model.pooler.dense.weight.detach().clone()
    prune_vocabulary(with_pooler, NAMES)
    loaded = reloaded(with_pooler, tmp_path)
    assert torch.equal(loaded.model.pooler.dense.weight, weights)
    without = TransformerEncoder(str(make_encoder(model="BertForMaskedLM")), device="cpu")
    prune_vocabulary(without, NAMES)
    assert without.model.pooler is None


# --- layers


def test_layers_that_stay(encoder, original):
    before = {key: value.clone() for key, value in original.model.state_dict().items()}
    keep_layers(encoder, [1])
    after = encoder.model.state_dict()
    assert encoder.model.config.num_hidden_layers == 1
    assert torch.equal(after["encoder.layer.0.output.dense.weight"], before["encoder.layer.1.output.dense.weight"])
    assert not any(key.startswith("encoder.layer.1.") for key in after)
    assert np.abs(encoder.encode(NAMES) - original.encode(NAMES)).max() > 0.01


def test_the_first_layer_alone_gives_its_hidden_states(encoder, original):
    keep_layers(encoder, [0])
    ids = torch.tensor(original.tokenize(["breast cancer"]))
    hidden = original.model(ids, output_hidden_states=True).hidden_states[1].detach().mean(1).numpy()
    np.testing.assert_allclose(encoder.encode(["breast cancer"]), hidden / np.linalg.norm(hidden), atol=1e-5)


@pytest.mark.parametrize(
    ("shrink", "value", "reason"),
    [
        *((keep_layers, layers, r"E533.*has 2 layers") for layers in ([], [2], [-1], [0, 0], [0, 1, 2])),
        (quantize, "int8", r"E125.*int8.*float16, bfloat16"),
    ],
)
def test_sizes_that_cannot_be(encoder, shrink, value, reason):
    with pytest.raises(SapbertError, match=reason):
        shrink(encoder, value)


@pytest.mark.parametrize(
    ("n", "of", "expected"),
    [(1, 6, [0]), (2, 6, [0, 5]), (3, 6, [0, 2, 5]), (4, 6, [0, 2, 3, 5]), (6, 6, [0, 1, 2, 3, 4, 5]), (1, 1, [0])],
)
def test_layers_are_spread(encoder, n, of, expected):
    encoder.model.config.num_hidden_layers = of
    assert spread_layers(encoder, n) == expected


@pytest.mark.parametrize("kind", ["DistilBert", "Electra", "MPNet"])
def test_other_architectures(tiny_encoder, tmp_path, kind):
    make(kind, tmp_path / "model")
    for path in (*tiny_encoder.glob("tokenizer*.json"), *tiny_encoder.glob("special_tokens_map.json")):
        shutil.copy(path, tmp_path / "model")
    encoder, original = (TransformerEncoder(str(tmp_path / "model"), device="cpu") for _ in range(2))
    prune_vocabulary(encoder, NAMES)
    np.testing.assert_allclose(encoder.encode(NAMES), original.encode(NAMES), atol=1e-5)
    keep_layers(encoder, [0, 2])
    loaded = reloaded(encoder, tmp_path)
    np.testing.assert_array_equal(loaded.encode(NAMES), encoder.encode(NAMES))
    assert loaded.model.config.num_hidden_layers == 2


# --- half precision


@pytest.mark.parametrize(("dtype", "close"), [("float16", 1e-2), ("bfloat16", 5e-2)])
def test_half_precision(encoder, original, tmp_path, dtype, close):
    quantize(encoder, dtype)
    loaded = reloaded(encoder, tmp_path)
    np.testing.assert_array_equal(loaded.encode(NAMES), encoder.encode(NAMES))
    assert loaded.fingerprint == encoder.fingerprint != original.fingerprint
    assert 0 < np.abs(loaded.encode(NAMES) - original.encode(NAMES)).max() < close
    assert loaded.model.dtype == torch.float32
    assert loaded.dtype == dtype


def test_half_the_size(encoder, original, tmp_path):
    original.save(tmp_path / "whole")
    quantize(encoder, "float16")
    encoder.save(tmp_path / "half")
    whole, half = ((tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "half"))
    assert half < 0.6 * whole
    # and it stays so
    TransformerEncoder(str(tmp_path / "half")).save(tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").stat().st_size == half
    # but whoever else loads it computes as we do
    assert json.loads((tmp_path / "again" / "config.json").read_text()).get("torch_dtype", "float32") == "float32"


def test_a_weight_beyond_the_range(encoder):
    with torch.no_grad():
        encoder.model.get_input_embeddings().weight[7, 7] = -1e5
    with pytest.raises(SapbertError, match=r"E533.*100000.*bfloat16"):
        quantize(encoder, "float16")
    quantize(encoder, "bfloat16")


# --- wordpieces


@pytest.fixture(scope="module")
def tokenizer(tiny_encoder):
    return transformers.AutoTokenizer.from_pretrained(tiny_encoder)


def test_another_vocabulary(tokenizer):
    pieces = ["[CLS]", "[SEP]", "[UNK]", "[MASK]", "colds", "c", "##o", "##l", "##d", "##s", "[PAD]"]
    other = with_vocabulary(tokenizer, pieces)
    assert other.get_vocab() == {piece: i for i, piece in enumerate(pieces)}
    assert other("COLDS cold breast")["input_ids"] == [0, 4, 5, 6, 7, 8, 2, 1]
    assert (other.pad_token_id, other.cls_token_id, other.sep_token_id) == (10, 0, 1)
    assert other.decode([0, 4, 1], skip_special_tokens=True) == "colds"


def test_a_tokenizer_with_words_of_its_user(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    wider = transformers.AutoTokenizer.from_pretrained(tmp_path)
    wider.add_tokens(["il-6"])
    assert "il-6" in indispensable(wider)
    other = with_vocabulary(wider, ["[PAD]", "il-6", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cold"])
    assert other("cold il-6")["input_ids"] == [3, 6, 1, 4]


def test_an_older_post_processor(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    path = tmp_path / "tokenizer.json"
    saved = json.loads(path.read_text())
    ids = tokenizer.get_vocab()
    saved["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", ids["[SEP]"]], "cls": ["[CLS]", ids["[CLS]"]]}
    path.write_text(json.dumps(saved))
    old = transformers.AutoTokenizer.from_pretrained(tmp_path)
    other = with_vocabulary(old, ["cold", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    assert other("cold")["input_ids"] == [3, 0, 4]


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    pieces_left=st.sets(st.sampled_from(["breast", "cancer", "cold", "neo", "##plasm"])),
    text=st.text("abcdz breastcancercold-neoplasm", max_size=30),
)
def test_names_of_the_same_pieces_are_cut_alike(tokenizer, pieces_left, text):
    """All else is still cut, since single characters stay."""
    by_id = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    other = with_vocabulary(tokenizer, [piece for piece in by_id if piece in pieces_left | indispensable(tokenizer)])
    before, after = tokenizer.tokenize(text), other.tokenize(text)
    if set(before) <= set(other.get_vocab()):
        assert after == before
    assert "".join(piece.removeprefix("##") for piece in after) == "".join(piece.removeprefix("##") for piece in before)


@pytest.mark.parametrize("kind", ["slow", "other"])
def test_a_tokenizer_without_wordpieces(kind, tokenizer, tmp_path):
    from tokenizers import Tokenizer, models

    if kind == "slow":
        if transformers.__version__ >= "5":
            pytest.skip("transformers 5 has no slow tokenizers")
        tokenizer.save_vocabulary(str(tmp_path))
        other = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
        expected = "BertTokenizer"
    else:
        other = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
        expected = "BPE"
    with pytest.raises(SapbertError, match=rf"E310.*is {expected}, not WordPiece"):
        check_wordpiece(other)
