"""A table of sub-word vectors: sums by hand, files, damage, and that it is trained like other encoders."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from spacy_sapbert.encoders.compression import describe
from spacy_sapbert.encoders.encoder import as_transformer, open_encoder
from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS

NAMES = ["Heart attack", "attack heart", "myocardial infarction", "α-synuclein", "gout", "gout"]


@pytest.fixture(scope="module")
def table():
    return StaticEncoder(dim=8, words=40, ngrams=60, seed=3)


@pytest.fixture
def folder(table, tmp_path):
    table.save(tmp_path / "table")
    return tmp_path / "table"


def test_a_vector_is_the_sum_of_the_rows_scaled_to_length_1(table):
    weights = table.model.weight.detach().numpy()
    for name, vector in zip(NAMES, table.encode(NAMES), strict=True):
        rows, _ = table.subwords([TEXT_NORMALIZERS["biosyn+greek"](name)])
        total = weights[rows].sum(0)
        np.testing.assert_allclose(vector, total / np.linalg.norm(total), atol=1e-6)


def test_texts_with_the_same_words_have_the_same_vector_alone_and_in_a_batch(table):
    vectors = table.encode(NAMES)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[4], vectors[5])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    np.testing.assert_array_equal(vectors[2], table.encode(NAMES[2:3])[0])
    assert table.encode([]).shape == (0, 8)


def test_a_text_without_words_has_a_vector_of_zeros(table):
    np.testing.assert_array_equal(table.encode(["", " \n", "gout"]).any(1), [False, False, True])


def test_many_names_are_encoded_as_few_are():
    table = StaticEncoder(dim=4, words=30, ngrams=30)
    names = [f"name {number}" for number in range(5000)]  # more than are encoded at once
    np.testing.assert_allclose(table.encode(names)[4990:], table.encode(names[4990:]), atol=1e-6)


def test_the_folder_opens_with_equal_vectors(table, folder):
    opened = open_encoder(str(folder))
    assert isinstance(opened, StaticEncoder)
    assert opened is open_encoder(str(folder))
    assert opened.fingerprint == table.fingerprint
    assert opened.settings == table.settings
    np.testing.assert_array_equal(opened.encode(NAMES), table.encode(NAMES))


def test_the_fingerprint_shows_other_weights_and_another_normal_form(table):
    shape = {"dim": 8, "words": 40, "ngrams": 60}
    others = [StaticEncoder(**shape, seed=4), StaticEncoder(**shape, seed=3, text_normalizer="lower")]
    assert len({other.fingerprint for other in [table, *others]}) == 3


def test_the_description_has_size_and_settings(folder):
    described = describe(StaticEncoder(str(folder)))
    assert described["architecture"] == "StaticEncoder"
    assert (described["dim"], described["words"], described["ngrams"]) == (8, 40, 60)
    assert described["weight_bytes"] > 100 * (8 + 4)
    assert json.dumps(described)


def test_a_table_that_does_not_fit_its_settings_is_refused(folder):
    path = folder / "spacy_sapbert.json"
    path.write_text(path.read_text().replace('"dim": 8', '"dim": 9'))
    with pytest.raises(SapbertError, match="shape"):
        StaticEncoder(str(folder)).encode(NAMES)


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"\xff" * 16])
def test_a_damaged_table_is_a_named_error(folder, content):
    (folder / "table.safetensors").write_bytes(content)
    with pytest.raises(SapbertError, match=r"E121|E302"):
        StaticEncoder(str(folder)).encode(NAMES)


@pytest.mark.parametrize("settings", [{}, {"dim": "x"}, {"dim": 8, "words": 40, "ngrams": 60, "sizes": 3}])
def test_broken_settings_are_a_named_error(folder, settings):
    (folder / "spacy_sapbert.json").write_text(json.dumps({"static": settings}))
    with pytest.raises(SapbertError, match="E302"):
        StaticEncoder(str(folder))


@pytest.mark.parametrize(
    "setting", [{"words": 0}, {"words": -5}, {"dim": 0}, {"sizes": []}, {"sizes": [1]}, {"sizes": [99]}]
)
def test_impossible_numbers_are_refused(folder, setting):
    with pytest.raises(SapbertError, match=next(iter(setting))):
        StaticEncoder(**setting)
    path = folder / "spacy_sapbert.json"
    content = json.loads(path.read_text())
    content["static"] |= setting
    path.write_text(json.dumps(content))
    with pytest.raises(SapbertError, match=next(iter(setting))):
        StaticEncoder(str(folder))


@pytest.mark.parametrize(("rows", "factor", "reason"), [(np.int8, np.nan, "not numbers"), (np.float32, 1, "float32")])
def test_tables_with_other_numbers_are_refused(folder, rows, factor, reason):
    tensors = {"rows": np.ones((100, 8), rows), "factors": np.full((100, 1), factor, np.float32)}
    save_file(tensors, folder / "table.safetensors")
    with pytest.raises(SapbertError, match=f"E121.*{reason}"):
        StaticEncoder(str(folder)).encode(NAMES)


def test_another_encoder_is_not_a_table():
    with pytest.raises(SapbertError, match="E305"):
        StaticEncoder("starter-transformer")
    with pytest.raises(SapbertError, match="E301"):
        StaticEncoder("no/such folder")


def test_a_long_text_takes_little_memory(table, monkeypatch):
    vector = table.encode(["heart attack " * 20])
    monkeypatch.setattr("spacy_sapbert.encoders.static._FEW_ROWS", 8)
    np.testing.assert_allclose(table.encode(["heart attack " * 20]), vector, atol=1e-6)


def test_what_needs_a_transformer_says_so(table):
    with pytest.raises(SapbertError, match="starter-transformer"):
        as_transformer(table, "Training")


def test_a_trained_table_is_saved_with_its_weights(table, tmp_path):
    trained = StaticEncoder(dim=8, words=40, ngrams=60, seed=3)
    before = trained.encode(NAMES)
    vectors = trained.embed_by_length(trained.tokenize(["heart attack", "gout"]))
    (1 - vectors[0] @ vectors[1]).backward()
    assert trained.model.weight.grad.is_sparse
    trained.model.weight.data -= 0.5 * trained.model.weight.grad.to_dense()
    trained.replace(trained.model)
    trained.record("self-alignment", steps=1)
    trained.save(tmp_path / "trained")
    opened = StaticEncoder(str(tmp_path / "trained"))
    after = opened.encode(NAMES)
    assert after[0] @ after[4] > before[0] @ before[4]
    assert opened.trained == {"history": [{"step": "self-alignment", "steps": 1}]}
    with_gradients = trained.embed_by_length(trained.tokenize(["gout"])).detach().numpy()
    np.testing.assert_allclose(with_gradients, opened.encode(["gout"]), atol=0.01)  # int8 rounds


def test_a_pooling_is_refused(folder):
    with pytest.raises(SapbertError, match=r"E406.*no pooling"):
        open_encoder(str(folder), pooling="mean")
