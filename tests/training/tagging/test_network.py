import pickle

import numpy as np
import pytest
import spacy
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import fix_random_seed, registry
from spacy.vectors import Vectors
from thinc.api import chain, ragged2list

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.training.tagging.network import gazetteer_embed, typed_tagger
from spacy_sapbert.types import Name, Record

WIDTH = 16
INNER = {
    "@architectures": "spacy.MultiHashEmbed.v2", "width": WIDTH, "attrs": ["SHAPE"], "rows": [200],
    "include_static_vectors": False,
}  # fmt: skip
CONFIG = {
    "model": {
        "tok2vec": {
            "@architectures": "spacy.Tok2Vec.v2",
            "embed": {
                "@architectures": "spacy-sapbert.GazetteerEmbed.v1", "width": WIDTH, "spans_key": "names",
                "labels": ["Disease", "Chemical"], "embed": INNER,
            },
            "encode": {
                "@architectures": "spacy.MaxoutWindowEncoder.v2", "width": WIDTH, "depth": 1, "window_size": 1,
                "maxout_pieces": 2,
            },
        }
    }
}  # fmt: skip
TRAIN = ("colorectal cancer", "mucoviscidosis", "breast cancer")
FRAMES = ("Here {} is reported .", "Some {} for all", "We saw {} again", "{} it was", "They saw {}")
PLAIN = ("We saw two tables again", "Some other things for all", "Here much more is reported .", "No name it was")


@pytest.fixture
def embed():
    fix_random_seed(0)
    inner = registry.resolve({"embed": INNER})["embed"]
    return gazetteer_embed(inner, WIDTH, ["Disease", "Chemical"])


def marked(words, *spans):
    doc = Doc(spacy.blank("en").vocab, words=words.split())
    doc.spans["names"] = [Span(doc, start, end, label=label) for start, end, label in spans]
    return doc


def vectors(model, *docs):
    model.initialize(X=list(docs))
    return model.predict(list(docs))


WORDS = "the cystic fibrosis of lungs"


@pytest.mark.parametrize(
    ("spans", "others", "different"),
    [
        ([], [(1, 3, "Disease")], [1, 2]),  # tokens in names have other vectors
        ([(1, 3, "Disease")], [(1, 3, "Disease"), (2, 3, "Disease")], []),  # the longest of a type counts
        ([(1, 3, "Disease")], [(1, 3, "Disease"), (2, 3, "Chemical")], [2]),  # each type has its own feature
        ([], [(1, 3, "Sign")], []),  # names of other types are left out
    ],
)
def test_vectors_of_tokens_that_differ(embed, spans, others, different):
    first, second = vectors(embed, marked(WORDS, *spans), marked(WORDS, *others))
    assert first.shape == (5, WIDTH)
    assert np.flatnonzero(np.abs(first - second).max(axis=1) > 1e-6).tolist() == different


def test_place_and_label_count(embed):
    shapes = "aaaa aaaa aaaa"
    disease, chemical, single = vectors(
        embed, marked(shapes, (0, 3, "Disease")), marked(shapes, (0, 3, "Chemical")), marked(shapes, (0, 1, "Disease"))
    )
    for other in (disease[1], disease[2], chemical[0], single[0]):
        assert np.abs(disease[0] - other).max() > 1e-6


def test_one_type_is_enough():
    inner = registry.resolve({"embed": INNER})["embed"]
    plain, with_name = vectors(gazetteer_embed(inner, WIDTH, ["Sign"]), marked(WORDS), marked(WORDS, (1, 3, "Sign")))
    assert np.abs(plain - with_name).max() > 1e-6


def test_the_hashes_of_positions_are_those_of_version_1_0(embed):
    embed.initialize(X=[marked(WORDS)])
    numbers = {layer.name: layer.id for layer in embed.walk()}
    seeds = [layer.attrs["seed"] for layer in embed.walk() if "seed" in layer.attrs]
    assert max(seeds) < numbers["gazetteer_features"]


def test_an_empty_document_has_no_vectors(embed):
    empty, _ = vectors(embed, marked(""), marked(WORDS))
    assert empty.shape == (0, WIDTH)


def test_words_are_hidden_in_training_only():
    inner = registry.resolve({"embed": {**INNER, "attrs": ["NORM", "SHAPE"], "rows": [200, 200]}})["embed"]
    embed = gazetteer_embed(inner, WIDTH, ["Disease"], word_dropout=1.0)
    first, second = vectors(embed, marked("lung rose"), marked("cold bath"))
    assert np.abs(first - second).max() > 1e-6
    (first, second), _ = embed.begin_update([marked("lung rose"), marked("cold bath")])
    np.testing.assert_array_equal(first, second)  # the shapes are the same


def make_nlp(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": kb, "spans_key": "names"})
    nlp.add_pipe("ner", config=CONFIG)
    return nlp


def example_of(nlp, frame, name):
    text = frame.format(name)
    start = text.find(name)
    entities = [(start, start + len(name), "DISEASE")] if start >= 0 else []
    return Example.from_dict(nlp.make_doc(text), {"entities": entities})


def train(nlp, names, steps=50):
    fix_random_seed(0)
    examples = [example_of(nlp, frame, name) for frame in (*FRAMES, *PLAIN) for name in names]
    with nlp.select_pipes(enable="ner"):
        optimizer = nlp.initialize(lambda: examples)
    for _ in range(steps):
        nlp.update(examples, sgd=optimizer, annotates=["concept_matcher"], exclude=["concept_matcher"])
    return nlp


@pytest.fixture(scope="module")
def trained(small_kb):
    return train(make_nlp(str(small_kb.path)), TRAIN)


def entities(nlp, text):
    return [(ent.text, ent.label_) for ent in nlp(text).ents]


def test_an_ner_finds_names_that_it_never_saw(trained):
    assert entities(trained, "We saw cystic fibrosis again") == [("cystic fibrosis", "DISEASE")]
    assert entities(trained, "We saw cystic cabinets again") == []


def test_another_vocabulary_can_be_put_under_it(trained, tmp_path):
    record = Record("X1", (Name("purple gizmo", "preferred", "test"),), types=("Disease",))
    kb = build_knowledge_base([record], tmp_path / "other.kb")
    other = make_nlp("starter").from_bytes(trained.to_bytes())
    assert entities(other, "We saw purple gizmo again") == []
    other.get_pipe("concept_matcher").set_kb(str(kb.path))
    assert entities(other, "We saw purple gizmo again") == [("purple gizmo", "DISEASE")]


def test_it_stays_so_when_saved_pickled_and_in_other_processes(trained, tmp_path):
    texts = ["We saw cystic fibrosis again", "Some tables for all", "gastric cancer it was"]
    expected = [entities(trained, text) for text in texts]
    assert expected[2]
    trained.to_disk(tmp_path)
    for copy in (
        spacy.load(tmp_path),
        pickle.loads(pickle.dumps(trained)),
        make_nlp("starter").from_bytes(trained.to_bytes()),
    ):
        assert [entities(copy, text) for text in texts] == expected
    docs = list(trained.pipe(texts, n_process=2))
    assert [[(ent.text, ent.label_) for ent in doc.ents] for doc in docs] == expected
    read = DocBin().from_bytes(DocBin(docs=docs, store_user_data=True).to_bytes()).get_docs(trained.vocab)
    assert [[(ent.text, ent.label_) for ent in doc.ents] for doc in read] == expected


def test_without_the_matcher_nothing_is_learnt(small_kb):
    nlp = make_nlp(str(small_kb.path))
    example = Example.from_dict(nlp.make_doc("asthma"), {"entities": [(0, 6, "DISEASE")]})
    with nlp.select_pipes(enable="ner"):
        nlp.initialize(lambda: [example])
    with pytest.raises(SapbertError, match=r"E643.*doc\.spans\['names'\]"):
        nlp.update([example], exclude=["concept_matcher"])


def test_without_the_matcher_nothing_is_found(trained, tmp_path):
    trained.to_disk(tmp_path)
    alone = spacy.load(tmp_path, exclude=["concept_matcher"])
    with pytest.raises(SapbertError, match="E643"):
        alone("gastric cancer it was")


def test_vectors_of_known_words_are_those_of_spacy():
    nlp = spacy.blank("en")
    table = np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32)
    floret = {"strings": nlp.vocab.strings, "mode": "floret", "minn": 3, "maxn": 4, "hash_count": 2, "attr": "LOWER"}
    nlp.vocab.vectors = Vectors(data=table, **floret)
    docs = list(map(nlp.make_doc, ["Gout and asthma", "", "asthma and fever and gout"]))
    own, expected = (chain(StaticVectors(4), ragged2list()) for _ in range(2))
    typed_tagger(own)
    for layer in (own, expected):
        layer.initialize(X=docs)
    own.layers[0].set_param("W", expected.layers[0].get_param("W"))
    for given in (docs, docs[:1], docs[1:2], []):
        for vectors, others in zip(own.predict(given), expected.predict(given), strict=True):
            assert np.array_equal(vectors, others)
    nlp.vocab.vectors = Vectors(data=-table, **floret)
    assert np.array_equal(own.predict(docs)[0], expected.predict(docs)[0])
