import numpy as np
import pytest
import spacy

from spacy_sapbert.encoders import segments as document_encoder
from spacy_sapbert.encoders.segments import DocumentEncoder, split
from spacy_sapbert.encoders.thinc_layer import document_model
from spacy_sapbert.encoders.transformer import TransformerEncoder

TEXTS = ["Cold.", "Breast cancer of the neoplasms. Cold cancer\ncold cold cold.", "", "A cold. " * 12]


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder))


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
    for of_doc, found in zip(pieces, vectors, strict=True):
        for ids, vector in zip(of_doc, found, strict=True):
            assert vector == pytest.approx(encoder.embed([ids])[0].detach().numpy(), abs=1e-5)
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert documents([]) == []


def test_no_more_than_the_encoder_can_read(encoder):
    assert DocumentEncoder(encoder, 512).length == 64
    assert DocumentEncoder(encoder, 32).length == 32


def test_documents_are_read_in_parts(encoder, docs, monkeypatch):
    whole = DocumentEncoder(encoder, 16)(docs)
    monkeypatch.setattr(document_encoder, "DOCS_PER_BATCH", 3)
    for one, other in zip(whole, DocumentEncoder(encoder, 16)(docs), strict=True):
        assert one == pytest.approx(other, abs=1e-5)


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
