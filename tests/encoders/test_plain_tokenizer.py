"""The tokenizer without transformers, compared with AutoTokenizer."""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.encoders.folder import resolve
from spacy_sapbert.encoders.plain_tokenizer import read_plain_tokenizer
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError

TEXTS = ["Breast  Cancer", "", "Café-au-lait\tspots", "[SEP] cold [MASK]", "新 cold", "a b c d e f g h " * 9, "x" * 200]


@pytest.fixture
def copied(tiny_encoder, tmp_path):
    """A folder of an encoder that a test may change."""
    return shutil.copytree(tiny_encoder, tmp_path / "encoder")


def pair(folder, **settings):
    """The same encoder twice: with the tokenizer of the folder, and with that of transformers."""
    plain, theirs = (TransformerEncoder(str(folder), device="cpu", **settings) for _ in range(2))
    assert theirs.tokenizer is not None
    return plain, theirs


@pytest.fixture(scope="module", params=["tiny", "starter"])
def encoders(request, tiny_encoder):
    found = pair(tiny_encoder if request.param == "tiny" else resolve("starter"))
    assert read_plain_tokenizer(found[0].name) is not None
    return found


@pytest.mark.parametrize("max_length", [2, 3, 8, 25])
def test_pieces_are_those_of_transformers(encoders, max_length):
    plain, theirs = pair(encoders[0].name, max_length=max_length)
    pieces = plain.tokenize(TEXTS)
    assert pieces == theirs.tokenize(TEXTS)
    assert max(map(len, pieces)) == max_length
    assert plain.tokenize_parts(TEXTS) == theirs.tokenize_parts(TEXTS)
    assert plain.tokenize_parts([]) == theirs.tokenize_parts([]) == []
    assert plain.add_special_pieces([7, 8]) == theirs.add_special_pieces([7, 8]) == [2, 7, 8, 3]


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_any_text(encoders, texts):
    plain, theirs = encoders
    assert plain.tokenize(texts) == theirs.tokenize(texts)
    assert plain.tokenize_parts(texts) == theirs.tokenize_parts(texts)


def change(folder, file, **values):
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def added(number, content):
    flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    return {"added_tokens_decoder": {str(number): {"content": content, "special": True, **flags}}}


@pytest.mark.parametrize(
    "values",
    [
        {"do_lower_case": False},
        {"strip_accents": False},
        {"tokenize_chinese_chars": False},
        {"truncation_side": "left"},
        {"additional_special_tokens": ["cold"]},
        added(5, "breast"),
        {"unk_token": "[NONE]"},
        {"tokenizer_class": "BertJapaneseTokenizer"},
        {"tokenizer_class": "PreTrainedTokenizerFast"},
    ],
)
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


def test_folders_with_other_files(copied):
    (copied / "added_tokens.json").write_text("{}")
    assert read_plain_tokenizer(str(copied)) is None
    (copied / "added_tokens.json").unlink()
    (copied / "tokenizer.json").unlink()
    assert read_plain_tokenizer(str(copied)) is None
    plain, theirs = pair(copied)
    assert plain.tokenize(TEXTS) == theirs.tokenize(TEXTS)
    assert read_plain_tokenizer("nobody/no-such-encoder") is None


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json"])
def test_a_damaged_file(copied, file):
    path = copied / file
    path.write_text(path.read_text()[:-20])
    with pytest.raises(SapbertError, match="E302"):
        TransformerEncoder(str(copied)).encode(["a"])


def test_a_replaced_tokenizer_is_used(tiny_encoder, copied):
    tokenizer = copied / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"breast"', '"broast"'))
    encoder, other = (TransformerEncoder(str(folder), device="cpu") for folder in (tiny_encoder, copied))
    before = encoder.tokenize(["breast"])
    encoder.replace(encoder.model, other.tokenizer)
    assert encoder.tokenize(["breast"]) == other.tokenize(["breast"]) != before
