"""Long documents are scored in parts, with the same scores."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Span
from spacy.util import registry

from spacy_sapbert.training.tagging.network import scores_of, set_number_of_labels

WIDTH = 16
TOK2VEC = {
    "@architectures": "spacy.Tok2Vec.v2",
    "embed": {
        "@architectures": "spacy-sapbert.GazetteerEmbed.v1", "width": WIDTH, "spans_key": "names",
        "labels": ["Disease", "Gene"],
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2", "width": WIDTH, "attrs": ["NORM", "SHAPE"],
            "rows": [200, 200], "include_static_vectors": False,
        },
    },
    "encode": {
        "@architectures": "spacy.MaxoutWindowEncoder.v2", "width": WIDTH, "depth": 3, "window_size": 1,
        "maxout_pieces": 2,
    },
}  # fmt: skip
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH, "upstream": "*"}


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


@pytest.fixture(scope="module")
def network(nlp):
    config = {"model": {"@architectures": "spacy-sapbert.TypedTagger.v1", "tok2vec": TOK2VEC, "members": 2}}
    network = registry.resolve(config)["model"]
    set_number_of_labels(network, 2)
    network.initialize(X=[document(nlp, 3)])
    rng = np.random.default_rng(0)
    for layer in network.walk():
        for name in layer.param_names:
            layer.set_param(name, rng.normal(0, 0.3, layer.get_param(name).shape).astype(np.float32))
    network.predict([document(nlp, 3)])
    network.attrs["has_learnt"] = True
    return network


def document(nlp, n_words):
    doc = nlp.make_doc(" ".join(f"{'Don’t' if i % 7 == 0 else 'word'}{i % 11} gonna" for i in range(n_words)))
    places = [(start, min(start + 3, len(doc))) for start in range(0, len(doc), 5)]
    doc.spans["names"] = [Span(doc, start, end, ("Disease", "Gene")[start % 2]) for start, end in places]
    return doc


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr("spacy_sapbert.training.tagging.network.MOST", 20)
    monkeypatch.setattr("spacy_sapbert.training.tagging.network.AROUND", 8)


@pytest.fixture
def scored(network, monkeypatch):
    """How many tokens were scored together, for each call of the network."""
    sizes, predict = [], type(network).predict

    def counted(self, docs):
        sizes.append(sum(map(len, docs)))
        return predict(self, docs)

    monkeypatch.setattr(type(network), "predict", counted)
    return sizes


@pytest.mark.usefixtures("small")
def test_parts_have_the_scores_of_the_whole(nlp, network, scored):
    docs = [document(nlp, n) for n in (1, 0, 9, 10, 11, 100, 2)]
    expected = [network.predict([docs[-1], doc])[1] for doc in docs]
    scored.clear()
    for scores, whole in zip(scores_of(network, docs), expected, strict=True):
        assert scores.shape == whole.shape
        np.testing.assert_allclose(scores, whole, atol=1e-5)
    assert max(scored) <= 20 + 2 * 8


@pytest.mark.usefixtures("small")
def test_many_short_documents_are_scored_in_batches(nlp, network, scored):
    docs = [document(nlp, 3) for _ in range(20)]
    assert len(scores_of(network, docs)) == 20
    assert max(scored) <= 20
    assert len(scored) < 20
    assert scores_of(network, []) == []
    docs = [document(nlp, n) for n in (0, 20, 0)]
    assert [scores.shape[0] for scores in scores_of(network, docs)] == list(map(len, docs))


@pytest.mark.usefixtures("small")
def test_a_network_that_listens_reads_whole_documents(nlp, scored):
    config = {"model": {"@architectures": "spacy-sapbert.TypedTagger.v1", "tok2vec": LISTENER, "members": 1}}
    network = registry.resolve(config)["model"]
    set_number_of_labels(network, 1)
    docs = [document(nlp, 30), document(nlp, 2)]
    for doc in docs:
        doc.tensor = np.ones((len(doc), WIDTH), dtype=np.float32)
    network.initialize(X=docs)
    scored.clear()
    assert list(map(len, scores_of(network, docs))) == list(map(len, docs))
    assert scored == [len(doc) for doc in docs]
