import pytest
import spacy

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.retrieval.storage import open_retriever

NLP = spacy.blank("en")


@pytest.fixture
def make(small_kb, tiny_encoder):
    """A function that makes a retriever with the small vocabulary."""

    def make(*signals, index="Flat"):
        encoder = TransformerEncoder(str(tiny_encoder), l2_normalized=True, device="cpu")
        return open_retriever(small_kb, encoder, signals, index=index)

    return make


def ids(concepts):
    return [concept.concept_id for concept in concepts]


def test_the_document_encoder_is_separated_once(make):
    retriever = make("document")
    assert retriever.document_encoder.encoder is retriever.encoder
    before = retriever.rank([NLP.make_doc("cold")], 3)
    separate = retriever.separate_document_encoder()
    assert retriever.separate_document_encoder() is separate is retriever.document_encoder
    assert separate.encoder.model is not retriever.encoder.model
    assert ids(retriever.rank([NLP.make_doc("cold")], 3)[0]) == ids(before[0])


def test_documents_can_be_encoded_by_something_else(make):
    retriever = make("document")
    position = retriever.concepts.positions_of("D003550")[0]
    retriever.document_encoder = lambda docs: [retriever.concept_vectors.vectors[[position]] for _ in docs]
    (best, *_), *_ = retriever.rank([NLP.make_doc("cold")], 3)
    assert best.concept_id == "D003550"
    assert best.score == pytest.approx(1, abs=1e-4)


def test_a_large_vocabulary_needs_no_search_over_all_vectors(make, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.retrieval.retriever.FEW_NAMES", 3)
    exact = make("phrases")
    retriever = make("phrases", index="auto")
    assert exact.ngrams is None
    monkeypatch.setattr(type(retriever.name_vectors), "nearest", None)
    doc = NLP.make_doc("Breast cancer. A common cold")
    ((first, *_),) = retriever.rank([doc], 9)
    assert first.score == 1
    monkeypatch.undo()
    names = {concept.concept_id: concept for concept in exact.rank([doc], 9)[0] if concept.score == 1}
    assert names
    likely = {concept.concept_id: concept for concept in retriever.rank([doc], 9)[0] if concept.score == 1}
    assert likely == names
