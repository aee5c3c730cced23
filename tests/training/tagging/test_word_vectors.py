import pickle

import numpy as np
import pytest
import spacy
from spacy.training.initialize import load_vectors_into_model
from spacy.vectors import Vectors

from spacy_sapbert.training.tagging.network import typed_tagger
from spacy_sapbert.training.tagging.word_vectors import STEP, Int8Vectors, readable, to_int8

CONFIG = {"nlp": {"vectors": {"@vectors": "spacy-sapbert.Int8Vectors.v1"}}}
TABLE = np.random.default_rng(0).integers(-127, 128, (50, 8)).astype(np.int8)
FLORET = {"mode": "floret", "minn": 3, "maxn": 4, "hash_count": 2, "attr": "LOWER"}
TEXT = "Gout and asthma, and \n Gout"


@pytest.fixture
def nlp():
    nlp = spacy.blank("en", config=CONFIG)
    nlp.vocab.vectors = Int8Vectors(data=TABLE, **FLORET)
    return nlp


def vectors(nlp):
    return np.stack([token.vector for token in nlp(TEXT)])


def expected():
    nlp = spacy.blank("en")
    nlp.vocab.vectors = Vectors(data=TABLE.astype(np.float32) * STEP, **FLORET)
    return vectors(nlp)


def saved(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "copy",
    [
        lambda nlp, path: nlp,
        lambda nlp, path: spacy.load(saved(nlp, path)),
        lambda nlp, path: spacy.blank("en", config=CONFIG).from_bytes(nlp.to_bytes()),
        lambda nlp, path: pickle.loads(pickle.dumps(nlp)),
    ],
    ids=["itself", "to_disk", "to_bytes", "pickle"],
)
def test_vectors_are_those_of_a_table_of_32_bits_and_stay_small(nlp, copy, tmp_path):
    copied = copy(nlp, tmp_path)
    readable(copied.vocab)
    assert np.array_equal(vectors(copied), expected())
    assert copied.vocab.vectors.data.dtype == np.int8
    assert type(copied.vocab.vectors) is Int8Vectors
    assert copied.vocab.vectors == nlp.vocab.vectors


def test_words_without_letters_have_zeros(nlp):
    assert nlp.vocab.vectors.get_batch([]).shape == (0, 8)
    assert not nlp.vocab.vectors.get_batch(["", ""]).any()


def test_vectors_of_32_bits_are_read_as_they_are(tmp_path):
    old = spacy.blank("en")
    old.vocab.vectors = Vectors(data=TABLE.astype(np.float32) * STEP, **FLORET)
    old.to_disk(tmp_path)
    new = spacy.blank("en", config=CONFIG)
    load_vectors_into_model(new, tmp_path)
    assert np.array_equal(vectors(new), expected())
    new.vocab.vectors = Int8Vectors(strings=new.vocab.strings, data=np.ones((2, 3), dtype="f"), keys=["Gout", "and"])
    assert np.array_equal(new("Gout")[0].vector, [1, 1, 1])


def test_spacy_s_own_vectors_read_a_small_table_in_a_tagger(nlp, tmp_path):
    plain = spacy.blank("en")
    load_vectors_into_model(plain, saved(nlp, tmp_path))
    layer = spacy.ml.StaticVectors(4)
    typed_tagger(layer)
    layer.initialize(X=[plain.make_doc(TEXT)])
    layer.predict([plain.make_doc(TEXT)])
    assert np.array_equal(vectors(plain), expected())


def test_a_table_is_rounded_and_few_numbers_are_cut():
    table = np.zeros((2000, 16), dtype=np.float32)
    table[0, :6] = [0.0, STEP, -0.4 * STEP, 0.6 * STEP, 100.0, -100.0]
    assert to_int8(table)[0, :6].tolist() == [0, 1, 0, 1, 127, -127]


def test_a_table_of_large_numbers_keeps_their_proportions():
    table = TABLE.astype(np.float32) * STEP
    assert np.array_equal(to_int8(table), TABLE)
    assert np.abs(to_int8(table * 20) / 127 - TABLE / np.abs(TABLE).max()).max() < 0.01
