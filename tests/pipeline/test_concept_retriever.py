import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.cli.train import train as train_by_config
from spacy.training import Example
from thinc.api import Adam

from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.retrieval.phrase_signal import PhrasesSignal
from spacy_sapbert.types import Document, DocumentConcept, Mention, Name, Record

TEXT = "Mucoviscidosis and cold. The breast cancers were treated with aspirin: cold and aspirin"
OTHER = "Seizures of men. They had no lithium"
NAMED = {"D003550", "D001943", "D003139", "D003080", "D001241"}
SIGNALS = ["document", "phrases", "mentions", "prior"]
CONFIG = Path(__file__).parents[2] / "configs" / "concept_retriever.cfg"
TRAINING = {"@misc": "spacy-sapbert.ConceptRetrieval.v1", "dropout": False, "held_out": 0.0}
PRIMARY = {"OMIM:114480": "D001943"}


@pytest.fixture(scope="module")
def make(kb):
    """A function that makes a pipeline with the small vocabulary, unless the config has another."""

    def make(before=(), **config):
        nlp = spacy.blank("en")
        for name, settings in before:
            nlp.add_pipe(name, config=settings)
        # with random weights, as the tiny encoder has them, much is like much else
        nlp.add_pipe("concept_retriever", config={"kb": kb, "encoder": "starter-transformer", **config})
        return nlp

    return make


@pytest.fixture(scope="module")
def nlp(make):
    return make()


@pytest.fixture(scope="module")
def linking(kb, tiny_encoder):
    """Components that find and link mentions, for the signal "mentions"."""
    return [("concept_matcher", {"kb": kb}), ("sapbert_linker", {"kb": kb, "encoder": str(tiny_encoder)})]


def retriever_of(nlp):
    return nlp.get_pipe("concept_retriever")


def ids(doc):
    return [concept.concept_id for concept in doc._.concepts]


def content(doc):
    """All that the component says of a document, as plain values; the last digits depend on what else is in a batch."""
    return [
        (
            concept.concept_id,
            round(concept.score, 4),
            concept.name,
            [(span.text, span.start_char) for span in concept.evidence],
            [(signal, round(value, 3)) for signal, value in concept.contributions],
        )
        for concept in doc._.concepts
    ]


# --- concepts


def test_it_works_at_once():
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_retriever")
    (first, *_) = nlp("A case of cystic fibrosis in a child with diarrhea.")._.concepts
    assert isinstance(first, DocumentConcept)
    assert (first.concept_id, first.name) == ("D003550", "Cystic Fibrosis")
    assert first.score == pytest.approx(1, abs=1e-4)
    assert first.evidence[0].text == "cystic fibrosis"


def test_concepts_of_a_document(nlp):
    doc = nlp(TEXT)
    assert set(ids(doc)) == NAMED
    concepts = {concept.concept_id: concept for concept in doc._.concepts}
    assert concepts["D003550"].evidence[0].text == "Mucoviscidosis"
    starts = [span.start_char for span in concepts["D001241"].evidence[:2]]
    assert starts == [TEXT.index("aspirin"), TEXT.rindex("aspirin")]
    assert all(concept.score > 0.95 and concept.contributions == () for concept in doc._.concepts)
    assert len(retriever_of(nlp).rank([doc], 20)[0]) > 4  # whatever the score


@pytest.mark.parametrize("signal", SIGNALS)
def test_documents_that_say_nothing(make, signal):
    nlp = make(signals=[signal])
    docs = list(nlp.pipe(["", " ", "\n\n", ".", "the", TEXT]))
    ranked = retriever_of(nlp).rank(docs, 5)
    assert len(docs) == len(ranked) == 6
    if signal != "document":
        assert ranked[:5] == [[]] * 5


@pytest.mark.parametrize("signal", SIGNALS[:3])
def test_each_signal_ranks(make, linking, signal):
    nlp = make(linking, signals=[signal])
    retriever = retriever_of(nlp)
    docs = list(nlp.pipe([TEXT, OTHER]))
    for ranked in retriever.rank(docs, 5):
        scores = [concept.score for concept in ranked]
        assert len(ranked) == 5 or signal == "mentions"
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
    if signal != "document":
        assert retriever.rank(docs, 5)[0][0].evidence
    if signal == "mentions":
        assert set(ids(docs[0])) == {"D003550", "D001943", "D001241", docs[0].ents[1].kb_id_}


def test_documents_near_to_a_concept(make, tiny_encoder):
    """A document that says what a concept's text says has its vector."""
    text = "amyotrophic lateral sclerosis; als; A motor neuron disease."
    best, *_ = retriever_of(make(signals=["document"])).rank([spacy.blank("en")(text)], 3)[0]
    assert best.concept_id == "D000690"
    assert best.score == pytest.approx(1, abs=1e-2)
    mean = make(signals=["document"], vectors={"concept_text": "mean"})
    assert retriever_of(mean).rank([mean.make_doc(text)], 1)[0][0].score < 0.98


def test_mentions_of_a_span_group_need_no_encoder(make, kb):
    settings = {"kb": kb, "spans_key": "all"}
    linking = [("concept_matcher", settings), ("sapbert_linker", {**settings, "encoder": "none"})]
    nlp = make(linking, signals=["mentions"], encoder="none", spans_key="all")
    doc = nlp(TEXT)
    assert not doc.ents
    assert "D003550" in ids(doc)
    assert retriever_of(nlp).retriever.encoder is None


# --- settings


def test_only_labels_can_be_named(make, tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("D003550\nX1\nD999999\n")
    nlp = make(labels=str(path))
    assert set(ids(nlp(TEXT))) == {"D003550", "D001241"}
    assert retriever_of(nlp).concept_ids == ("D003550", "D001241")


def test_only_types_can_be_named(make):
    assert set(ids(make(types=["Drug", "Phenomenon"])(TEXT))) == {"D003080", "D001241"}


def test_k_and_threshold(make):
    nlp = make(k=2)
    assert len(ids(nlp(TEXT))) == 2
    retriever = retriever_of(nlp)
    retriever.k = 100
    assert set(ids(nlp(TEXT))) == NAMED
    retriever.threshold = 0.0
    assert len(ids(nlp(TEXT))) > 5
    retriever.threshold = None
    assert retriever.threshold is None
    assert retriever.retriever.threshold == PhrasesSignal.threshold
    assert make(threshold=1.0)(TEXT)._.concepts == []


def test_most_specific(make):
    text = "Tumors. Ovarian cancer; cold"
    assert {"D009369", "D010051"} <= set(ids(make()(text)))
    nlp = make(most_specific=True)
    found = set(ids(nlp(text)))
    assert "D010051" in found
    assert "D009369" not in found
    assert ids(nlp("Cancer")) == ["D009369"]


def test_what_is_not_named_takes_nothing_above_it_away(make):
    nlp = make(most_specific=True, k=100)
    doc = nlp("Tumors of the breasts")
    ranked = {one.concept_id: one.score for one in retriever_of(nlp).rank([doc], 100)[0]}
    assert 0 < ranked["D001943"] < 0.95 < ranked["D009369"]  # the one that is more specific is not like enough
    assert ids(doc) == ["D009369"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("signals", []),
        ("signals", ["phrases", "phrases"]),
        ("signals", ["words"]),
        ("encoder", "none"),
        ("vectors", {"concept_text": "sum"}),
        ("vectors", {"batch_size": 0}),
        ("vectors", {"segment_length": 7}),
        ("vectors", {"pooling": "max"}),
        ("vectors", {"length": 7}),
        ("k", 0),
        ("threshold", 1.1),
        ("threshold", -0.1),
    ],
)
def test_settings_that_cannot_be(make, setting, value):
    named = ".".join([setting, *value]) if isinstance(value, dict) and "length" not in value else setting
    with pytest.raises(SapbertError, match=rf"E406.*{named}"):
        make(**{setting: value})


def test_nothing_can_be_named(make, tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("D001943\n")
    with pytest.raises(SapbertError, match=r"E105.*labels\.txt.*Chemical"):
        make(labels=str(path), types=["Chemical"])(TEXT)


def test_nothing_is_opened_before_it_is_used(make):
    nlp = make(kb="/not/there.kb", encoder="/not/there", labels="/not/there")
    assert "concept_retriever" in nlp.meta["components"]
    assert retriever_of(nlp)._retriever is None
    with pytest.raises(SapbertError):
        nlp(TEXT)


def test_rank_only_some(nlp):
    retriever, doc = retriever_of(nlp), nlp.make_doc(TEXT)
    whole = [one for one in retriever.rank([doc], 100)[0] if one.concept_id in ("D003550", "D009020", "D001241")]
    some = retriever.rank([doc], 100, filter=["OMIM:219700", "D009020", "X2", "D999999"])[0]
    assert {one.concept_id for one in some} <= {"D003550", "D009020", "D001241"}
    assert [one[:2] for one in some][:2] == [one[:2] for one in whole][:2]
    assert retriever.rank([doc], 5, filter=[]) == [[]]
    assert retriever.rank([doc], 5, filter=["D999999"]) == [[]]
    assert retriever.rank([], 5) == []


def test_batches_are_as_single_documents(make):
    nlp = make(signals=["document"], threshold=0.0, vectors={"batch_size": 2})
    texts = [TEXT, "", OTHER, "cold " * 80, "aspirin"]
    assert [content(doc) for doc in nlp.pipe(texts)] == [content(nlp(text)) for text in texts]


# --- round trips


@pytest.mark.parametrize("copy", ["disk", "bytes", "pickle"])
def test_a_saved_pipeline_needs_nothing_else(make, linking, small_kb, tiny_encoder, tmp_path, copy):
    shutil.copytree(tiny_encoder, tmp_path / "encoder")
    shutil.copyfile(small_kb.path, tmp_path / "copy.kb")
    (tmp_path / "labels.txt").write_text("D003550\nD008094\nD001241\n")
    settings = {"labels": str(tmp_path / "labels.txt"), "signals": ["document", "phrases"], "threshold": 0.1}
    nlp = make(kb=str(tmp_path / "copy.kb"), encoder=str(tmp_path / "encoder"), **settings)
    expected = [content(doc) for doc in nlp.pipe([TEXT, OTHER])]
    nlp.to_disk(tmp_path / "saved")
    data, pickled = nlp.to_bytes(), pickle.dumps(nlp)
    shutil.rmtree(tmp_path / "encoder")
    for name in ("copy.kb", "labels.txt"):
        (tmp_path / name).unlink()
    again = {
        "disk": lambda: spacy.load(tmp_path / "saved"),
        "bytes": lambda: make(kb="/not/there.kb", encoder="/not/there", **settings).from_bytes(data),
        "pickle": lambda: pickle.loads(pickled),
    }[copy]()
    assert [content(doc) for doc in again.pipe([TEXT, OTHER])] == expected
    assert retriever_of(again).concept_ids == retriever_of(nlp).concept_ids
    assert [one[0] for one in content(again(OTHER))][:1] == [expected[1][0][0]]
    some = retriever_of(again).rank([again.make_doc(TEXT)], 5, filter=["D003550"])
    assert [one.concept_id for one in some[0]] == ["D003550"]


def test_what_another_pipeline_says_is_forgotten(make, nlp, tmp_path):
    """What was ranked among some before another component was loaded."""
    (tmp_path / "labels.txt").write_text("D001241\n")
    other = make(labels=str(tmp_path / "labels.txt"))
    retriever, doc = retriever_of(other), other.make_doc(TEXT)
    assert [one.concept_id for one in retriever.rank([doc], 5, filter=["D003550", "D001241"])[0]] == ["D001241"]
    retriever.from_bytes(retriever_of(nlp).to_bytes())
    found = {one.concept_id for one in retriever.rank([doc], 5, filter=["D003550", "D001241"])[0]}
    assert found == {"D003550", "D001241"}


@pytest.mark.parametrize("signal", ["phrases", "document", "mentions"])
def test_another_vocabulary(make, linking, tmp_path, signal):
    records = [
        Record(one, (Name(text, "preferred", "V"),), types=("Disease",))
        for one, text in (("X1", "cystic fibrosis"), ("X2", "a rash"))
    ]
    build_knowledge_base(records, tmp_path / "v.kb")
    nlp = make(signals=[signal])
    nlp(TEXT)
    retriever_of(nlp).set_kb(str(tmp_path / "v.kb"))
    assert retriever_of(nlp).concept_ids == ("X1", "X2")
    nlp.to_disk(tmp_path / "saved")
    (tmp_path / "v.kb").unlink()
    again = spacy.load(tmp_path / "saved")
    assert retriever_of(again).concept_ids == ("X1", "X2")
    if signal != "mentions":
        doc = again.make_doc("A patient with cystic fibrosis.")
        assert [one.concept_id for one in retriever_of(again).rank([doc], 1)[0]] == ["X1"]


def test_another_vocabulary_without_any_label(make, tmp_path):
    (tmp_path / "labels.txt").write_text("D001241\n")
    nlp = make(labels=str(tmp_path / "labels.txt"))
    before = content(nlp(TEXT))
    build_knowledge_base([Record("X1", (Name("cold", "preferred", "V"),))], tmp_path / "v.kb")
    with pytest.raises(SapbertError, match="E105"):
        retriever_of(nlp).set_kb(str(tmp_path / "v.kb"))
    assert content(nlp(TEXT)) == before


def test_another_vocabulary_after_training(trained, small_kb, tmp_path, retrieval_documents):
    nlp = copy_of(trained, tmp_path)
    retriever = retriever_of(nlp)
    weights = retriever.retriever.stored_weights
    retriever.set_kb(str(small_kb.path))
    assert retriever.retriever.stored_weights == weights
    documents = retriever.retriever.document_encoder
    assert documents.encoder is not retriever.retriever.encoder
    assert retriever.kb.n_names == small_kb.n_names


def copy_of(nlp, tmp_path):
    nlp.to_disk(tmp_path / "copy")
    return spacy.load(tmp_path / "copy")


def test_an_encoder_with_raw_vectors_is_compared_by_cosines(make_encoder, kb):
    nlp = spacy.blank("en")
    config = {
        "kb": kb,
        "encoder": str(make_encoder(pooling="mean", l2_normalized=False)),
        "signals": ["document", "phrases"],
    }
    retriever = nlp.add_pipe("concept_retriever", config=config)
    assert [one.concept_id for one in retriever.rank([nlp.make_doc("mucoviscidosis")], 3)[0]]
    assert np.linalg.norm(retriever.retriever.concept_vectors.vectors, axis=1) == pytest.approx(np.ones(15), abs=1e-3)
    (segments,) = retriever.retriever.document_encoder([nlp.make_doc(TEXT)])
    assert np.linalg.norm(segments, axis=1) == pytest.approx(np.ones(len(segments)), abs=1e-4)


# --- training


@pytest.fixture(scope="module")
def make_trainable(kb, tiny_encoder):
    """A function that makes a pipeline whose retriever can be trained.

    `config` has other settings of the retriever, `training` those of its training."""

    def make(config=None, **training):
        settings = {
            "kb": kb,
            "encoder": str(tiny_encoder),
            "signals": ["document"],
            "training": {**TRAINING, **training},
        }
        nlp = spacy.blank("en")
        nlp.add_pipe("concept_retriever", config={**settings, **(config or {})})
        return nlp

    return make


def examples_of(nlp, documents):
    references = [to_doc(nlp, document) for document in documents]
    return [Example(nlp.make_doc(reference.text), reference) for reference in references]


def train(nlp, documents, steps=10, learn_rate=2e-3):
    """RETURNS (list[float]): the losses."""
    examples = examples_of(nlp, documents)
    nlp.initialize(lambda: examples)
    optimizer = Adam(learn_rate, L2=0.0)
    return [nlp.update(examples, sgd=optimizer)["concept_retriever"] for _ in range(steps)]


def rankings(nlp, documents, k=3):
    docs = [nlp.make_doc(document.text) for document in documents]
    return [[(one.concept_id, round(one.score, 4)) for one in of_doc] for of_doc in retriever_of(nlp).rank(docs, k)]


def hits(nlp, documents):
    gold = [PRIMARY.get(one, one) for document in documents for mention in document.mentions for one in mention.ids]
    return sum(of_doc[0][0] == right for of_doc, right in zip(rankings(nlp, documents), gold, strict=True))


@pytest.fixture(scope="module")
def trained(make_trainable, retrieval_documents):
    """A pipeline whose encoder was trained, and whose signals are weighed."""
    nlp = make_trainable({"signals": ["phrases", "document", "prior"]}, held_out=0.4)
    train(nlp, retrieval_documents)
    return nlp


def test_gradients_add_up_until_the_update_is_finished(make_trainable, retrieval_documents):
    nlp = make_trainable()
    examples = examples_of(nlp, retrieval_documents)
    nlp.initialize(lambda: examples)
    retriever = retriever_of(nlp)
    weights = [one.clone() for one in retriever.retriever.document_encoder.encoder.model.parameters()]
    retriever.update(examples)
    now = retriever.retriever.document_encoder.encoder.model.parameters
    assert all(one.equal(other) for one, other in zip(weights, now(), strict=True))
    retriever.finish_update(Adam(1e-3))
    assert not all(one.equal(other) for one, other in zip(weights, now(), strict=True))


def test_another_component_keeps_its_encoder(make_trainable, kb, tiny_encoder, retrieval_documents):
    nlp = make_trainable()
    nlp.add_pipe("concept_matcher", config={"kb": kb}, first=True)
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": str(tiny_encoder)}, after="concept_matcher")
    text = "Breast cancers and a cold"
    expected = [ent._.kb_ents for ent in nlp(text).ents]
    train(nlp, retrieval_documents, steps=2)
    assert [ent._.kb_ents for ent in nlp(text).ents] == expected


def test_without_an_encoder_to_train_the_signals_are_weighed_all_the_same(make_trainable, retrieval_documents):
    nlp = make_trainable({"signals": ["phrases", "prior"]}, held_out=0.9)
    assert train(nlp, retrieval_documents, steps=1) == [0.0]
    assert retriever_of(nlp).model is None
    assert rankings(nlp, retrieval_documents)[0][0][0] == "D003550"
    assert retriever_of(nlp).retriever.weights is not None


def test_what_annotating_components_have_linked_is_weighed(make_trainable, kb):
    """Of the two concepts that are linked in each document, one is annotated."""
    nlp = make_trainable({"signals": ["mentions", "prior"], "encoder": "none"}, held_out=0.9)
    nlp.add_pipe("concept_matcher", config={"kb": kb}, first=True)
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none"}, after="concept_matcher")
    texts = [
        f"{name} of {number} men. Seen with aspirin" for name in ("Mucoviscidosis", "Seizures") for number in range(5)
    ]
    ids = ["D003550"] * 5 + ["D012640"] * 5
    given = [
        Document("", text, (Mention(0, len(text.split()[0]), text.split()[0], "X", (one,)),))
        for text, one in zip(texts, ids, strict=True)
    ]
    examples = examples_of(nlp, given)
    nlp.initialize(lambda: examples)
    nlp.update(examples, sgd=Adam(1e-3), annotates=["concept_matcher", "sapbert_linker"])
    assert [[one.concept_id for one in nlp(text)._.concepts] for text in texts] == [[one] for one in ids]


def test_concepts_are_weighed_anew_where_only_some_are_ranked(make_trainable, retrieval_documents):
    nlp = make_trainable({"signals": ["phrases", "prior"]}, held_out=0.5)
    doc, filter = nlp.make_doc("Jerks"), ["D003550", "D012640"]
    retriever = retriever_of(nlp)
    (before,) = retriever.rank([doc], 1, filter)
    assert before[0].contributions == ()
    train(nlp, retrieval_documents, steps=1)
    (after,) = retriever.rank([doc], 1, filter)
    assert after[0].concept_id == "D012640"
    assert after[0].evidence[0].text == "Jerks"  # a name only since then
    assert dict(after[0].contributions)["prior"] == dict(retriever.rank([doc], 1)[0][0].contributions)["prior"]


# --- what was trained is saved


@pytest.mark.parametrize("copy", ["disk", "bytes", "pickle"])
def test_what_was_trained_survives(trained, make_trainable, tmp_path, copy, retrieval_documents):
    if copy == "disk":
        trained.to_disk(tmp_path / "saved")
        again = spacy.load(tmp_path / "saved")
    elif copy == "bytes":
        settings = {"signals": ["phrases", "document", "prior"]}
        again = make_trainable({**settings, "kb": "/not/there.kb", "encoder": "/not/there"}).from_bytes(
            trained.to_bytes()
        )
    else:
        again = pickle.loads(pickle.dumps(trained))
    assert rankings(again, retrieval_documents) == rankings(trained, retrieval_documents)
    assert retriever_of(again).retriever.threshold == retriever_of(trained).retriever.threshold
    assert retriever_of(again).retriever.counts.as_json() == retriever_of(trained).retriever.counts.as_json()
    assert [doc.user_data for doc in again.pipe(["Jerks"])] == [doc.user_data for doc in trained.pipe(["Jerks"])]


def test_the_training_is_noted_with_the_encoder(trained, tmp_path):
    for name in ("once", "twice"):
        trained.to_disk(tmp_path / name)
        retriever = retriever_of(spacy.load(tmp_path / name)).retriever
        (note,) = retriever.document_encoder.encoder.trained["history"]
        assert (note["step"], note["steps"], note["settings"]["hard"]) == ("concept retrieval", 10, 20)
        assert "history" not in retriever.encoder.trained


def test_a_pipeline_that_has_ranked_can_be_trained_without_initialize(trained, tmp_path, retrieval_documents):
    trained.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    again("cold")
    optimizer = again.resume_training()
    optimizer.learn_rate = 1e-3
    weights = retriever_of(again).retriever.weights
    assert again.update(examples_of(again, retrieval_documents), sgd=optimizer)["concept_retriever"] > 0
    assert retriever_of(again).retriever.weights == weights  # nothing was held out to weigh the signals anew


def test_weights_of_other_signals_are_not_used(trained, tmp_path):
    trained.to_disk(tmp_path)
    other = spacy.load(tmp_path, config={"components.concept_retriever.signals": ["phrases"]})
    assert retriever_of(other).retriever.weights is None
    assert other("mucoviscidosis")._.concepts[0].contributions == ()


def test_spacy_train(kb, tiny_encoder, tmp_path, capsys, retrieval_documents):
    """The config as users run it, with a tiny encoder."""
    nlp = spacy.blank("en")
    for name in ("train", "dev"):
        write_docbin((to_doc(nlp, one) for one in retrieval_documents), tmp_path / f"{name}.spacy")
    overrides = {
        "paths.train": str(tmp_path / "train.spacy"),
        "paths.dev": str(tmp_path / "dev.spacy"),
        "paths.kb": kb,
        "paths.encoder": str(tiny_encoder),
        "training.max_steps": 10,
        "training.eval_frequency": 10,
        "training.optimizer.learn_rate.initial_rate": 3e-3,
        "training.optimizer.learn_rate.warmup_steps": 1,
        "components.concept_retriever.training.dropout": False,
        "components.concept_retriever.training.held_out": 0.4,
    }
    train_by_config(CONFIG, tmp_path / "out", overrides=overrides)
    assert "CONCEPTS_R" in capsys.readouterr().out
    best = spacy.load(tmp_path / "out" / "model-best")
    assert best.meta["performance"]["concepts_r"] > 0.9
    assert best("Jerks in sleep")._.concepts[0].concept_id == "D012640"
    assert hits(best, retrieval_documents) >= 12
