import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

from spacy_sapbert.documents.docs import PROVENANCE, WEIGHT, to_doc
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError, TrainingDataError
from spacy_sapbert.retrieval.settings import ConceptVectorSettings
from spacy_sapbert.retrieval.storage import open_retriever
from spacy_sapbert.training.retriever_trainer import DocumentLoss, RetrieverTrainer, TrainingDocument, mixed_batches
from spacy_sapbert.training.settings import ConceptRetrieval
from spacy_sapbert.types import Document, Mention

NLP = spacy.blank("en")
PRIMARY = {"OMIM:114480": "D001943"}


@pytest.fixture(scope="module")
def make(small_kb, tiny_encoder):
    """A function that makes a trainer; `others` are settings of the training."""

    def make(signals=("document",), **others):
        encoder = TransformerEncoder(str(tiny_encoder), l2_normalized=True, device="cpu")
        retriever = open_retriever(small_kb, encoder, signals, vectors=ConceptVectorSettings())
        return RetrieverTrainer(retriever, ConceptRetrieval(**{"dropout": False, "held_out": 0.0, **others}))

    return make


@pytest.fixture(scope="module")
def examples(retrieval_documents):
    return examples_of(retrieval_documents)


def examples_of(documents):
    references = [to_doc(NLP, document) for document in documents]
    return [Example(NLP.make_doc(reference.text), reference) for reference in references]


def train(trainer, examples, steps=10, learn_rate=2e-3):
    """RETURNS (list[float]): the losses."""
    trainer.begin([example.reference for example in examples])
    optimizer = Adam(learn_rate, L2=0.0)
    return [step(trainer, examples, optimizer) for _ in range(steps)]


def step(trainer, examples, optimizer):
    documents, loss = trainer.training_documents(examples), 0.0
    if documents:
        loss, backprop = trainer.begin_update(documents)
        backprop()
    trainer.finish_update(optimizer)
    return loss


def hits(retriever, documents):
    """RETURNS (int): for how many documents the concept that is annotated is ranked first."""
    gold = [PRIMARY.get(one, one) for document in documents for mention in document.mentions for one in mention.ids]
    ranked = retriever.rank([NLP.make_doc(document.text) for document in documents], 1)
    return sum(of_doc[0].concept_id == right for of_doc, right in zip(ranked, gold, strict=True))


@pytest.fixture(scope="module")
def trained(make, examples):
    """A trainer whose encoder was trained, and whose signals are weighed."""
    trainer = make(["phrases", "document", "prior"], held_out=0.4)
    train(trainer, examples)
    trainer.refresh()
    return trainer


# --- the encoder


def test_training_finds_the_concepts(make, examples, retrieval_documents):
    trainer = make()
    retriever = trainer.retriever
    before = hits(retriever, retrieval_documents)
    frozen = retriever.concept_vectors.vectors.copy()
    fingerprint = retriever.encoder.fingerprint
    losses = train(trainer, examples, steps=15)
    assert losses[-1] < 0.3 * losses[0]
    assert before < 8
    assert hits(retriever, retrieval_documents) >= 14
    assert np.array_equal(retriever.concept_vectors.vectors, frozen)
    assert retriever.encoder.model is not retriever.document_encoder.encoder.model
    del retriever.encoder.fingerprint
    assert retriever.encoder.fingerprint == fingerprint


def test_training_is_repeatable(make, examples):
    assert train(make(), examples, steps=3) == train(make(), examples, steps=3)


def test_only_the_upper_layers_are_trained(make, examples):
    trainer = make(trained_layers=1)
    train(trainer, examples, steps=1)
    encoders = trainer.retriever.encoder, trainer.retriever.document_encoder.encoder
    before, after = (dict(one.model.named_parameters()) for one in encoders)
    changed = {name for name, weights in after.items() if not weights.equal(before[name])}
    assert changed
    assert all(name.startswith("encoder.layer.1.") for name in changed)


def test_without_an_encoder_to_train_the_signals_are_weighed_all_the_same(make, examples):
    trainer = make(["phrases", "prior"], held_out=0.9)
    assert train(trainer, examples, steps=1) == [0.0]
    assert trainer.model is None
    assert trainer.steps == 0
    trainer.refresh()
    assert trainer.retriever.weights is not None


def test_documents_count_as_much_as_they_say(monkeypatch):
    given_back = []
    read = [unit(np.random.default_rng(seed).normal(size=(n, 8))) for seed, n in ((0, 3), (1, 2))]
    model = SimpleNamespace(begin_update=lambda docs: (read, given_back.append), finish_update=lambda sgd: None)
    settings, vectors = ConceptRetrieval(random=0), Vectors()
    monkeypatch.setattr("spacy_sapbert.training.retriever_trainer.document_model", lambda *args, **options: model)
    retriever = SimpleNamespace(concept_vectors=vectors, separate_document_encoder=lambda: None)
    trainer = RetrieverTrainer(retriever, settings)
    documents = [TrainingDocument(None, (1, 2), 0.5), TrainingDocument(None, (3,), 1.0)]
    loss, backprop = trainer.begin_update(documents)
    backprop()
    of_one = DocumentLoss(vectors, settings)
    alone = [of_one(segments, document.positions) for segments, document in zip(read, documents, strict=True)]
    assert loss == pytest.approx((0.5 * alone[0][0] + alone[1][0]) / 2)
    (gradients,) = given_back
    assert gradients[0] == pytest.approx(alone[0][1] * 0.25)
    assert gradients[1] == pytest.approx(alone[1][1] * 0.5)
    assert trainer.steps == 0
    trainer.finish_update(None)
    assert trainer.steps == 1


# --- counts, mentions and weights


def test_what_is_annotated_is_counted_and_becomes_names(trained, concept_phrases):
    retriever = trained.retriever
    assert retriever.counts.concepts == dict.fromkeys(concept_phrases, 4)
    assert retriever.counts.marked["poppy juice"] == 4
    assert retriever.kb.find_name("Sticky lungs") == ("D003550",)
    assert len(retriever.kb.annotated_only()) == 4


def test_signals_are_weighed_on_documents_held_out(trained):
    retriever = trained.retriever
    weights = retriever.weights
    assert weights.signals == (("phrases", 16), ("document", 2), ("prior", 2))
    assert retriever.threshold == weights.threshold
    assert 0 < len(trained.held_out) < 16
    (best, *_), *_ = retriever.retrieve([NLP.make_doc("Poppy juice for men")])
    assert best.concept_id == "D009020"
    assert [signal for signal, _ in best.contributions] == ["phrases", "document", "prior"]
    logit = weights.bias + sum(value for _, value in best.contributions)
    assert best.score == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-5)  # a score is rounded
    assert best.evidence[0].text == "Poppy juice"


def test_the_encoder_is_not_trained_on_documents_held_out(make, examples):
    trainer = make(held_out=0.99)
    losses = train(trainer, examples, steps=1)
    assert len(trainer.held_out) == 16
    assert losses == [0.0]
    train(trainer, examples[:1], steps=0)
    assert trainer.held_out == {}  # they belong to the training data they came from


def test_signals_are_weighed_only_after_a_step(make, examples):
    trainer = make(["phrases", "prior"], held_out=0.5)
    trainer.refresh()
    assert trainer.retriever.weights is None
    train(trainer, examples, steps=1)
    assert trainer.retriever.weights is None
    trainer.refresh()
    weights = trainer.retriever.weights
    assert weights is not None
    trainer.refresh()
    assert trainer.retriever.weights is weights


def test_mentions_need_not_become_names(make, examples):
    trainer = make(["phrases"], add_training_mentions=False)
    train(trainer, examples, steps=1)
    assert trainer.retriever.kb.find_name("Sticky lungs") == ()


def test_labels_without_a_name_are_learned(make, examples):
    text = "Grippe and cold. Nobody knew the cause of grippe"
    mentions = [Mention(0, 6, "Grippe", "Disease", ("N1",)), Mention(42, 48, "grippe", "Disease", ("N1",))]
    given = [*examples, *examples_of([Document("new", text, tuple(mentions))])]
    for signals, known in ((["phrases", "prior"], True), (["phrases", "document"], False)):
        trainer = make(signals)
        trainer.retriever.labels = [*trainer.retriever.concepts.ids, "N1"]
        train(trainer, given, steps=1)
        assert bool(trainer.retriever.concepts.positions_of("N1")) == known  # no vector can be added
        assert ("N1" in trainer.retriever.counts.concepts) == known


def test_names_from_the_document_alone_do_not_count_for_it(make):
    text = "Acute liver failure (ALF), breast and ovarian pox"
    spans = [(21, 24, ("D003139",)), (27, 49, ("D009369", "D001943"))]
    mentions = tuple(Mention(start, end, text[start:end], "Disease", ids) for start, end, ids in spans)
    trainer = make(["phrases"])
    train(trainer, examples_of([Document("1", text, mentions)]), steps=0)
    retriever = trainer.retriever
    (signal,) = retriever.ranker.signals
    (own,) = trainer._counts.values()
    left_out = {retriever.kb.name(row).lower() for row in signal._own_names(own)}
    assert left_out == {"acute liver failure", "breast pox", "ovarian pox"}


def test_the_mention_model_is_fitted_for_phrases_alone(make, examples):
    for signals, fitted in ((["phrases"], True), (["document"], False)):
        trainer = make(signals)
        train(trainer, examples, steps=1)
        assert (trainer.retriever.mention_model is not None) == fitted


def test_all_documents_weigh_the_signals_if_no_encoder_is_trained(make, examples):
    trainer = make(["phrases", "prior"], held_out=0.0)
    train(trainer, examples, steps=1)
    assert len(trainer.held_out) == len(examples)


def test_augmented_documents_are_weighted_and_never_held_out(make, retrieval_documents):
    losses = {}
    for weight in (None, 0.0, 0.5):
        trainer = make(augmented_weight=weight, held_out=0.0, random=0)
        examples = examples_of(retrieval_documents)
        for example in examples[1:]:
            example.reference.user_data[PROVENANCE] = {"from": "rules"}
        for example in examples[1:]:
            example.reference.user_data[WEIGHT] = 0.25
        (losses[weight],) = train(trainer, examples, steps=1)
        counts = trainer.retriever.counts
        assert counts.concepts == {"D003550": 1}  # what rules have annotated is not counted, and gives no names
        assert trainer.retriever.kb.find_name("Poppy juice") == ()
    own, augmented = losses[0.0], losses[0.5] - losses[0.0]
    assert losses[None] == pytest.approx(own + augmented / 2, rel=1e-3)
    trainer = make(["phrases"], held_out=0.99)
    examples = examples_of(retrieval_documents)
    for example in examples[:8]:
        example.reference.user_data[PROVENANCE] = {"from": "rules"}
    train(trainer, examples, steps=1)
    held_out = {one.doc.text for one in trainer.held_out.values()}
    assert held_out <= {one.text for one in retrieval_documents[8:]}


@pytest.mark.parametrize("ids", [(), ("D999999",)])
def test_no_concept_that_can_be_named(make, ids):
    given = [Document("1", "cold fits", (Mention(0, 4, "cold", "X", ids),))]
    shown = rf"E346.*{len(ids)} ids annotated in 1 training.*such as {', '.join(ids) or 'none'}\..*such as D009369"
    with pytest.raises(TrainingDataError, match=shown):
        train(make(), examples_of(given), steps=0)


def test_mentions_are_counted_once_however_often_it_begins(make, examples):
    trainer = make(["phrases"])
    train(trainer, examples, steps=0)
    once = trainer.retriever.kb.name_concepts.annotations.sum()
    assert once > 0
    train(trainer, examples, steps=0)
    assert trainer.retriever.kb.name_concepts.annotations.sum() == once


def test_no_document_held_out_has_anything_right(make, examples):
    trainer = make(held_out=0.99)
    train(trainer, examples, steps=1)
    trainer.held_out = {key: one._replace(positions=()) for key, one in trainer.held_out.items()}
    with pytest.warns(UserWarning, match=r"W413.*0 are right"):
        trainer.refresh()
    assert trainer.retriever.weights is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer.refresh()  # it warned once


def test_the_encoder_says_how_it_was_trained_only_while_it_is_saved(trained):
    for _ in range(2):
        with trained.trained_retriever() as retriever:
            (note,) = retriever.document_encoder.encoder.trained["history"]
            assert (note["step"], note["steps"], note["settings"]["hard"]) == ("concept retrieval", 10, 20)
            assert "history" not in retriever.encoder.trained
        assert "history" not in retriever.document_encoder.encoder.trained


# --- the loss of a document


N, DIM = 30, 8


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


class Vectors:
    """Of 30 concepts, at random."""

    def __init__(self, n=N):
        self.vectors = unit(np.random.default_rng(1).normal(size=(n, DIM)))
        self.concepts = range(n)

    def nearest(self, queries, n):
        cosines = queries @ self.vectors.T
        positions = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
        return np.take_along_axis(cosines, positions, axis=1), positions


def segments(seed=0, n=3):
    return unit(np.random.default_rng(seed).normal(size=(n, DIM)))


def document_loss(n=N, **others):
    return DocumentLoss(Vectors(n), ConceptRetrieval(**others))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 1000),
    st.integers(1, 4),
    st.sets(st.integers(0, N - 1), min_size=1, max_size=4),
    st.sampled_from([0.05, 1.0]),
)
def test_loss_and_gradient_are_those_of_the_formula(seed, n_segments, right, temperature):
    """−log of the share of each right concept beside the wrong ones, averaged; a cosine is that of the best segment."""
    vectors, right = segments(seed, n_segments), sorted(right)
    loss, gradient = document_loss(temperature=temperature)(vectors, right)
    wrong = document_loss().wrong(vectors, right).tolist()
    given_ = torch.tensor(vectors, dtype=torch.float64, requires_grad=True)
    concepts = torch.tensor(Vectors().vectors, dtype=torch.float64)
    scores = (given_ @ concepts.T).max(dim=0).values / temperature
    of_each = [torch.logsumexp(scores[[one, *wrong]], 0) - scores[one] for one in right]
    expected = sum(of_each) / len(right)
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-4, abs=1e-6)
    assert gradient == pytest.approx(given_.grad.numpy(), rel=1e-3, abs=1e-4)
    assert gradient.dtype == np.float32


def test_wrong_ones_are_the_nearest_and_some_at_random():
    vectors, right = segments(), [4, 9]
    drawn = document_loss(hard=6, random=5).wrong(vectors, right).tolist()
    best = (vectors @ Vectors().vectors.T).max(axis=0)
    assert drawn[:6] == [position for position in np.argsort(-best) if position not in right][:6]
    assert len(drawn) == len(set(drawn)) == 11
    assert not set(drawn) & set(right)


def test_they_are_drawn_anew_and_by_the_seed():
    one, same, other = document_loss(seed=1), document_loss(seed=1), document_loss(seed=2)
    draws = [[which.wrong(segments(), [4]).tolist() for _ in range(3)] for which in (one, same, other)]
    assert draws[0] == draws[1] != draws[2]
    assert draws[0][0] != draws[0][1]
    assert draws[0][0][:20] == draws[0][1][:20]


@pytest.mark.parametrize(("hard", "random", "n"), [(0, 5, 5), (20, 0, 20), (28, 5, 28), (3, 100, 28), (100, 5, 28)])
def test_as_many_as_there_are(hard, random, n):
    drawn = document_loss(hard=hard, random=random).wrong(segments(), [4, 9]).tolist()
    assert len(drawn) == len(set(drawn)) == n
    assert not {4, 9} & set(drawn)


def test_places_that_an_index_did_not_find_are_left_out():
    loss = document_loss(hard=5, random=0)
    loss.vectors.nearest = lambda queries, n: (np.array([[0.9, 0.5, -np.inf]]), np.array([[3, 4, -1]]))
    assert loss.wrong(segments(n=1), [3]).tolist() == [4]


# --- documents annotated by people and by rules


def example(name):
    doc = Doc(NLP.vocab, words=[name])
    if name.startswith("rule"):
        doc.user_data[PROVENANCE] = {}
    return Example(doc.copy(), doc)


def document_batches(names, **sizes):
    result = mixed_batches(**sizes)([example(name) for name in names])
    return [[one.reference.text.strip() for one in batch] for batch in result]


MANUAL, RULES = ([f"{kind}{number}" for number in range(5)] for kind in ("manual", "rule"))


@pytest.mark.parametrize(
    ("names", "sizes", "batches"),
    [
        # every batch has its share of both
        (["rule1", "a", "b", "rule2", "c"], (2, 1), [["a", "b", "rule1"], ["c", "rule2"]]),
        # few documents by rule come again
        (["rule1", "a", "b", "c"], (1, 1), [["a", "rule1"], ["b", "rule1"], ["c", "rule1"]]),
        # more of them than fit do not make an epoch longer
        (["a", *RULES], (4, 2), [["a", "rule0", "rule1"]]),
        # documents of one kind alone
        *((names, (2, 3), [names[:2], names[2:4], names[4:]]) for names in (MANUAL, RULES)),
    ],
)
def test_batches_of_documents_by_people_and_by_rules(names, sizes, batches):
    assert document_batches(names, manual=sizes[0], augmented=sizes[1]) == batches


@pytest.mark.parametrize("sizes", [{"manual": 0}, {"augmented": 0}, {"augmented": -1}])
def test_sizes_have_to_be_above_0(sizes):
    with pytest.raises(SapbertError, match=rf"E406.*{next(iter(sizes))}"):
        mixed_batches(**sizes)
