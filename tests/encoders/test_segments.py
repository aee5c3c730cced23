import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.segments import DocumentEncoder, document_model, segments, sentences, split
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
    left = [[piece for piece in pieces if piece != dot] for pieces in inner]
    assert left == [["cold", "cancer", "cold", "cold", "cold"], ["cancer", "cold"]]


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


TEXTS = ["Cold.", "Breast cancer of the neoplasms. Cold cancer\ncold cold cold.", "", "A cold. " * 12]


@pytest.fixture(scope="module")
def docs():
    return [spacy.blank("en").make_doc(text) for text in TEXTS]


def test_segments_are_encoded_as_the_encoder_does(encoder, docs):
    documents = DocumentEncoder(encoder, 16)
    vectors = documents(docs)
    pieces = documents.pieces(docs)
    assert [one.shape for one in vectors] == [(len(of_doc), encoder.dim) for of_doc in pieces]
    assert [len(one) for one in vectors][:3] == [1, 2, 1]
    assert len(vectors[3]) > 2
    for of_doc, result in zip(pieces, vectors, strict=True):
        for ids, vector in zip(of_doc, result, strict=True):
            assert vector == pytest.approx(encoder.embed([ids])[0].detach().numpy(), abs=1e-5)
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert documents([]) == []


def test_no_more_than_the_encoder_can_read(encoder):
    assert DocumentEncoder(encoder, 512).length == 64
    assert DocumentEncoder(encoder, 32).length == 32


def test_documents_have_the_normal_form_of_names(tiny_encoder):
    encoder = TransformerEncoder(str(tiny_encoder), text_normalizer="american")
    texts = ["Leukaemia, and anaemia.", "leukemia, and anemia."]
    british, american = DocumentEncoder(encoder, 64)([spacy.blank("en").make_doc(text) for text in texts])
    assert british == pytest.approx(american, abs=1e-5)
    assert british == pytest.approx(encoder.encode(texts[:1]), abs=1e-5)


def test_split():
    rows = np.arange(8).reshape(4, 2)
    assert [part.tolist() for part in split(rows, [[1, 2], [3], [4]])] == [[[0, 1], [2, 3]], [[4, 5]], [[6, 7]]]
    assert split(rows[:0], []) == []


def test_the_model_gives_the_same_and_takes_gradients_back(encoder, docs):
    documents = DocumentEncoder(encoder.copy(), 16)
    model = document_model(documents, dropout=False)
    expected = documents(docs)
    for one, other in zip(model.predict(docs), expected, strict=True):
        assert one == pytest.approx(other, abs=1e-5)
    vectors, backprop = model.begin_update(docs)
    direction = [np.random.default_rng(i).normal(size=one.shape).astype(np.float32) for i, one in enumerate(vectors)]
    backprop(direction)
    weights = documents.encoder.model.encoder.layer[0].attention.self.query.weight
    gradient, values = float(weights.grad[2, 3]), []
    for step in (1e-2, -1e-2):
        weights.data[2, 3] += step
        values.append(sum(float((one * other).sum()) for one, other in zip(documents(docs), direction, strict=True)))
        weights.data[2, 3] -= step
    assert gradient == pytest.approx((values[0] - values[1]) / 2e-2, rel=0.05, abs=1e-3)
    assert encoder.model.encoder.layer[0].attention.self.query.weight.grad is None


def test_what_has_read_a_document_can_learn(tiny_encoder, docs):
    documents = DocumentEncoder(TransformerEncoder(str(tiny_encoder)), 16)
    documents(docs)  # which opens the weights
    vectors, backprop = document_model(documents).begin_update(docs)
    backprop(vectors)
    assert documents.encoder.model.embeddings.word_embeddings.weight.grad is not None
