import json
import os
import pickle
import struct
import sys
import tracemalloc

import huggingface_hub
import numpy as np
import pytest
import requests
import torch
import transformers

from spacy_sapbert.encoders import folder
from spacy_sapbert.encoders import transformer as transformer_encoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.text.normalize import spell_out_greek

TEXTS = [
    "Breast  Cancer",
    "cold",
    "",
    "a very long name of some kind of neoplasms that goes on and on",
    "cold",
    "Cold!",
    "ζ unknown",
    "b",
]


def expected_vectors(folder, texts, pooling, max_length=25):
    """One text at a time through the plain model."""
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    model = transformers.BertModel.from_pretrained(folder).eval()
    vectors = []
    for text in texts:
        pieces = tokenizer.tokenize(" ".join(spell_out_greek(text).lower().split()))[: max_length - 2]
        ids = tokenizer.convert_tokens_to_ids(["[CLS]", *pieces, "[SEP]"])
        with torch.no_grad():
            hidden = model(torch.tensor([ids])).last_hidden_state[0].numpy()
        vector = hidden[0] if pooling == "cls" else hidden.mean(axis=0)
        vectors.append(vector / np.linalg.norm(vector))
    return np.array(vectors)


# --- vectors


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("max_length", [8, 25])
def test_vectors_are_those_of_a_plain_forward_pass(tiny_encoder, pooling, max_length):
    encoder = TransformerEncoder(str(tiny_encoder), pooling=pooling, max_length=max_length, device="cpu")
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), encoder.dim) == (len(TEXTS), 32)
    np.testing.assert_allclose(vectors, expected_vectors(tiny_encoder, TEXTS, pooling, max_length), atol=1e-5)


def test_neither_order_nor_batches_count(tiny_encoder, monkeypatch):
    encoder = TransformerEncoder(str(tiny_encoder))
    together = encoder.encode(TEXTS)
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1])[::-1], together, atol=1e-5)
    monkeypatch.setattr(transformer_encoder, "_CPU_TOKENS", 12)
    np.testing.assert_allclose(encoder.encode(TEXTS), together, atol=1e-5)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_a_text_is_encoded_once(tiny_encoder, monkeypatch):
    encoder = TransformerEncoder(str(tiny_encoder))
    rows = []
    forward = encoder._forward
    monkeypatch.setattr(encoder, "_forward", lambda batch, fast: rows.extend(batch) or forward(batch, fast))
    vectors = encoder.encode(["Cold", "cold", " cold ", "b"])
    assert len(rows) == 2
    assert (vectors[0] == vectors[1]).all()
    assert (vectors[0] == vectors[2]).all()
    assert not np.allclose(vectors[0], vectors[3])


def test_one_very_long_name_does_not_blow_up_its_batch(tiny_encoder):
    encoder = TransformerEncoder(str(tiny_encoder))
    texts = ["x " * 50_000, *map(str, range(300))]
    encoder.encode(texts[1:])
    tracemalloc.start()
    vectors = encoder.encode(texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6
    np.testing.assert_allclose(vectors[0], encoder.encode(["x " * 30])[0], atol=1e-5)


def test_normaliser(tiny_encoder):
    encoder = TransformerEncoder(str(tiny_encoder), text_normalizer="biosyn")
    one, other = encoder.encode(["Cold, common!", "cold common"])
    assert (one == other).all()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_raw_vectors_have_the_direction_of_unit_ones(tiny_encoder, pooling):
    raw = TransformerEncoder(str(tiny_encoder), pooling=pooling, l2_normalized=False).encode(TEXTS)
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    assert lengths.min() > 1.5
    unit = TransformerEncoder(str(tiny_encoder), pooling=pooling).encode(TEXTS)
    np.testing.assert_allclose(raw / lengths, unit, atol=1e-5)


def test_the_present_weights_are_used(encoder, tiny_encoder):
    before = encoder.encode(TEXTS)
    with torch.no_grad():
        encoder.model.encoder.layer[1].output.dense.bias[:8].add_(1)
    assert np.abs(encoder.encode(TEXTS) - before).max() > 0.01
    encoder.replace(encoder.model)
    assert encoder.fingerprint != TransformerEncoder(str(tiny_encoder), device="cpu").fingerprint


def test_full_batches_are_encoded_in_half_precision(encoder, monkeypatch):
    monkeypatch.setattr(transformer_encoder, "has_bfloat16", lambda device: True)
    monkeypatch.setattr(transformer_encoder, "_CPU_TOKENS", 12)
    full = encoder.encode(["cold", "breast", "cold b", "b"])
    half = encoder.encode(["cold", "breast", "cold b", "b"], fast=True)
    assert 0 < np.abs(half - full).max() < 0.02
    np.testing.assert_array_equal(encoder.encode(["b"], fast=True), encoder.encode(["b"]))  # one text alone


# --- what a folder says


def test_defaults_are_those_of_sapbert(make_encoder):
    encoder = TransformerEncoder(str(make_encoder()))
    assert encoder.settings == {
        "pooling": "cls", "max_length": 25, "text_normalizer": "lower+greek", "l2_normalized": True,
    }  # fmt: skip


def test_settings_of_the_folder_and_those_that_are_given(make_encoder):
    said = {"pooling": "mean", "max_length": 12, "text_normalizer": "biosyn", "l2_normalized": False}
    folder = str(make_encoder(**said))
    assert TransformerEncoder(folder).settings == said
    given = {"pooling": "cls", "max_length": 9, "text_normalizer": "none", "l2_normalized": True}
    assert TransformerEncoder(folder, **given).settings == given


def pooling_modes(*modes):
    """The pooling as sentence-transformers wrote it before version 6."""
    known = ("cls_token", "mean_tokens", "max_tokens")
    return {"word_embedding_dimension": 32, **{f"pooling_mode_{mode}": mode in modes for mode in known}}


@pytest.mark.parametrize(
    ("content", "pooling"),
    [
        (pooling_modes("cls_token"), "cls"),
        (pooling_modes("mean_tokens"), "mean"),
        *(({"embedding_dimension": 32, "pooling_mode": mode}, pooling) for mode, pooling in
          (("cls", "cls"), ("mean", "mean"), (["mean"], "mean"))),
    ],
)  # fmt: skip
def test_pooling_of_sentence_transformers(make_encoder, content, pooling):
    folder = make_encoder()
    write_json(folder, "1_Pooling/config.json", content)
    encoder = TransformerEncoder(str(folder))
    assert encoder.pooling == pooling
    np.testing.assert_allclose(encoder.encode(TEXTS), expected_vectors(folder, TEXTS, pooling), atol=1e-5)


@pytest.mark.parametrize("modes", [("max_tokens",), ("cls_token", "mean_tokens"), ()])
def test_a_pooling_that_we_have_not_is_no_other_one(make_encoder, modes):
    folder = make_encoder()
    write_json(folder, "1_Pooling/config.json", pooling_modes(*modes))
    with pytest.raises(SapbertError, match=r"E125.*pooling.*cls, mean"):
        TransformerEncoder(str(folder))
    assert TransformerEncoder(str(folder), pooling="mean").pooling == "mean"


def write_json(folder, name, content):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content))


def test_a_layer_after_the_pooling_is_not_left_out_silently(make_encoder):
    folder = make_encoder()
    write_json(folder, "1_Pooling/config.json", pooling_modes("mean_tokens"))
    package = "sentence_transformers.sentence_transformer.modules"
    kinds = ["transformer.Transformer", "pooling.Pooling", "normalize.Normalize"]
    write_json(folder, "modules.json", [{"type": f"{package}.{kind}"} for kind in kinds])
    assert TransformerEncoder(str(folder)).pooling == "mean"
    write_json(folder, "modules.json", [{"type": f"{package}.{kind}"} for kind in [*kinds, "dense.Dense"]])
    with pytest.raises(SapbertError, match=r"E125.*'mean, Dense'"):
        TransformerEncoder(str(folder))


def test_our_settings_go_before_those_of_sentence_transformers(copied):
    write_json(copied, "1_Pooling/config.json", pooling_modes("cls_token"))
    assert TransformerEncoder(str(copied)).pooling == "mean"


def test_wrong_settings(tiny_encoder):
    for wrong in ({"pooling": "max"}, {"text_normalizer": "upper"}):
        with pytest.raises(SapbertError, match="E125"):
            TransformerEncoder(str(tiny_encoder), **wrong)


def test_nothing_is_read_before_the_first_use(tmp_path):
    assert TransformerEncoder(str(tmp_path / "not there"), device="cuda:7").pooling == "cls"


# --- saved and loaded


def test_saved_and_loaded(tiny_encoder, tmp_path):
    encoder = TransformerEncoder(str(tiny_encoder), max_length=7)
    encoder.save(tmp_path / "saved")
    loaded = TransformerEncoder(str(tmp_path / "saved"))
    assert loaded.settings == encoder.settings
    assert (loaded.pooling, loaded.max_length, loaded.text_normalizer, loaded.l2_normalized) == (
        "mean", 7, "lower+greek", True,
    )  # fmt: skip
    assert loaded.fingerprint == encoder.fingerprint
    assert (loaded.encode(TEXTS) == encoder.encode(TEXTS)).all()
    assert not [path for path in (tmp_path / "saved").rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_of_others_is_computed_in_full(tiny_encoder, copied, tmp_path, dtype):
    model = transformers.AutoModel.from_pretrained(tiny_encoder).to(getattr(torch, dtype))
    model.save_pretrained(copied)
    config = json.loads((copied / "config.json").read_text())
    assert (config.get("dtype") or config["torch_dtype"]) == dtype  # since transformers 5, and before
    encoder = TransformerEncoder(str(copied), device="cpu")
    assert encoder.dtype == dtype
    assert {weights.dtype for weights in encoder.model.parameters()} == {torch.float32}
    whole = TransformerEncoder(str(tiny_encoder), device="cpu")
    whole.replace(model.float())
    assert (encoder.encode(TEXTS) == whole.encode(TEXTS)).all()
    encoder.save(tmp_path / "saved")
    assert TransformerEncoder(str(tmp_path / "saved")).dtype == dtype


def test_what_is_known_of_the_training_stays(tiny_encoder, tmp_path):
    encoder = TransformerEncoder(str(tiny_encoder))
    assert encoder.trained == {}
    encoder.trained["names"] = "MeSH 2020"
    encoder.record("pretrain", steps=100)
    encoder.save(tmp_path / "first")
    again = TransformerEncoder(str(tmp_path / "first"))
    again.record("prune", layers=[0])
    again.save(tmp_path / "second")
    assert TransformerEncoder(str(tmp_path / "second")).trained == {
        "names": "MeSH 2020",
        "base": tiny_encoder.name,
        "history": [{"step": "pretrain", "steps": 100}, {"step": "prune", "layers": [0]}],
    }


def test_another_model_replaces_it(tiny_encoder, make_encoder):
    encoder, other = (
        TransformerEncoder(str(tiny_encoder)),
        TransformerEncoder(str(make_encoder(seed=1, pooling="mean"))),
    )
    before = encoder.fingerprint
    encoder.replace(other.model)
    assert (encoder.encode(TEXTS) == other.encode(TEXTS)).all()
    assert encoder.fingerprint == other.fingerprint != before


def test_what_changes_the_fingerprint(make_encoder, copied):
    encoders = [
        TransformerEncoder(str(copied)),
        TransformerEncoder(str(copied), pooling="cls"),
        TransformerEncoder(str(copied), max_length=9),
        TransformerEncoder(str(copied), text_normalizer="biosyn"),
        TransformerEncoder(str(copied), l2_normalized=False),
        TransformerEncoder(str(make_encoder(seed=1, pooling="mean"))),
    ]
    assert len({encoder.fingerprint for encoder in encoders}) == 6
    assert TransformerEncoder(str(copied)).fingerprint == encoders[0].fingerprint


def test_other_wordpieces_change_the_fingerprint(copied):
    before = TransformerEncoder(str(copied)).fingerprint
    tokenizer = copied / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"breast"', '"broast"'))
    assert TransformerEncoder(str(copied)).fingerprint != before


def test_weights_that_are_missing_but_not_used(make_encoder):
    """The folder of a masked language model has no pooler; transformers makes a random one each time."""
    folder = str(make_encoder(model="BertForMaskedLM"))
    one, other = TransformerEncoder(folder), TransformerEncoder(folder)
    assert (one.encode(TEXTS) == other.encode(TEXTS)).all()
    assert one.fingerprint == other.fingerprint


# --- what cannot be loaded


@pytest.mark.parametrize("name", ["spacy_sapbert.json", "1_Pooling/config.json"])
def test_broken_settings(make_encoder, name):
    folder = make_encoder()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text('{"pooling": ')
    with pytest.raises(SapbertError, match="E302"):
        TransformerEncoder(str(folder))


def test_settings_of_a_newer_version(make_encoder):
    folder = make_encoder()
    (folder / "spacy_sapbert.json").write_text('{"format": 2, "pooling": {"of": "a later version"}}')
    with pytest.raises(SapbertError, match=r"E600.*has format 2, .* up to 1\."):
        TransformerEncoder(str(folder))
    (folder / "spacy_sapbert.json").write_text('{"format": 1, "pooling": "mean"}')
    assert TransformerEncoder(str(folder)).pooling == "mean"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("model.bin", r"model\.bin.*it is a file"),
        *(
            (name, f"'{name}'.*'none' for the sparse score")
            for name in ("nobody/no-such-encoder", "no/such/folder", "nowhere")
        ),
    ],
)
def test_names_of_no_encoder(tmp_path, monkeypatch, name, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.bin").touch()
    with pytest.raises(SapbertError, match=rf"(?s)E301.*{reason}"):
        TransformerEncoder(name).encode(["a"])


# --- Greek letters


def test_greek_letters_are_their_names(tiny_encoder):
    folding, keeping = (TransformerEncoder(str(tiny_encoder), text_normalizer=form) for form in (None, "lower"))
    letters, names = ["α-thalassemia", "TNFβ"], ["alpha-thalassemia", "TNFbeta"]
    np.testing.assert_array_equal(folding.encode(letters), folding.encode(names))
    assert not np.allclose(keeping.encode(letters), keeping.encode(names))
    assert folding.fingerprint != keeping.fingerprint
    assert TransformerEncoder("starter-transformer").text_normalizer == "american+greek"


@pytest.mark.parametrize(("missing", "name"), [("torch", None), ("transformers.utils", "some/name")])
def test_without_its_extra_an_encoder_is_an_error_with_a_remedy(tiny_encoder, monkeypatch, missing, name):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SapbertError, match=rf"E542.*{missing}.*spacy-sapbert\[encoders\]"):
        TransformerEncoder(name or str(tiny_encoder))


@pytest.mark.parametrize("device", ["nothing", "cuda:99", "cpu:x"])
def test_a_device_that_is_not_there(tiny_encoder, device):
    with pytest.raises(SapbertError, match=rf"E406.*device.*{device}"):
        TransformerEncoder(str(tiny_encoder), device=device).encode(["cold"])


# --- folders that are made to run code, or to exhaust memory


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


def change(path, **values):
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | values))


def check_reported(folder, reason=""):
    with pytest.raises(SapbertError, match=rf"(?s)\[E302\].*{reason}"):
        TransformerEncoder(str(folder), device="cpu").encode(["fever"])


@pytest.mark.parametrize("write", [pickle.dump, torch.save], ids=["pickle", "torch"])
def test_no_pickle_is_run(copied, trace, write):
    (copied / "model.safetensors").unlink()
    with (copied / "pytorch_model.bin").open("wb") as file:
        write({"embeddings": RunsCode(trace)}, file)
    check_reported(copied)
    assert not trace.exists()


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_no_module_of_the_folder_is_imported(copied, trace, file):
    (copied / "own.py").write_text(f"import os\nos.mkdir({str(trace)!r})\nclass Own: ...\n")
    change(copied / "config.json", model_type="own")
    change(copied / file, auto_map={"AutoConfig": "own.Own", "AutoModel": "own.Own", "AutoTokenizer": ["own.Own"] * 2})
    check_reported(copied)
    assert not trace.exists()


def without_weights(folder):
    (folder / "model.safetensors").unlink()


def weights_by(change):
    """RETURNS (Callable): changes the bytes of the weights of a folder."""
    return lambda folder: (path := folder / "model.safetensors").write_bytes(change(path.read_bytes()))


def config(text):
    return lambda folder: (folder / "config.json").write_text(text)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (without_weights, r"model\.safetensors"),
        *((config(text), r"needs config\.json") for text in ("", "{", "{}", '{"model_type": "none such"}', "[]")),
        *((weights_by(lambda content, left=left: content[:left]), "") for left in (0, 100, 50_000)),
        # a header of another length
        *((weights_by(lambda content, n=n: struct.pack("<Q", n) + content[8:]), "") for n in (0, 1 << 27, 1 << 62)),
    ],
)
def test_a_damaged_folder_is_reported(copied, damage, reason):
    damage(copied)
    check_reported(copied, reason)


@pytest.mark.parametrize(
    "values",
    [
        {"num_hidden_layers": LAYERS}, {"num_hidden_layers": -1}, {"num_attention_heads": 0},
        {"num_attention_heads": -1}, {"hidden_size": 1 << 16}, {"hidden_size": -8}, {"vocab_size": 1 << 40},
        {"max_position_embeddings": 1 << 62}, {"hidden_act": "__import__('os')"},
    ],
    ids=str,
)  # fmt: skip
def test_a_config_of_another_size_takes_no_memory(copied, values):
    change(copied / "config.json", **values)
    check_reported(copied)


def test_weights_that_are_a_link_to_another_file(copied, tmp_path):
    (tmp_path / "secret.txt").write_text("secret " * 100)
    (copied / "model.safetensors").unlink()
    (copied / "model.safetensors").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(SapbertError, match="E302") as reported:
        TransformerEncoder(str(copied), device="cpu").encode(["fever"])
    assert "secret secret" not in str(reported.value)


@pytest.mark.parametrize(
    ("failure", "answers"),
    [
        (requests.ConnectionError, False),
        (requests.Timeout, False),
        (requests.exceptions.InvalidURL, False),
        (requests.exceptions.SSLError, True),  # the client of the hub may have other certificates
        (None, True),
    ],
)
def test_a_hub_that_does_not_answer_is_asked_once(monkeypatch, failure, answers):
    asked = []

    def head(address, timeout):
        asked.append(address)
        if failure:
            raise failure

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(requests, "head", head)
    folder._hub_answers.cache_clear()
    try:
        assert folder._is_local("nobody/no-such-encoder") is not answers
        if not answers:
            with pytest.raises(SapbertError, match="E301"):
                TransformerEncoder("nobody/no-such-encoder").encode(["a"])
        assert asked == [huggingface_hub.constants.ENDPOINT]
    finally:
        folder._hub_answers.cache_clear()
