import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from spacy_sapbert.encoders import ngrams
from spacy_sapbert.encoders.ngrams import NgramEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS, biosyn

NAMES = ["Breast Cancer", "breast-cancer", "Cancer, Breast", "β-thalassemia (minor)", "IL-2", "??", "\u2028x"]
TEXTS = ["breast  cancers", "BREAST CANCER", "thalassemia", "il 2", "qqq", ""]


@pytest.fixture(scope="module")
def encoder():
    return NgramEncoder.fit(NAMES)


def test_vectors_are_those_of_sklearn(encoder):
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2))
    normalize = TEXT_NORMALIZERS["biosyn+greek"]
    vectorizer.fit(sorted({normalize(name) for name in NAMES} - {""}))
    expected = vectorizer.transform([normalize(text) for text in TEXTS])
    assert encoder.ngrams == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_allclose(encoder.encode(TEXTS).toarray(), expected.toarray(), atol=1e-6)


def test_weights_by_hand():
    """idf = ln((1 + names) / (1 + names with the n-gram)) + 1; "ab" and "AB" are one name."""
    encoder = NgramEncoder.fit(["ab", "AB", "b"])
    assert encoder.ngrams == ["a", "ab", "b"]
    rare, frequent = np.log(3 / 2) + 1, 1.0
    np.testing.assert_allclose(encoder.idf, [rare, rare, frequent])
    np.testing.assert_allclose(encoder.encode(["B"]).toarray(), [[0, 0, 1]])
    length = np.sqrt(2 * rare**2 + frequent**2)
    np.testing.assert_allclose(encoder.encode(["ab"]).toarray()[0], np.array([rare, rare, frequent]) / length, 1e-6)


def test_what_has_no_known_ngram_has_a_zero_row(encoder):
    assert encoder.encode(["", "-", "жж", "qq"]).nnz == 0


@given(st.lists(st.text("aBc -я", max_size=8), min_size=1, max_size=5))
def test_rows_have_unit_length_or_none(texts):
    encoder = NgramEncoder.fit(["Ab", "b c", "a"])
    lengths = np.sqrt(encoder.encode(texts).power(2).sum(axis=1)).A1
    known = [bool(set(biosyn(text)) - {"я"}) for text in texts]
    np.testing.assert_allclose(lengths, np.array(known, dtype=float), atol=1e-6)


@given(st.lists(st.sampled_from([*NAMES, *TEXTS, "aaaa bb"]), min_size=5, max_size=8))
def test_a_text_alone_has_exactly_the_vector_that_it_has_among_others(texts):
    encoder = NgramEncoder.fit(NAMES)
    alone = [encoder.encode([text]).toarray()[0].tolist() for text in texts]
    assert alone == encoder.encode(texts).toarray().tolist()


@pytest.mark.parametrize("names", [NAMES, ["-"]])
def test_saved_and_loaded(tmp_path, names):
    encoder = NgramEncoder.fit(names, ngram_range=(2, 3), text_normalizer="lower")
    encoder.save(tmp_path / "new" / "ngrams")
    loaded = NgramEncoder.load(tmp_path / "new" / "ngrams")
    assert loaded.fingerprint == encoder.fingerprint
    assert (loaded.ngram_range, loaded.text_normalizer) == ((2, 3), "lower")
    assert (loaded.encode(TEXTS) != encoder.encode(TEXTS)).nnz == 0


def test_what_changes_the_fingerprint(encoder):
    others = [
        NgramEncoder.fit([*NAMES, "more"]),
        NgramEncoder.fit(NAMES[:-1]),
        NgramEncoder.fit(NAMES, ngram_range=(1, 3)),
        NgramEncoder.fit(NAMES, text_normalizer="lower"),
    ]
    assert len({other.fingerprint for other in [encoder, *others]}) == 5


@pytest.mark.parametrize("ngram_range", [(0, 1), (2, 1), (1, 4), (4, 4)])
def test_lengths_that_are_not_possible(encoder, ngram_range):
    with pytest.raises(SapbertError, match=rf"E406.*ngram_range.*{ngram_range[0]}, {ngram_range[1]};"):
        NgramEncoder.fit(NAMES, ngram_range=ngram_range)
    with pytest.raises(SapbertError, match="E406"):
        NgramEncoder(encoder.ngrams, encoder.idf, ngram_range, "lower")


ANY_TEXT = st.lists(st.text("aAbβ é漢😀\u2028\t-", max_size=8), min_size=1, max_size=12)


@given(ANY_TEXT, ANY_TEXT, st.sampled_from([(1, 1), (1, 2), (1, 3), (2, 3), (3, 3)]), st.integers(1, 5))
def test_any_texts_as_sklearn_reads_them(names, texts, ngram_range, names_per_chunk):
    forms = {TEXT_NORMALIZERS["lower"](name) for name in names} - {""}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "NAMES_PER_CHUNK", names_per_chunk)
        patch.setattr(ngrams, "MOST_RECENT", names_per_chunk)
        encoder = NgramEncoder.fit(names, ngram_range=ngram_range, text_normalizer="lower")
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=ngram_range, lowercase=False)
    try:
        vectorizer.fit(sorted(forms))
    except ValueError:  # there is no n-gram
        assert encoder.ngrams == []
        return
    assert encoder.ngrams == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_allclose(encoder.idf, vectorizer.idf_)
    expected = vectorizer.transform([TEXT_NORMALIZERS["lower"](text) for text in texts]).toarray()
    np.testing.assert_allclose(encoder.encode(texts).toarray(), expected, atol=1e-6)


def test_greek_letters_are_their_names():
    encoder = NgramEncoder.fit(["alpha-thalassemia", "β-thalassemia", "TNFα"])
    assert encoder.text_normalizer == "biosyn+greek"
    letters = encoder.encode(["α-thalassemia", "β-Thalassemia", "TNF\U0001d6fc"]).toarray()
    names = encoder.encode(["alpha-thalassemia", "beta-thalassemia", "TNFalpha"]).toarray()
    np.testing.assert_array_equal(letters, names)
    assert not any("α" in ngram or "β" in ngram for ngram in encoder.ngrams)


def test_a_form_without_greek_keeps_the_letters(tmp_path):
    encoder = NgramEncoder.fit(["α-thalassemia", "alpha"], text_normalizer="biosyn")
    encoder.save(tmp_path)
    for one in (encoder, NgramEncoder.load(tmp_path)):
        assert "α" in one.ngrams
        vectors = one.encode(["α-thalassemia", "alpha-thalassemia"])
        assert (vectors[0] @ vectors[1].T).toarray()[0, 0] < 0.999
