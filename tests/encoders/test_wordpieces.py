from __future__ import annotations

import json

import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.wordpieces import Words, cut_words, indispensable, with_vocabulary
from spacy_sapbert.errors import SapbertError

NAMES = ["breast cancer", "breast neoplasms", "cold"]


@pytest.fixture(scope="module")
def tokenizer(tiny_encoder):
    return transformers.AutoTokenizer.from_pretrained(tiny_encoder)


def test_words_of_names(tokenizer):
    words = Words(tokenizer, ["breast-cancer", "Breast cáncer"])
    # the tokenizer's own normal form: lower-case without accents, punctuation apart
    assert words.counts == {"breast": 2, "-": 1, "cancer": 2}
    assert words.n_names == 2


def test_pieces_per_name(tokenizer):
    # breast cancer 2, breast neo ##plasm ##s 4, cold 1
    assert Words(tokenizer, NAMES).pieces_per_name(tokenizer) == pytest.approx(7 / 3)
    assert Words(tokenizer, []).pieces_per_name(tokenizer) == 0


def test_piece_counts(tokenizer):
    counts = Words(tokenizer, [*NAMES, "ζζ"]).piece_counts(tokenizer)
    assert counts == {"breast": 2, "cancer": 1, "neo": 1, "##plasm": 1, "##s": 1, "cold": 1, "[UNK]": 1}


def test_words_that_save_most_come_first(tokenizer):
    # pieces saved: neoplasms 2, colds 2 * 1, zoster 5; breast saves none, and ζ cannot be cut
    names = ["neoplasms", "colds", "colds", "zoster", "breast", "ζ"]
    words = Words(tokenizer, names)
    assert words.worth_adding(10) == ["zoster", "colds", "neoplasms"]
    assert words.worth_adding(1) == ["zoster"]


def test_pieces_of_words(tokenizer):
    ids = tokenizer.get_vocab()
    assert cut_words(tokenizer, ["neoplasms"]) == {"neoplasms": [ids["neo"], ids["##plasm"], ids["##s"]]}


def test_what_is_indispensable(tokenizer):
    always = indispensable(tokenizer)
    assert {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##a", "##s", "9"} <= always
    assert not {"breast", "neo", "##plasm"} & always


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
    saved["post_processor"] = {
        "type": "BertProcessing",
        "sep": ["[SEP]", ids["[SEP]"]],
        "cls": ["[CLS]", ids["[CLS]"]],
    }
    path.write_text(json.dumps(saved))
    old = transformers.AutoTokenizer.from_pretrained(tmp_path)
    other = with_vocabulary(old, ["cold", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    assert other("cold")["input_ids"] == [3, 0, 4]


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    kept=st.sets(st.sampled_from(["breast", "cancer", "cold", "neo", "##plasm"])),
    text=st.text("abcdz breastcancercold-neoplasm", max_size=30),
)
def test_names_of_kept_pieces_are_cut_alike(tokenizer, kept, text):
    """All else is still cut, since single characters stay."""
    by_id = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    other = with_vocabulary(tokenizer, [piece for piece in by_id if piece in kept | indispensable(tokenizer)])
    before, after = tokenizer.tokenize(text), other.tokenize(text)
    if set(before) <= set(other.get_vocab()):
        assert after == before
    assert "".join(piece.removeprefix("##") for piece in after) == "".join(piece.removeprefix("##") for piece in before)


@pytest.mark.parametrize("kind", ["slow", "other"])
def test_a_tokenizer_without_wordpieces(kind, tokenizer, tmp_path):
    from tokenizers import Tokenizer, models

    if kind == "slow":
        tokenizer.save_vocabulary(str(tmp_path))
        other = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
        expected = "BertTokenizer"
    else:
        other = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
        expected = "BPE"
    with pytest.raises(SapbertError, match=rf"E310.*is {expected}, not WordPiece"):
        Words(other, NAMES)
