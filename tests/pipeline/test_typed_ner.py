import pickle

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import fix_random_seed as fix_thinc_seed

from spacy_sapbert.documents.docs import set_annotated
from spacy_sapbert.errors import SapbertError, SettingError, TrainingDataError
from spacy_sapbert.training import tagging
from spacy_sapbert.training.tagging.network import transitions_of

MODEL = {"tok2vec": {"width": 32, "depth": 1, "embed_size": 300}}
CONFIG = {"model": MODEL}
# what is said of mice in the corpus of diseases is not annotated there
DISEASES = ("We saw asthma in mice", "Severe asthma kills mice", "No asthma here")
SPECIES = ("We saw asthma in mice", "Severe asthma kills rats", "No rats here")


def example(nlp, text, mentions, **annotated):
    doc = nlp.make_doc(text)
    starts = {word: text.find(word) for word in mentions if word in text}
    doc.ents = [doc.char_span(start, start + len(word), label=mentions[word]) for word, start in starts.items()]
    if annotated:
        set_annotated(doc, **annotated)
    return Example(nlp.make_doc(text), doc)


def partly_annotated(nlp):
    diseases = [example(nlp, text, {"asthma": "Disease"}, labels=["Disease"]) for text in DISEASES]
    species = [example(nlp, text, {"mice": "Species", "rats": "Species"}, labels=["Species"]) for text in SPECIES]
    return diseases + species


def train(nlp, examples, steps=60):
    fix_random_seed(0)
    fix_thinc_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = 0.01
    for _ in range(steps):
        losses = nlp.update(examples, sgd=optimizer)
    return losses["typed_ner"]


def make_nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("typed_ner", config=CONFIG)
    return nlp


@pytest.fixture(scope="module")
def trained():
    nlp = make_nlp()
    train(nlp, partly_annotated(nlp))
    return nlp


def entities(nlp, text):
    return [(entity.text, entity.label_) for entity in nlp(text).ents]


def test_each_type_is_learned_from_the_documents_that_annotate_it(trained):
    assert entities(trained, "We saw asthma in mice") == [("asthma", "Disease"), ("mice", "Species")]
    assert entities(trained, "No rats here") == [("rats", "Species")]


def test_without_a_statement_a_document_annotates_all_types():
    nlp = make_nlp()
    examples = partly_annotated(nlp)
    for one in examples:
        del one.reference.user_data["annotated_types"]
    train(nlp, examples)
    # half of the documents say that it is a mention, and half that it is not
    assert entities(nlp, "We saw asthma in mice") != [("asthma", "Disease"), ("mice", "Species")]


def test_unsure_words_teach_nothing():
    nlp = make_nlp()
    sure = [example(nlp, "We saw rats", {"rats": "Species"}), example(nlp, "We saw mice", {"mice": "Species"})]
    open_ = [example(nlp, "We saw mice", {}, labels=None, unsure={"Species": ["mice"]}) for _ in range(4)]
    train(nlp, sure + open_)
    assert entities(nlp, "We saw mice") == [("mice", "Species")]


def test_few_long_documents_are_in_memory(trained, monkeypatch):
    monkeypatch.setattr(tagging, "MAX_TOKENS", 9)
    read, read_before = [], []
    texts = ("We saw asthma in mice", "", "No rats", "We saw mice", "We saw rats " * 5, "No mice", "No mice")
    docs = trained.get_pipe("typed_ner").pipe(read.append(text) or trained.make_doc(text) for text in texts)
    for doc, text in zip(docs, texts, strict=True):
        read_before.append(len(read))
        assert doc.text == text
        assert len(doc.ents) == sum(text.count(word) for word in ("rats", "mice", "asthma"))
    assert read_before == [4, 4, 4, 5, 6, 7, 7]


def test_a_document_without_annotation_teaches_nothing():
    nlp = make_nlp()
    examples = [example(nlp, "We saw rats", {"rats": "Species"})]
    train(nlp, examples)
    plain = Example(nlp.make_doc("We saw rats"), nlp.make_doc("We saw rats"))
    ner = nlp.get_pipe("typed_ner")
    loss, (gradient,) = ner.get_loss([plain], ner.model.predict([plain.predicted]))
    assert loss == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)


def test_the_loss_is_the_negative_log_likelihood():
    nlp = make_nlp()
    examples = [example(nlp, "rats", {"rats": "Species"})]
    nlp.initialize(lambda: examples)
    ner = nlp.get_pipe("typed_ner")
    scores = np.array([[0.5, 1.0, -1.0, 0.25, 2.0]], dtype="f")  # a token alone is O or U
    loss, (gradient,) = ner.get_loss(examples, [scores])
    likelihood = np.exp(2.0) / (np.exp(0.5) + np.exp(2.0))
    assert loss == pytest.approx(-np.log(likelihood))
    np.testing.assert_allclose(gradient, [[1 - likelihood, 0, 0, 0, likelihood - 1]], atol=1e-6)


def test_a_mention_that_cuts_a_predicted_token_is_unknown():
    nlp = make_nlp()
    text = "We saw ratsNOS"
    gold = Doc(nlp.vocab, words=["We", "saw", "rats", "NOS"], spaces=[True, True, False, False])
    gold.ents = [Span(gold, 2, 3, label="Species")]
    cut = Example(nlp.make_doc(text), gold)
    nlp.initialize(lambda: [cut])
    ner = nlp.get_pipe("typed_ner")
    allowed = ner._allowed(cut)
    assert allowed[2].all()
    assert not allowed[:2, :, 1:].any()


def test_the_loss_falls_and_transitions_are_learned():
    nlp = make_nlp()
    examples = partly_annotated(nlp)
    assert train(nlp, examples) < train(make_nlp(), examples, steps=1) / 4
    assert np.abs(transitions_of(nlp.get_pipe("typed_ner").model)).max() > 0.01


def test_members_learn_on_their_own_and_are_averaged(tmp_path):
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("typed_ner", config={"model": {**MODEL, "members": 2}})
    train(nlp, partly_annotated(nlp))
    assert entities(nlp, "We saw asthma in mice") == [("asthma", "Disease"), ("mice", "Species")]
    (scores,) = ner.model.predict([nlp.make_doc("We saw asthma in mice")])
    first, second = scores.reshape(5, 2, -1).transpose(1, 0, 2)
    assert np.abs(first - second).max() > 0.01
    nlp.to_disk(tmp_path)
    assert entities(spacy.load(tmp_path), "No rats here") == entities(nlp, "No rats here")


def test_the_loss_of_members_is_the_sum_of_their_losses():
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("typed_ner", config={"model": {**MODEL, "members": 2}})
    examples = [example(nlp, "rats", {"rats": "Species"})]
    nlp.initialize(lambda: examples)
    one, other = np.array([[[0.5, 1.0, -1.0, 0.25, 2.0]], [[0, 0, 0, 0, 1]]], dtype="f")
    loss, (gradient,) = ner.get_loss(examples, [np.concatenate([one, other], axis=1)])
    likelihoods = np.exp(2.0) / (np.exp(0.5) + np.exp(2.0)), np.exp(1.0) / (np.exp(0.0) + np.exp(1.0))
    assert loss == pytest.approx(-np.log(likelihoods).sum())
    assert gradient.shape == (1, 10)


def test_entities_that_are_there_stay(trained):
    doc = trained.make_doc("We saw asthma in mice")
    doc.ents = [Span(doc, 2, 5, label="Event")]
    doc = trained.get_pipe("typed_ner")(doc)
    assert [(entity.text, entity.label_) for entity in doc.ents] == [("asthma in mice", "Event")]


def test_only_some_labels_are_found(trained, tmp_path):
    trained.to_disk(tmp_path)
    nlp = spacy.load(tmp_path, config={"components": {"typed_ner": {"only_labels": ["Species"]}}})
    assert [label for _, label in entities(trained, "Severe asthma kills rats")] == ["Disease", "Species"]
    assert [label for _, label in entities(nlp, "Severe asthma kills rats")] == ["Species"]
    nlp.get_pipe("typed_ner").only_labels.append("species")
    with pytest.raises(SettingError, match=r"only_labels.*Disease"):
        nlp("Severe asthma kills rats")


def test_weights_are_saved_with_16_bits_and_used_with_32(trained, tmp_path):
    trained.to_disk(tmp_path)
    weights = transitions_of(trained.get_pipe("typed_ner").model)
    loaded = transitions_of(spacy.load(tmp_path).get_pipe("typed_ner").model)
    assert weights.dtype == loaded.dtype == np.float32
    assert np.array_equal(loaded, weights.astype(np.float16).astype(np.float32))
    saved = (tmp_path / "typed_ner" / "model").stat().st_size
    assert saved < 0.6 * len(trained.get_pipe("typed_ner").model.to_bytes())


def test_an_empty_document_has_no_entities(trained):
    assert trained("").ents == ()
    assert next(trained.pipe(["", "No rats here"])).ents == ()


def test_it_stays_so_when_saved_pickled_and_in_other_processes(trained, tmp_path):
    texts = [*DISEASES, *SPECIES, ""]
    expected = [entities(trained, text) for text in texts]
    trained.to_disk(tmp_path)
    sourced = spacy.blank("en")
    sourced.add_pipe("typed_ner", source=trained)
    for copy in (
        spacy.load(tmp_path),
        pickle.loads(pickle.dumps(trained)),
        make_nlp().from_bytes(trained.to_bytes()),
        sourced,
    ):
        assert [entities(copy, text) for text in texts] == expected
        assert copy.get_pipe("typed_ner").labels == ("Disease", "Species")
    docs = trained.pipe(texts, n_process=2)
    assert [[(entity.text, entity.label_) for entity in doc.ents] for doc in docs] == expected


def test_labels_can_be_given_and_are_saved_for_the_next_training():
    nlp = make_nlp()
    ner = nlp.get_pipe("typed_ner")
    ner.initialize(lambda: partly_annotated(nlp), nlp=nlp, labels=["Species", "Disease", "Gene"])
    assert ner.labels == ("Species", "Disease", "Gene")
    assert ner.label_data == ["Species", "Disease", "Gene"]
    with pytest.raises(SapbertError, match=r"E363.*Species, Disease, Gene.*'Plant'"):
        ner.add_label("Plant")
    assert ner.add_label("Gene") == 0


def test_training_needs_mentions():
    nlp = make_nlp()
    with pytest.raises(TrainingDataError, match=r"E364.*typed_ner"):
        nlp.initialize(lambda: [example(nlp, "Nothing here", {})])
