import pickle
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.cli.train import train as train_by_config
from spacy.training import Example
from thinc.api import Adam

from spacy_sapbert.corpora.docbin import write_docbin
from spacy_sapbert.corpora.docs import PROVENANCE, WEIGHT, to_doc
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import AnnotatedDocument, Mention

ROOT = Path(__file__).parents[2]
# what is said of each concept, with a mention that is no name of it
SAID = {
    "D003550": ["Sticky lungs", "of a child with salty sweat", "and thick mucus"],
    "D012640": ["Jerks", "in sleep after a spike wave", "and foaming"],
    "D009020": ["Poppy juice", "given for pain at night", "and breathing slowly"],
    "OMIM:114480": ["Lump", "under the nipple on a scan", "and hard axilla"],
}
LEARNING = {"@misc": "spacy-sapbert.ConceptRetrieval.v1", "dropout": False, "held_out": 0.0}
PRIMARY = {"OMIM:114480": "D001943"}


def documents():
    """Each concept in several documents that say parts of it."""
    for concept_id, (mention, *rest) in SAID.items():
        for number, text in enumerate(
            (mention, f"{mention} {rest[0]}", f"{mention} {rest[1]}", " ".join([mention, *rest]))
        ):
            found = Mention(0, len(mention), mention, "X", (concept_id,))
            yield AnnotatedDocument(f"{concept_id}-{number}", f"{text}.", (found,))


def examples_of(nlp, given=None):
    references = [to_doc(nlp, document) for document in (given or documents())]
    return [Example(nlp.make_doc(reference.text), reference) for reference in references]


@pytest.fixture(scope="module")
def make(kb, tiny_encoder):
    """A function that makes a pipeline whose retriever learns; `learning` has other settings, `config` those of it."""

    def make(config=None, **learning):
        settings = {
            "kb": kb,
            "encoder": str(tiny_encoder),
            "signals": ["document"],
            "training": {**LEARNING, **learning},
        }
        nlp = spacy.blank("en")
        nlp.add_pipe("concept_retriever", config={**settings, **(config or {})})
        return nlp

    return make


def train(nlp, examples=None, steps=10, learn_rate=2e-3):
    """RETURNS (list[float]): the losses."""
    examples = examples_of(nlp) if examples is None else examples
    nlp.initialize(lambda: examples)
    optimizer = Adam(learn_rate, L2=0.0)
    return [nlp.update(examples, sgd=optimizer)["concept_retriever"] for _ in range(steps)]


def retriever_of(nlp):
    return nlp.get_pipe("concept_retriever")


def rankings(nlp, k=3, filter=None):
    docs = [nlp.make_doc(document.text) for document in documents()]
    return [
        [(one.concept_id, round(one.score, 4)) for one in of_doc] for of_doc in retriever_of(nlp).rank(docs, k, filter)
    ]


def hits(nlp):
    gold = [PRIMARY.get(one, one) for document in documents() for mention in document.mentions for one in mention.ids]
    return sum(of_doc[0][0] == right for of_doc, right in zip(rankings(nlp), gold, strict=True))


@pytest.fixture(scope="module")
def learnt(make):
    """A pipeline whose encoder has learnt, and whose signals are weighed."""
    nlp = make({"signals": ["phrases", "document", "prior"]}, held_out=0.4)
    train(nlp)
    return nlp


# --- learning


def test_learning_finds_the_concepts(make):
    nlp = make()
    before = hits(nlp)
    frozen = retriever_of(nlp).parts.vectors.vectors.copy()
    fingerprint = retriever_of(nlp).parts.encoder.fingerprint
    losses = train(nlp, steps=15)
    assert losses[-1] < 0.3 * losses[0]
    assert before < 8
    assert hits(nlp) >= 14
    parts = retriever_of(nlp).parts
    assert np.array_equal(parts.vectors.vectors, frozen)
    assert parts.encoder.model is not parts.documents.encoder.model
    del parts.encoder.fingerprint
    assert parts.encoder.fingerprint == fingerprint


def test_learning_is_repeatable(make):
    assert train(make(), steps=3) == train(make(), steps=3)


def test_gradients_add_up_until_the_update_is_finished(make):
    nlp = make()
    examples = examples_of(nlp)
    nlp.initialize(lambda: examples)
    retriever = retriever_of(nlp)
    weights = [one.clone() for one in retriever.parts.documents.encoder.model.parameters()]
    retriever.update(examples)
    now = retriever.parts.documents.encoder.model.parameters
    assert all(one.equal(other) for one, other in zip(weights, now(), strict=True))
    retriever.finish_update(Adam(1e-3))
    assert not all(one.equal(other) for one, other in zip(weights, now(), strict=True))


def test_only_the_upper_layers_are_trained(make):
    nlp = make(trained_layers=1)
    train(nlp, steps=1)
    parts = retriever_of(nlp).parts
    before, after = (dict(one.model.named_parameters()) for one in (parts.encoder, parts.documents.encoder))
    changed = {name for name, weights in after.items() if not weights.equal(before[name])}
    assert changed
    assert all(name.startswith("encoder.layer.1.") for name in changed)


def test_another_component_keeps_its_encoder(make, kb, tiny_encoder):
    nlp = make()
    nlp.add_pipe("concept_matcher", config={"kb": kb}, first=True)
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": str(tiny_encoder)}, after="concept_matcher")
    text = "Breast cancers and a cold"
    expected = [ent._.kb_ents for ent in nlp(text).ents]
    train(nlp, steps=2)
    assert [ent._.kb_ents for ent in nlp(text).ents] == expected


def test_without_an_encoder_that_learns_the_signals_are_weighed_all_the_same(make):
    nlp = make({"signals": ["phrases", "prior"]}, held_out=0.9)
    assert train(nlp, steps=1) == [0.0]
    assert retriever_of(nlp).model is None
    assert rankings(nlp)[0][0][0] == "D003550"
    assert retriever_of(nlp).retriever.weights is not None


def test_what_annotating_components_have_linked_is_weighed(make, kb):
    """Of the two concepts that are linked in each document, one is annotated."""
    nlp = make({"signals": ["mentions", "prior"], "encoder": "none"}, held_out=0.9)
    nlp.add_pipe("concept_matcher", config={"kb": kb}, first=True)
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none"}, after="concept_matcher")
    texts = [f"{name} of {number} men. Seen with aspirin" for name in ("Mucoviscidosis", "Fits") for number in range(5)]
    ids = ["D003550"] * 5 + ["D012640"] * 5
    given = [
        AnnotatedDocument("", text, (Mention(0, len(text.split()[0]), text.split()[0], "X", (one,)),))
        for text, one in zip(texts, ids, strict=True)
    ]
    examples = examples_of(nlp, given)
    nlp.initialize(lambda: examples)
    nlp.update(examples, sgd=Adam(1e-3), annotates=["concept_matcher", "sapbert_linker"])
    assert [[one.concept_id for one in nlp(text)._.concepts] for text in texts] == [[one] for one in ids]


# --- counts, mentions and weights


def test_what_is_annotated_is_counted_and_becomes_names(learnt):
    parts = retriever_of(learnt).parts
    assert parts.counts.concepts == dict.fromkeys(SAID, 4)
    assert parts.counts.marked["poppy juice"] == 4
    assert parts.kb.find_name("Sticky lungs") == ("D003550",)
    assert len(parts.kb.annotated_only()) == 4


def test_signals_are_weighed_on_documents_held_out(learnt):
    retriever = retriever_of(learnt)
    weights = retriever.retriever.weights
    assert weights.signals == (("phrases", 13), ("document", 2), ("prior", 2))
    assert retriever.threshold == weights.threshold
    n_held_out = len(retriever._held_out)
    assert 0 < n_held_out < 16
    doc = learnt("Poppy juice for men")
    best = doc._.concepts[0]
    assert best.concept_id == "D009020"
    assert [signal for signal, _ in best.contributions] == ["phrases", "document", "prior"]
    logit = weights.bias + sum(value for _, value in best.contributions)
    assert best.score == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-5)  # it is rounded
    assert best.evidence[0].text == "Poppy juice"


def test_documents_held_out_teach_the_encoder_nothing(make):
    nlp = make(held_out=0.99)
    losses = train(nlp, steps=1)
    held_out = retriever_of(nlp)._held_out
    assert len(held_out) == 16
    assert losses == [0.0]
    train(nlp, examples_of(nlp, list(documents())[:1]), steps=0)
    assert retriever_of(nlp)._held_out == {}  # they belong to the training data they came from


def test_concepts_are_weighed_anew_where_only_some_are_ranked(make):
    nlp = make({"signals": ["phrases", "prior"]}, held_out=0.5)
    doc, filter = nlp.make_doc("Jerks"), ["D003550", "D012640"]
    retriever = retriever_of(nlp)
    (before,) = retriever.rank([doc], 1, filter)
    assert before[0].contributions == ()
    train(nlp, steps=1)
    (after,) = retriever.rank([doc], 1, filter)
    assert after[0].concept_id == "D012640"
    assert after[0].evidence[0].text == "Jerks"  # a name only since then
    assert dict(after[0].contributions)["prior"] == dict(retriever.rank([doc], 1)[0][0].contributions)["prior"]


def test_mentions_need_not_join(make):
    nlp = make({"signals": ["phrases"]}, add_training_mentions=False)
    train(nlp, steps=1)
    assert retriever_of(nlp).parts.kb.find_name("Sticky lungs") == ()


def test_augmented_documents_are_weighted_and_never_held_out(make):
    losses = {}
    for weight in (None, 0.0, 0.5):
        nlp = make(augmented_weight=weight, held_out=0.0, random=0)
        examples = examples_of(nlp)
        for example in examples[1:]:
            example.reference.user_data[PROVENANCE] = {"from": "rules"}
        for example in examples[1:]:
            example.reference.user_data[WEIGHT] = 0.25
        (losses[weight],) = train(nlp, examples, steps=1)
        counts = retriever_of(nlp).parts.counts
        assert counts.concepts == {"D003550": 1}  # what rules have annotated is not counted, and gives no names
        assert retriever_of(nlp).parts.kb.find_name("Poppy juice") == ()
    own, augmented = losses[0.0], losses[0.5] - losses[0.0]
    assert losses[None] == pytest.approx(own + augmented / 2, rel=1e-3)
    nlp = make({"signals": ["phrases"]}, held_out=0.99)
    examples = examples_of(nlp)
    for example in examples[:8]:
        example.reference.user_data[PROVENANCE] = {"from": "rules"}
    train(nlp, examples, steps=1)
    assert {one.doc.text for one in retriever_of(nlp)._held_out.values()} <= {one.text for one in list(documents())[8:]}


@pytest.mark.parametrize("ids", [(), ("D999999",)])
def test_no_concept_that_can_be_named(make, ids):
    nlp = make()
    given = [AnnotatedDocument("1", "cold fits", (Mention(0, 4, "cold", "X", ids),))]
    with pytest.raises(SapbertError, match=rf"E645.*{len(ids)} ids annotated in 1 training"):
        nlp.initialize(lambda: examples_of(nlp, given))


def test_mentions_are_counted_once_however_often_it_is_initialised(make):
    nlp = make({"signals": ["phrases"]})
    examples = examples_of(nlp)
    nlp.initialize(lambda: examples)
    once = retriever_of(nlp).kb.name_concepts.annotations.sum()
    assert once > 0
    nlp.initialize(lambda: examples)
    assert retriever_of(nlp).kb.name_concepts.annotations.sum() == once


def test_no_document_held_out_has_anything_right(make):
    nlp = make(held_out=0.99)
    train(nlp, steps=1)
    retriever = retriever_of(nlp)
    retriever._held_out = {key: one._replace(places=()) for key, one in retriever._held_out.items()}
    with pytest.warns(UserWarning, match=r"W413.*0 are right"):
        nlp("cold")
    assert retriever.retriever.weights is None
    nlp("cold")  # told once


def test_a_component_without_learning_stays_as_it_is(kb, tiny_encoder):
    nlp = spacy.blank("en")
    retriever = nlp.add_pipe("concept_retriever", config={"kb": kb, "encoder": str(tiny_encoder)})
    examples = examples_of(nlp)
    optimizer = nlp.initialize(lambda: examples)
    assert not retriever.is_trainable
    assert nlp.update(examples, sgd=optimizer) == {"concept_retriever": 0.0}
    assert retriever._parts is None  # nothing was opened
    with nlp.use_params({}):
        pass


# --- what is saved


@pytest.mark.parametrize("copy", ["disk", "bytes", "pickle"])
def test_what_was_learnt_survives(learnt, make, tmp_path, copy):
    if copy == "disk":
        learnt.to_disk(tmp_path / "saved")
        again = spacy.load(tmp_path / "saved")
    elif copy == "bytes":
        settings = {"signals": ["phrases", "document", "prior"]}
        again = make({**settings, "kb": "/not/there.kb", "encoder": "/not/there"}).from_bytes(learnt.to_bytes())
    else:
        again = pickle.loads(pickle.dumps(learnt))
    assert rankings(again) == rankings(learnt)
    assert retriever_of(again).threshold == retriever_of(learnt).threshold
    assert vars(retriever_of(again).parts.counts) == vars(retriever_of(learnt).parts.counts)
    assert [doc.user_data for doc in again.pipe(["Jerks"])] == [doc.user_data for doc in learnt.pipe(["Jerks"])]


def test_what_was_learnt_is_noted_with_the_encoder(learnt, tmp_path):
    for name in ("once", "twice"):
        learnt.to_disk(tmp_path / name)
        parts = retriever_of(spacy.load(tmp_path / name)).parts
        (note,) = parts.documents.encoder.trained["history"]
        assert (note["step"], note["steps"], note["settings"]["hard"]) == ("concept retrieval", 10, 20)
        assert "history" not in parts.encoder.trained


def test_a_saved_retriever_can_learn_on(learnt, tmp_path):
    learnt.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    first = rankings(again)
    losses = train(again, steps=2)
    assert losses[0] < 1
    assert rankings(again) != first


def test_a_pipeline_that_has_ranked_can_learn_without_initialize(learnt, tmp_path):
    learnt.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    again("cold")
    optimizer = again.resume_training()
    optimizer.learn_rate = 1e-3
    weights = retriever_of(again).retriever.weights
    assert again.update(examples_of(again), sgd=optimizer)["concept_retriever"] > 0
    assert retriever_of(again).retriever.weights == weights  # nothing was held out to weigh the signals anew


def test_weights_of_other_signals_are_not_used(learnt, tmp_path):
    learnt.to_disk(tmp_path)
    other = spacy.load(tmp_path, config={"components.concept_retriever.signals": ["phrases"]})
    assert retriever_of(other).retriever.weights is None
    assert other("mucoviscidosis")._.concepts[0].contributions == ()


# --- spaCy's own loop


def test_spacy_train(kb, tiny_encoder, tmp_path, capsys):
    """The config as users run it, with a tiny encoder that learns fast."""
    nlp = spacy.blank("en")
    for name in ("train", "dev"):
        write_docbin((to_doc(nlp, one) for one in documents()), tmp_path / f"{name}.spacy")
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
    train_by_config(ROOT / "configs" / "concept_retriever.cfg", tmp_path / "out", overrides=overrides)
    assert "CONCEPTS_R" in capsys.readouterr().out
    best = spacy.load(tmp_path / "out" / "model-best")
    assert best.meta["performance"]["concepts_r"] > 0.9
    assert best("Jerks in sleep")._.concepts[0].concept_id == "D012640"
    assert hits(best) >= 12
