import pytest
import spacy

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.retrieval.ranker import SignalWeights
from spacy_sapbert.retrieval.settings import ConceptVectorSettings, RetrieverSettings
from spacy_sapbert.retrieval.storage import open_retriever
from spacy_sapbert.retrieval.training_counts import TrainingCounts
from spacy_sapbert.types import Document, Mention

NLP = spacy.blank("en")
PRIOR = SignalWeights((("prior", 2),), (1.0, 0.0), (0.0, 0.0), 0.0, 0.7)


@pytest.fixture
def make(small_kb, tiny_encoder):
    """A function that makes a retriever with the small vocabulary."""

    def make(*signals, kb=small_kb, index="Flat", **settings):
        encoder = TransformerEncoder(str(tiny_encoder), l2_normalized=True, device="cpu")
        retriever = open_retriever(kb, encoder, signals, index=index, vectors=ConceptVectorSettings())
        retriever.settings = RetrieverSettings(**settings)
        return retriever

    return make


@pytest.fixture
def counted(make):
    """A retriever for which four concepts were annotated, some of them more often; "Neoplasms" is above the others."""
    retriever = make("prior")
    counts = {"D009369": 6, "D001943": 5, "D003139": 3, "D001241": 1}
    retriever.set_counts(TrainingCounts(counts, {}, {}, 0.1))
    retriever.stored_weights = PRIOR
    return retriever


def ids(concepts):
    return [concept.concept_id for concept in concepts]


def retrieved(retriever, text="cold"):
    return ids(retriever.retrieve([NLP.make_doc(text)])[0])


def test_settings_can_be_changed_at_any_time(counted):
    assert counted.threshold == 0.7
    assert retrieved(counted) == ["D009369", "D001943", "D003139"]  # 1 of 2 times is a probability of 0.67
    counted.settings.k = 2
    assert retrieved(counted) == ["D009369", "D001943"]
    counted.settings.most_specific = True
    assert retrieved(counted) == ["D001943"]
    counted.settings.k, counted.settings.threshold = 10, 0.5
    assert retrieved(counted) == ["D001943", "D003139", "D001241"]
    assert counted.threshold == 0.5


def test_rank_is_without_a_threshold(counted):
    (ranked,) = counted.rank([NLP.make_doc("")], 9)
    assert ids(ranked) == ["D009369", "D001943", "D003139", "D001241"]
    assert ranked[0].name == "Neoplasms"
    assert ids(counted.rank([NLP.make_doc("")], 9, ["D001241", "OMIM:114480", "none"])[0]) == ["D001943", "D001241"]


def test_weights_of_other_signals_do_not_count(make):
    retriever = make("phrases")
    retriever.stored_weights = PRIOR
    assert retriever.weights is None
    assert retriever.retrieve([NLP.make_doc("cold")])[0][0].contributions == ()


def test_new_counts_change_the_ranking_among_some_as_well(counted):
    filter = ["D001943", "D003139"]
    assert ids(counted.rank([NLP.make_doc("")], 9, filter)[0]) == ["D001943", "D003139"]
    counted.set_counts(TrainingCounts({"D003139": 9, "D001943": 1}, {}, {}, 0.1))
    assert ids(counted.rank([NLP.make_doc("")], 9)[0]) == ["D003139", "D001943"]
    assert ids(counted.rank([NLP.make_doc("")], 9, filter)[0]) == ["D003139", "D001943"]


def test_mentions_of_training_documents_become_names(make):
    retriever = make("phrases")
    assert "D009020" not in retrieved(retriever, "poppy juice")
    mention = Mention(0, 11, "Poppy juice", "X", ("D009020",))
    retriever.add_training_mentions([Document("1", "Poppy juice", (mention,))])
    (best, *_), *_ = retriever.retrieve([NLP.make_doc("poppy juice")])
    assert best.concept_id == "D009020"
    assert best.evidence[0].text == "poppy juice"
    retriever.add_training_mentions([])
    assert retriever.kb.find_name("Poppy juice") == ()  # others take their position


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
    monkeypatch.setattr("spacy_sapbert.retrieval.storage.FEW_NAMES", 3)
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
