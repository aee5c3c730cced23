import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.segments import segments, sentences
from spacy_sapbert.encoders.transformer import TransformerEncoder

NLP = spacy.blank("en")


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


@pytest.fixture(scope="module")
def tokenizer(tiny_encoder):
    """That of transformers."""
    return TransformerEncoder(str(tiny_encoder)).tokenizer


def found(text):
    return [text[start:end] for start, end in sentences(NLP.make_doc(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A cold. Then cancer? 5 men died! Of e. coli.", ["A cold.", "Then cancer?", "5 men died!", "Of e. coli."]),
        ("A title\n\nand a text\n", ["A title", "and a text"]),
        ("cold", ["cold"]),
        ("\n cold", [" cold"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text, expected):
    assert found(text) == expected


def test_sentences_that_a_component_has_found_go_before():
    doc = NLP.make_doc("A cold. Then cancer. Cold")
    for token in doc:
        token.is_sent_start = token.text == "Cold"
    assert [doc.text[start:end] for start, end in sentences(doc)] == ["A cold. Then cancer.", "Cold"]


def test_whole_sentences_are_packed(encoder, tokenizer):
    """ "cold", "cancer" and "." are a wordpiece each; two of eight are special."""
    doc = NLP.make_doc("Cold cancer. Cold cold cold. Cancer cold.")
    inner = [tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=True) for ids in segments(doc, encoder, 9)]
    dot = tokenizer.unk_token
    kept = [[piece for piece in pieces if piece != dot] for pieces in inner]
    assert kept == [["cold", "cancer", "cold", "cold", "cold"], ["cancer", "cold"]]


def test_only_a_sentence_that_is_too_long_is_cut(encoder):
    doc = NLP.make_doc("Cancer.\n" + "cold " * 10 + "\nCancer.")
    lengths = [len(ids) - 2 for ids in segments(doc, encoder, 6)]
    assert lengths == [2, 4, 4, 4]  # the last: two of the long sentence, and the sentence after it


def test_an_empty_document_has_one_segment(encoder, tokenizer):
    assert segments(NLP.make_doc(""), encoder, 8) == [tokenizer("")["input_ids"]]


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["cold", "breast", "x1", ".", "\n", "Cancer", "neoplasms"]), max_size=60), st.data())
def test_no_wordpiece_is_lost_and_none_is_too_many(encoder, tokenizer, words, data):
    doc = NLP.make_doc(" ".join(words))
    length = data.draw(st.integers(8, 30))
    cut = segments(doc, encoder, length)
    assert all(len(ids) <= length for ids in cut)
    assert all((ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id) for ids in cut)
    whole = [tokenizer(doc.text[start:end], add_special_tokens=False)["input_ids"] for start, end in sentences(doc)]
    assert [piece for ids in cut for piece in ids[1:-1]] == [piece for ids in whole for piece in ids]
