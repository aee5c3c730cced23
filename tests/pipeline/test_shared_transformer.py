import pickle
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.cli.train import train as train_by_config
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import registry
from thinc.api import Adam, Config, fix_random_seed

from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.encoders.projection import add_projection
from spacy_sapbert.encoders.shared_transformer import shared_transformer
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document, Mention

CONFIG = Path(__file__).parents[2] / "configs" / "concept_retriever.cfg"
ARCHITECTURE = "spacy-sapbert.SharedTransformer.v1"
TRAINING = {"@misc": "spacy-sapbert.ConceptRetrieval.v1", "held_out": 0.0}
WINDOW = 6  # tokens of a segment
TEXTS = [
    "Sticky lungs of a child with salty sweat and mucus.",
    "",
    "Jerks in sleep.",
    "A cold, a scan and a lump again",
]
IDS = ["D003550", None, "D012640", "D001943"]


@pytest.fixture(scope="module", autouse=True)
def registered():
    if ARCHITECTURE not in registry.architectures:
        registry.architectures.register(ARCHITECTURE, func=shared_transformer)


@pytest.fixture(scope="module")
def make(kb, tiny_encoder):
    """A function that makes a pipeline with a transformer and a retriever that shares it."""

    def make(pooling="mean", grad_factor=1.0, training=None, before=(), after=(), **config):
        nlp = spacy.blank("en")
        model = {
            "@architectures": "spacy-transformers.TransformerModel.v3",
            "name": str(tiny_encoder),
            "get_spans": {"@span_getters": "spacy-transformers.strided_spans.v1", "window": WINDOW, "stride": WINDOW},
            "tokenizer_config": {"use_fast": True},
        }
        nlp.add_pipe("transformer", config={"model": model})
        for name in before:
            nlp.add_pipe(name, config={"model": listening(name)})
        shared = {"@architectures": ARCHITECTURE, "pooling": pooling, "grad_factor": grad_factor}
        settings = {"kb": kb, "encoder": str(tiny_encoder), "signals": ["document"], "model": shared, "threshold": 0.0}
        nlp.add_pipe("concept_retriever", config={**settings, "training": training, **config})
        for name in after:
            nlp.add_pipe(name, config={"model": listening(name)})
        return nlp

    return make


def listening(name):
    """RETURNS: the model of a component that listens to the transformer."""
    return {
        "@architectures": "spacy.Tagger.v2",
        "tok2vec": {
            "@architectures": "spacy-transformers.TransformerListener.v1",
            "grad_factor": 1.0,
            "pooling": {"@layers": "reduce_mean.v1"},
        },
    }


def examples_of(nlp, ids=IDS):
    examples = []
    for number, (text, one) in enumerate(zip(TEXTS, ids, strict=True)):
        mentions = (Mention(0, 5, text[:5], "X", (one,)),) if one else ()
        reference = to_doc(nlp, Document(str(number), text, mentions))
        for token in reference:
            token.tag_ = "A" if token.i % 2 else "B"
        examples.append(Example(nlp.make_doc(text), reference))
    return examples


def train(nlp, examples, steps):
    """The transformer changes by the gradients of the step before, as spaCy has it outside of `spacy train`.

    RETURNS (list[dict[str, float]]): the losses.
    """
    fix_random_seed(0)
    optimizer = Adam(3e-3, L2=0.0)
    return [nlp.update(examples, sgd=optimizer) for _ in range(steps)]


def retriever_of(nlp):
    return nlp.get_pipe("concept_retriever")


def weights_of(nlp):
    return nlp.get_pipe("transformer").model.transformer.embeddings.word_embeddings.weight


def content(doc):
    return [(concept.concept_id, round(concept.score, 4)) for concept in doc._.concepts]


def start(nlp, **others):
    examples = examples_of(nlp, **others)
    nlp.initialize(lambda: examples)
    return examples


@pytest.fixture(scope="module", params=["cls", "mean"])
def started(request, make, tiny_encoder):
    nlp = make(request.param)
    start(nlp)
    return nlp, TransformerEncoder(str(tiny_encoder), pooling=request.param)


# --- predictions


def test_documents_are_read_as_by_hand(started):
    nlp, encoder = started
    docs = list(nlp.pipe(TEXTS))
    for doc, vectors in zip(docs, retriever_of(nlp).model.predict(docs), strict=True):
        parts = [doc[i : i + WINDOW].text for i in range(0, len(doc), WINDOW)]
        assert vectors.shape == (len(parts), 32)
        if parts:
            pieces = encoder.tokenizer(parts)["input_ids"]
            assert vectors == pytest.approx(encoder.embed_by_length(pieces).detach().numpy(), abs=1e-5)
            cosines = (vectors @ retriever_of(nlp).retriever.concept_vectors.vectors.T).max(axis=0)
            assert doc._.concepts[0].score == pytest.approx(cosines.max(), abs=1e-5)
    assert content(docs[1]) == []
    assert retriever_of(nlp).rank([nlp("")], 3) == [[]]


def test_an_empty_document_beside_other_signals(make):
    nlp = make(signals=["document", "phrases"])
    start(nlp)
    assert nlp("")._.concepts == []
    assert nlp(TEXTS[0])._.concepts


def test_the_transformer_has_to_run_before(make):
    nlp = make()
    start(nlp)
    with pytest.raises(SapbertError, match="E647"):
        retriever_of(nlp)(nlp.make_doc("cold"))


def test_transformer_and_encoder_must_go_together(make, tmp_path, tiny_encoder):
    encoder = TransformerEncoder(str(tiny_encoder))
    add_projection(encoder, dim=16)
    encoder.save(tmp_path / "projected")
    nlp = make(encoder=str(tmp_path / "projected"))
    start(nlp)
    with pytest.raises(SapbertError, match=r"E646.*32 dimensions.*16"):
        nlp("cold")


def test_only_a_retriever_that_reads_documents_has_a_model(make):
    with pytest.raises(SapbertError, match=r"E406.*model"):
        make(signals=["phrases"])


# --- training


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_gradients_are_slopes(make, pooling):
    nlp = make(pooling)
    start(nlp)
    transformer, model = nlp.get_pipe("transformer"), retriever_of(nlp).model
    transformer.model.transformer.eval()
    examples = examples_of(nlp)
    docs = [example.predicted for example in examples]

    def read():
        return model.predict([transformer(doc) for doc in map(Doc.copy, docs)])

    directions = [np.random.default_rng(0).normal(size=one.shape).astype(np.float32) for one in read()]
    for module in transformer.model.transformer.modules():
        if hasattr(module, "p"):
            module.p = 0.0  # else training sees other vectors
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = 0.0
    transformer.update(examples)
    vectors, backprop = model.begin_update(docs)
    for one, other in zip(vectors, read(), strict=True):
        assert one == pytest.approx(other, abs=1e-5)
    transformer.update(examples)
    _, backprop = model.begin_update(docs)
    backprop(directions)
    weights = transformer.model.transformer.encoder.layer[1].output.dense.weight
    gradient, values = float(weights.grad[3, 5]), []
    for step in (1e-2, -1e-2):
        weights.data[3, 5] += step
        values.append(sum(float((one * other).sum()) for one, other in zip(read(), directions, strict=True)))
        weights.data[3, 5] -= step
    assert gradient == pytest.approx((values[0] - values[1]) / 2e-2, rel=0.05, abs=1e-3)


def test_training_reaches_the_transformer(make):
    nlp = make(training=TRAINING)
    examples = start(nlp)
    before = weights_of(nlp).detach().clone()
    frozen = retriever_of(nlp).retriever.encoder.model.state_dict()["embeddings.word_embeddings.weight"].clone()
    losses = [one["concept_retriever"] for one in train(nlp, examples, steps=20)]
    assert losses[-1] < 0.7 * losses[0]
    assert not weights_of(nlp).equal(before)
    ranked = [doc._.concepts for doc in nlp.pipe(TEXTS)]
    assert [of_doc[0].concept_id if of_doc else None for of_doc in ranked] == IDS
    assert retriever_of(nlp).retriever.encoder.model.embeddings.word_embeddings.weight.equal(frozen)


def test_the_grad_factor_counts(make):
    nlp = make(training=TRAINING, grad_factor=0.0)
    examples = start(nlp)
    before = weights_of(nlp).detach().clone()
    assert train(nlp, examples, steps=2)[0]["concept_retriever"] > 0
    assert weights_of(nlp).equal(before)


@pytest.mark.parametrize("training", [TRAINING, None])
def test_others_are_trained_by_the_same_transformer(make, training):
    """The last to listen takes the gradients of all back; the retriever has to, though it is not trained itself."""
    gradients = []
    for place in ("before", "after"):
        nlp = make(training=training, **{place: ["tagger"]})
        losses = train(nlp, start(nlp), steps=3)
        assert losses[-1]["tagger"] > 0
        gradients.append(weights_of(nlp).grad.numpy())  # of the last step
    assert np.abs(gradients[0]).max() > 1e-4
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-3, abs=1e-5)


def test_what_is_held_out_is_read_but_not_trained_on(make):
    nlp = make(training={**TRAINING, "held_out": 0.5, "seed": 5}, signals=["document", "prior"])
    examples = start(nlp)
    nlp.update(examples, sgd=Adam(1e-3))
    retriever = retriever_of(nlp)
    held_out = retriever._trainer.held_out.values()
    assert 0 < len(held_out) < len(TEXTS)
    assert retriever.retriever.weights is not None
    assert all(one.doc._.trf_data is None for one in held_out)  # it is large
    nlp(TEXTS[0])


def test_a_frozen_transformer_has_to_annotate(make):
    nlp = make(training=TRAINING)
    examples = start(nlp)
    before = weights_of(nlp).detach().clone()
    with pytest.raises(SapbertError, match=r"E647.*annotating components"):
        nlp.update(examples, sgd=Adam(1e-3), exclude=["transformer"])
    for _ in range(2):
        losses = nlp.update(examples, sgd=Adam(1e-3), exclude=["transformer"], annotates=["transformer"])
        assert losses["concept_retriever"] > 0
    assert weights_of(nlp).equal(before)


def test_a_batch_without_text(make):
    nlp = make(training=TRAINING)
    start(nlp)
    empty = Example(nlp.make_doc(""), nlp.make_doc(""))
    assert nlp.update([empty], sgd=Adam(1e-3))["concept_retriever"] == 0.0


# --- what is saved


@pytest.mark.parametrize("copy", ["disk", "bytes", "pickle"])
def test_what_was_trained_survives(make, tmp_path, copy):
    nlp = make(training=TRAINING)
    examples = start(nlp)
    train(nlp, examples, steps=3)
    expected = [content(doc) for doc in nlp.pipe(TEXTS)]
    if copy == "disk":
        nlp.to_disk(tmp_path)
        again = spacy.load(tmp_path)
    elif copy == "bytes":
        again = make(training=TRAINING).from_bytes(nlp.to_bytes())
    else:
        again = pickle.loads(pickle.dumps(nlp))
    assert [content(doc) for doc in again.pipe(TEXTS)] == expected
    assert "concept_retriever" in again.get_pipe("transformer").listening_components
    assert not (tmp_path / "concept_retriever" / "document_encoder").exists()
    before = weights_of(again).detach().clone()
    assert train(again, examples_of(again), steps=2)[0]["concept_retriever"] > 0
    assert not weights_of(again).equal(before)


def test_two_processes(make):
    nlp = make()
    start(nlp)
    expected = [content(doc) for doc in nlp.pipe(TEXTS)]
    assert [content(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=2)] == expected


# --- spaCy's own loop


def test_spacy_train(make, tmp_path):
    """The config as users run it, with the component's own encoder replaced by the pipeline's transformer."""
    nlp = make(training=TRAINING)
    references = [example.reference for example in examples_of(nlp)] * 2
    DocBin(docs=references, store_user_data=True).to_disk(tmp_path / "train.spacy")
    config = Config().from_disk(CONFIG, interpolate=False)
    config["nlp"]["pipeline"] = nlp.pipe_names
    config["components"] = nlp.config["components"]
    config["paths"].update(train=str(tmp_path / "train.spacy"), dev=str(tmp_path / "train.spacy"))
    config["training"].update(max_steps=12, eval_frequency=6)
    config["training"]["optimizer"]["learn_rate"].update(initial_rate=3e-3, warmup_steps=1)
    config.to_disk(tmp_path / "shared.cfg")
    train_by_config(tmp_path / "shared.cfg", tmp_path / "out")
    last = spacy.load(tmp_path / "out" / "model-last")
    assert last.meta["performance"]["concepts_r"] > 0.9
    assert last(TEXTS[2])._.concepts[0].concept_id == IDS[2]
    transformer = last.get_pipe("transformer").model.transformer
    encoder = retriever_of(last).retriever.encoder.model
    assert not transformer.embeddings.word_embeddings.weight.equal(encoder.embeddings.word_embeddings.weight)
