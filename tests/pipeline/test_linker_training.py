import pickle
from pathlib import Path

import pytest
import spacy
from spacy.cli.train import train as train_by_config
from spacy.training import Example
from thinc.api import Adam

from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.documents.examples import mention_corpus
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError, TrainingDataError
from spacy_sapbert.linking.ranker import Ranker
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.training import linker_trainer
from spacy_sapbert.types import Document, Mention
from spacy_sapbert.vectors.faiss_index import FaissVectors
from spacy_sapbert.vectors.flat import NameVectors, build_name_vectors

ROOT = Path(__file__).parents[2]
LOSS = {"@losses": "spacy-sapbert.MarginalLikelihood.v1"}
# as its names do not have them
GOLD = [
    ("Mammary malignancy was seen.", [("Mammary malignancy", "D001943")]),
    ("Upper airway trouble (UAT) was seen. UAT again.", [("Upper airway trouble", "D003139"), ("UAT", "D003139")]),
    ("Ovarian and breast tumours", [("Ovarian and breast tumours", "D010051|D001943")]),
    ("Winter weather", [("Winter weather", "D003080")]),
    ("Salt of lithium, salt of nothing", [("Salt of lithium", "D008094"), ("salt of nothing", "D999999")]),
]


@pytest.fixture
def corpus(tmp_path):
    """The path of a `.spacy` file."""
    nlp = spacy.blank("en")
    documents = []
    for number, (text, mentions) in enumerate(GOLD):
        found = []
        for surface, ids in mentions:
            start = text.rindex(surface)
            found.append(Mention(start, start + len(surface), surface, "Disease", tuple(ids.split("|"))))
        documents.append(Document(str(number), text, tuple(found)))
    write_docbin((to_doc(nlp, one, split_tokens=True) for one in documents), tmp_path / "train.spacy")
    return str(tmp_path / "train.spacy")


@pytest.fixture
def make(kb, tiny_encoder):
    """A function that makes a pipeline with a linker that is trained, with other settings of it or of its training."""

    def make(config=None, **training):
        settings = {"@misc": "spacy-sapbert.BioSyn.v1", "loss": LOSS, "k": 20, "dropout": False, **training}
        nlp = spacy.blank("en")
        nlp.add_pipe("abbreviation_resolver")
        nlp.add_pipe("composite_splitter")
        linker = {"kb": kb, "encoder": str(tiny_encoder), "training": settings, **(config or {})}
        nlp.add_pipe("sapbert_linker", config=linker)
        return nlp

    return make


def train(nlp, corpus, steps=12, learn_rate=3e-3):
    """RETURNS (list[float]): the losses."""
    examples = list(mention_corpus(corpus)(nlp))
    nlp.initialize(lambda: examples)
    optimizer, losses = Adam(learn_rate, L2=0.0), []
    for _ in range(steps):
        loss = nlp.update(examples, sgd=optimizer, annotates=["abbreviation_resolver", "composite_splitter"])
        losses.append(loss["sapbert_linker"])
    return losses


def linker_of(nlp):
    return nlp.get_pipe("sapbert_linker")


def links(nlp, text="Mammary malignancy", label="Disease"):
    linker = linker_of(nlp)
    doc = nlp.make_doc(text)
    doc.ents = [doc.char_span(0, len(text), label=label)]
    return [[candidate[:2] for candidate in part.candidates] for part in linker.predict([doc])[0][0]]


# --- training


def test_training_lowers_the_loss_and_finds_the_concepts(make, corpus):
    nlp = make()
    examples = list(mention_corpus(corpus)(nlp))
    before = nlp.evaluate(examples)
    losses = train(nlp, corpus, steps=25)
    after = nlp.evaluate(list(mention_corpus(corpus)(nlp)))
    assert losses[-1] < 0.5 * losses[0]
    assert after["link_acc"] > before["link_acc"]
    assert after["link_lambda"] != 0.2
    assert linker_of(nlp).linker.sparse_weight == after["link_lambda"]


def test_what_the_mentions_stand_for_is_trained_on(make, corpus):
    """Long forms, and the parts of composites; what the vocabulary lacks is counted."""
    nlp = make()
    train(nlp, corpus, steps=1)
    counts = linker_of(nlp)._trainer.counts
    # malignancy, airway (which its short form stands for as well), two tumours, weather, salt of lithium
    assert counts["mentions"] == 6
    assert counts["ids that the vocabulary lacks"] == 1
    assert counts["composites without as many parts as ids"] == 0


def test_a_composite_that_cannot_be_split_is_left_out_and_counted(make, nlp_of):
    nlp = make()
    nlp_of(nlp, "hereditary trouble", "D010051|D001943")
    assert linker_of(nlp)._trainer.counts["composites without as many parts as ids"] == 1


@pytest.fixture
def nlp_of():
    def train_on(nlp, text, ids, **update):
        reference = nlp.make_doc(text)
        reference.ents = [reference.char_span(0, len(text), label="Disease", kb_id=ids)]
        example = Example(nlp.make_doc(text), reference)
        other = nlp.make_doc("cold")
        other.ents = [other.char_span(0, 4, label="Disease", kb_id="D003139")]
        nlp.initialize(lambda: [example, *[Example(nlp.make_doc("cold"), other)] * 2])
        return nlp.update([example], **update)

    return train_on


def test_gold_mentions_are_taken_where_nothing_found_any(make, nlp_of):
    nlp = make()
    losses = nlp_of(nlp, "malignancy of the breast", "D001943", sgd=Adam(1e-3))
    assert losses["sapbert_linker"] > 0


@pytest.mark.parametrize(
    ("config", "ids"),
    [({}, ""), ({}, "NIL"), ({}, "D999999"), ({"types": ["Chemical"], "sources": ["MEDIC"]}, "D001943")],
    ids=["no id", "NIL", "an unknown id", "no name passes the filter"],
)
def test_mentions_without_a_concept_train_nothing(make, nlp_of, config, ids):
    assert nlp_of(make(config), "mammary malignancy", ids, sgd=Adam(1e-3)) == {"sapbert_linker": 0.0}


@pytest.mark.parametrize("ids", ["", "NIL", "D999999"])
def test_training_data_without_any_concept_is_told(make, ids):
    nlp = make()
    reference = nlp.make_doc("mammary malignancy")
    reference.ents = [reference.char_span(0, 18, label="Disease", kb_id=ids)]
    with pytest.raises(TrainingDataError, match=r"E346.*in 1 training.*such as D009369, D001943, D010051\."):
        nlp.initialize(lambda: [Example(nlp.make_doc("mammary malignancy"), reference)])


def test_gradients_add_up_until_the_update_is_finished(make, corpus):
    """As the training loop does with `accumulate_gradient`."""
    nlp = make()
    examples = list(mention_corpus(corpus)(nlp))
    nlp.initialize(lambda: examples)
    linker = linker_of(nlp)
    weights = linker._trainer.encoder.model.parameters
    before = [weight.clone() for weight in weights()]
    linker.update(examples)
    linker.update(examples)
    assert all(weight.equal(other) for weight, other in zip(before, weights(), strict=True))
    linker.finish_update(Adam(1e-3))
    assert not all(weight.equal(other) for weight, other in zip(before, weights(), strict=True))


def test_training_is_repeatable(make, corpus):
    assert train(make(), corpus, steps=4) == train(make(), corpus, steps=4)


# --- how often concepts are annotated


def test_what_the_training_data_means_more_often_goes_first(make, nlp_of, tmp_path):
    """The temperature has "cold" for its preferred name; the training data means the disease by it."""
    nlp = make({"candidates": {"sparse": True}}, prior_weight=0.3)
    assert linker_of(nlp).linker.prior is None
    assert links(nlp, "cold", "Any")[0][0][0] == "D003080"
    nlp_of(nlp, "a malignancy", "D001943")
    assert linker_of(nlp).linker.parameters.annotated == {"D001943": 1, "D003139": 2}
    assert links(nlp, "cold")[0][0] == ("D003139", 1.0)
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    assert linker_of(again).linker.parameters == linker_of(nlp).linker.parameters
    assert links(again, "cold")[0][0] == ("D003139", 1.0)
    doc = again.make_doc("cold")
    doc.ents = [doc.char_span(0, 4, label="Disease")]
    assert again(doc).ents[0]._.links[0].tie.startswith("its name is as similar as that of D003080; chosen because")


def test_it_can_be_left_out(make, nlp_of):
    nlp = make(prior_weight=0)
    nlp_of(nlp, "a malignancy", "D001943")
    assert links(nlp, "cold", "Any")[0][0][0] == "D003080"
    linker_of(nlp).candidates.prior_weight = 0.2
    assert links(nlp, "cold")[0][0][0] == "D003139"


@pytest.mark.parametrize("setting", ["sparse_weight", "prior_weight"])
def test_what_is_trained_cannot_be_set_as_well(make, corpus, setting):
    nlp = make({"candidates": {setting: 0.3}})
    with pytest.raises(SapbertError, match=rf"E406.*candidates\.{setting}"):
        nlp.initialize(lambda: list(mention_corpus(corpus)(nlp)))


# --- names are encoded anew


@pytest.fixture
def encodings(monkeypatch):
    """How often the names were encoded anew."""
    done = []
    monkeypatch.setattr(
        linker_trainer, "build_name_vectors", lambda *names, **how: done.append(1) or build_name_vectors(*names, **how)
    )
    return done


def test_candidates_are_renewed_once_an_epoch(make, corpus, encodings):
    train(make(), corpus, steps=4)  # each of all documents; the first has fresh ones
    assert len(encodings) == 3
    train(make(reencode_every=11), corpus, steps=6)
    assert len(encodings) == 3 + 1
    nlp = make(reencode_every=1000)
    train(nlp, corpus, steps=2)
    for _ in range(2):  # scoring renews them as well, unless nothing was trained in between
        nlp.evaluate(list(mention_corpus(corpus)(nlp)))
    assert len(encodings) == 3 + 1 + 1


def test_encoder_and_names_agree_in_what_is_saved(make, corpus, tmp_path):
    nlp = make(add_training_mentions=False)
    train(nlp, corpus)
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    vectors = linker_of(again).linker.generator.vectors
    names = list(linker_of(again).kb.names())
    cosines = (vectors.vectors * vectors.encoder.encode(names)).sum(axis=1)
    assert cosines.min() > 0.999  # not 1, where the hardware has bfloat16, in which names are encoded
    assert links(again) == links(nlp)


def test_an_encoder_in_half_precision_is_saved_in_full(make, corpus, tmp_path, tiny_encoder):
    encoder = TransformerEncoder(str(tiny_encoder))
    encoder.dtype = "float16"
    encoder.save(tmp_path / "half")
    nlp = make({"encoder": str(tmp_path / "half")}, add_training_mentions=False)
    train(nlp, corpus, steps=3)
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")  # else its vectors would not be those of the encoder beside them
    assert links(again) == links(nlp)
    assert linker_of(again).linker.generator.vectors.encoder.dtype == "float32"


# --- what is saved


def test_mentions_join_the_vocabulary_that_is_saved(make, corpus, tmp_path):
    nlp = make()
    train(nlp, corpus)
    nlp.to_disk(tmp_path / "saved")
    nlp.to_disk(tmp_path / "twice")
    again = spacy.load(tmp_path / "saved")
    assert linker_of(nlp).kb.find_name("Mammary malignancy") == ()
    assert linker_of(again).kb.find_name("Mammary malignancy") == ("D001943",)
    assert linker_of(again).kb.find_name("Ovarian tumours") == ("D010051",)
    assert linker_of(again).kb.source_counts()["training"] == 6
    assert links(again)[0][0] == ("D001943", 1.0)
    twice = spacy.load(tmp_path / "twice")
    assert linker_of(twice).kb.fingerprint == linker_of(again).kb.fingerprint
    # they have joined: saving what was loaded adds nothing
    again.to_disk(tmp_path / "third")
    assert linker_of(spacy.load(tmp_path / "third")).kb.fingerprint == linker_of(again).kb.fingerprint


def test_what_was_trained_is_noted_with_the_encoder(make, corpus, tmp_path):
    nlp = make()
    train(nlp, corpus, steps=3)
    nlp.to_disk(tmp_path / "saved")
    nlp.to_disk(tmp_path / "twice")
    for name in ("saved", "twice"):
        (note,) = linker_of(spacy.load(tmp_path / name)).linker.generator.vectors.encoder.trained["history"]
        assert (note["step"], note["steps"]) == ("BioSyn", 3)
        assert note["settings"]["loss"] == "marginal_likelihood"


@pytest.mark.parametrize("copy", ["disk", "bytes", "pickle"])
def test_a_trained_linker_survives(make, corpus, tmp_path, copy):
    nlp = make(add_training_mentions=False)
    train(nlp, corpus)
    if copy == "disk":
        nlp.to_disk(tmp_path / "saved")
        again = spacy.load(tmp_path / "saved")
    elif copy == "bytes":
        again = make(add_training_mentions=False).from_bytes(nlp.to_bytes())
    else:
        again = pickle.loads(pickle.dumps(nlp))
    assert links(again) == links(nlp)
    assert linker_of(again).linker.sparse_weight == pytest.approx(linker_of(nlp).linker.sparse_weight)
    assert linker_of(again).is_trainable


def test_a_saved_linker_can_be_trained_further(make, corpus, tmp_path):
    nlp = make(add_training_mentions=False)
    first = train(nlp, corpus, steps=3)
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    before = linker_of(again).linker.sparse_weight
    assert before != 0.2
    train(again, corpus, steps=0)
    assert linker_of(again)._trainer.sparse_weight == pytest.approx(before)  # λ goes on from where it was
    losses = train(again, corpus, steps=3)
    assert losses[0] < first[0]


def test_another_vocabulary_ends_training_and_drops_the_ranker(make, corpus, kb):
    nlp = make()
    train(nlp, corpus, steps=2)
    linker = linker_of(nlp)
    linker.linker.trained_ranker = Ranker(Trees.none(), 0, 0.5, 0.0)
    encoder = linker.linker.generator.vectors.encoder
    linker.set_kb(kb)
    assert linker.linker.generator.vectors.encoder is encoder
    assert linker.model is None
    assert linker.linker.trained_ranker is None
    assert isinstance(linker.linker.generator.vectors, NameVectors)
    assert [note["steps"] for note in encoder.trained["history"]] == [2]


def test_training_compares_with_all_names_and_the_index_is_made_when_it_is_saved(make, corpus, tmp_path):
    nlp = make({"index": "HNSW"}, add_training_mentions=False)
    assert isinstance(linker_of(nlp).linker.generator.vectors, FaissVectors)
    train(nlp, corpus, steps=2)
    assert type(linker_of(nlp).linker.generator.vectors) is NameVectors
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    assert isinstance(linker_of(again).linker.generator.vectors, FaissVectors)
    assert len(list((tmp_path / "saved" / "shared").glob("index-*/HNSW32.faiss"))) == 1
    assert links(again) == links(nlp)


# --- a ranker


@pytest.fixture
def reranking(make, numbered_kb):
    """A function that makes a pipeline whose training ends with a ranker."""

    def make_it(**others):
        few = {"trees": 10, "leaves": 4, "depth": 2, "least_in_leaf": 5, "folds": 3}
        reranker = {"@misc": "spacy-sapbert.Reranker.v1", **few}
        return make({"kb": str(numbered_kb.path)}, reranker=reranker, **others)

    return make_it


@pytest.fixture
def numbered(numbered_documents, tmp_path):
    """The path of a `.spacy` file with the documents of `numbered_documents`."""
    nlp = spacy.blank("en")
    write_docbin((to_doc(nlp, one, split_tokens=True) for one in numbered_documents), tmp_path / "numbered.spacy")
    return str(tmp_path / "numbered.spacy")


def test_a_ranker_is_trained_when_the_linker_is_saved(reranking, numbered, tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    nlp = reranking(add_training_mentions=False, prior_weight=0.0)
    train(nlp, numbered, steps=1, learn_rate=0.0)
    fitted = []
    fit = linker_trainer.train_ranking
    monkeypatch.setattr(linker_trainer, "train_ranking", lambda *a, **more: fitted.append(1) or fit(*a, **more))
    nlp.to_disk(tmp_path / "one")
    nlp.to_disk(tmp_path / "two")
    assert len(fitted) == 1  # nothing was trained in between
    again = spacy.load(tmp_path / "two")
    linker_of(again).threshold = 0.1
    doc = again.make_doc("lung disease fancy")
    doc.ents = [doc.char_span(0, len(doc.text), label="Disease")]
    (link,) = again.get_pipe("sapbert_linker")(doc).ents[0]._.links
    assert link.concept_id == "B:0"
    assert linker_of(again).linker.ranker is linker_of(again).linker.trained_ranker
    copied = pickle.loads(pickle.dumps(again))
    assert linker_of(copied).linker.trained_ranker is not None


def test_a_ranker_of_calibrate_is_saved_until_training_goes_on(make, corpus, tmp_path):
    nlp = make()
    train(nlp, corpus, steps=1)
    linker_of(nlp).linker.trained_ranker = Ranker(Trees.none(), 0, 0.5, 0.0)
    nlp.to_disk(tmp_path / "one")
    assert linker_of(spacy.load(tmp_path / "one")).linker.trained_ranker is not None
    train(nlp, corpus, steps=1)
    nlp.to_disk(tmp_path / "two")
    assert linker_of(spacy.load(tmp_path / "two")).linker.trained_ranker is None


def test_with_too_little_text_the_encoder_is_saved_without_a_ranker(make, corpus, tmp_path):
    pytest.importorskip("lightgbm")
    nlp = make(reranker={"@misc": "spacy-sapbert.Reranker.v1"})
    train(nlp, corpus, steps=1)
    with pytest.warns(UserWarning, match="W416"):
        nlp.to_disk(tmp_path)
    assert linker_of(spacy.load(tmp_path)).linker.trained_ranker is None


def test_a_linker_without_training_is_left_alone(kb, tiny_encoder, corpus):
    nlp = spacy.blank("en")
    linker = nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": str(tiny_encoder)})
    examples = list(mention_corpus(corpus)(nlp))
    optimizer = nlp.initialize(lambda: examples)
    assert not linker.is_trainable
    assert nlp.update(examples, sgd=optimizer) == {"sapbert_linker": 0.0}
    assert linker._linker is None  # nothing was opened
    with nlp.use_params({}):
        pass


def test_nothing_can_be_trained_without_an_encoder(make, corpus):
    nlp = make({"encoder": "none"})
    with pytest.raises(SapbertError, match="E342"):
        train(nlp, corpus, steps=1)


def test_spacy_train(corpus, kb, tiny_encoder, tmp_path, capsys):
    """The config as users run it, with a tiny encoder that learns fast."""
    overrides = {
        "paths.train": corpus,
        "paths.dev": corpus,
        "paths.kb": kb,
        "paths.encoder": str(tiny_encoder),
        "training.max_steps": 60,
        "training.eval_frequency": 30,
        "training.optimizer.learn_rate.initial_rate": 3e-3,
        "training.optimizer.learn_rate.warmup_steps": 1,
        "components.sapbert_linker.training.dropout": False,
    }
    train_by_config(ROOT / "configs" / "linker.cfg", tmp_path / "out", overrides=overrides)
    assert "LINK_LAMBDA" in capsys.readouterr().out
    best = spacy.load(tmp_path / "out" / "model-best")
    assert best.meta["performance"]["link_acc"] > 0.5
    assert links(best)[0][0] == ("D001943", 1.0)
    # once the encoder is made, nothing but the saved folder is needed
    assert spacy.load(tmp_path / "out" / "model-last").pipe_names[-1] == "sapbert_linker"
