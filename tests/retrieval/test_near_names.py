import numpy as np
import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.retrieval.concepts import ConceptSet, LikelyNames, NearNames
from spacy_sapbert.vectors.faiss_index import open_faiss
from spacy_sapbert.vectors.flat import cached_name_vectors

TABLE = {"chill": {"cold": 0.9, "Common Cold": 0.8, "fits": 0.1}, "spasm": {"fits": 0.7}}


def concepts_of(concepts, pairs):
    texts, positions, cosines = pairs
    return sorted(
        (int(text), concepts.ids[position], round(float(cosine), 2))
        for text, position, cosine in zip(texts, positions, cosines, strict=True)
    )


def test_names_become_concepts(table_index, concepts):
    near_names = NearNames(table_index(TABLE), concepts, 2)
    assert near_names([]) == {}
    assert [len(part) for part in near_names.concepts_with([])] == [0, 0, 0]
    near = near_names(["spasm", "chill"])
    assert concepts_of(concepts, near_names.concepts_with([near["chill"], near["spasm"]])) == [
        (0, "D003080", 0.9), (0, "D003139", 0.8), (0, "D003139", 0.9), (1, "D012640", 0.7),
    ]  # fmt: skip


def test_names_can_be_left_out(table_index, concepts):
    index = table_index(TABLE)
    near_names = NearNames(index, concepts, 3)
    near = near_names(["chill"])
    without = {index.rows["cold"], index.rows["fits"]}
    assert concepts_of(concepts, near_names.concepts_with([near["chill"]], without)) == [(0, "D003139", 0.8)]


def test_only_names_of_the_set_are_asked_for(table_index, small_kb):
    concepts = ConceptSet(small_kb, ["D012640"])
    near_names = NearNames(table_index(TABLE), concepts, 10)
    assert near_names.n == 2
    assert concepts_of(concepts, near_names.concepts_with(list(near_names(["chill"]).values()))) == [
        (0, "D012640", 0.1)
    ]


def test_a_text_is_encoded_once(table_index, concepts, monkeypatch):
    index = table_index(TABLE)
    near_names = NearNames(index, concepts)
    near_names(["chill", "spasm", "chill"])
    first = near_names(["chill"])["chill"]
    near_names(["spasm", "other"])
    assert index.encoded == [["chill", "spasm"], ["other"]]
    monkeypatch.setattr("spacy_sapbert.retrieval.concepts.CACHE_SIZE", 1)
    near_names(["more"])  # only the last is kept
    assert np.array_equal(near_names(["chill"])["chill"][0], first[0])
    assert index.encoded[2:] == [["more"], ["chill"]]


def test_a_name_is_like_itself_in_any_index(small_kb, concepts, tiny_encoder):
    vectors = cached_name_vectors(small_kb, TransformerEncoder(str(tiny_encoder)))
    rough = open_faiss(vectors, small_kb, "SQfp16")
    text = "carcinoma of the breast"
    estimate = rough._index.search(rough.encode([text]), 1)[0][0, 0]
    assert abs(estimate - 1) > 1e-5
    ((_, cosines),) = NearNames(rough, concepts, 3)([text]).values()
    assert cosines[0] == pytest.approx(1, abs=1e-6)


LIKELY = {
    "cold": {"cold": 1.0, "Common Cold": 0.7},
    "the common cold": {"Common Cold": 0.9, "cold": 0.6, "fits": 0.5},
    "zygote": {"fits": 0.99},
}


@pytest.fixture
def likely_names(table_index, concepts, ngrams):
    return LikelyNames(table_index(LIKELY), concepts, ngrams, 3)


def by_name(index, near):
    names = {row: name for name, row in index.rows.items()}
    return {
        text: {names[int(row)]: round(float(cosine), 2) for row, cosine in zip(*pair, strict=True) if row >= 0}
        for text, pair in near.items()
    }


def test_only_what_looks_like_a_name_is_encoded(likely_names):
    texts = ["cold", "the common cold", "zygote", "cold"]
    near = likely_names.find(texts, set(texts))
    found = by_name(likely_names.vectors, near)
    assert list(found) == ["cold", "the common cold"]  # nothing is spelled like "zygote"
    assert next(iter(found["cold"].items())) == ("cold", 1.0)
    # the cosines are those of the vectors, and "fits" has other n-grams
    assert {name: cosine for name, cosine in found["the common cold"].items() if cosine} == {
        "Common Cold": 0.9, "cold": 0.6,
    }  # fmt: skip
    assert next(iter(found["the common cold"])) == "Common Cold"
    assert likely_names.vectors.encoded == [["cold", "the common cold"]]


def test_other_texts_are_only_looked_up(likely_names):
    near = likely_names.find(["cold", "the common cold"], ())
    assert list(near) == ["cold"]
    assert near["cold"][1][0] == 1
    later = likely_names.find(["cold", "the common cold"], {"the common cold"})
    assert list(later) == ["cold", "the common cold"]  # it was not decided before


def test_a_text_without_a_likely_name_is_remembered(likely_names, monkeypatch):
    assert likely_names.find(["zygote"], {"zygote"}) == {}
    monkeypatch.setattr(likely_names, "_find", None)
    assert likely_names.find(["zygote"], {"zygote"}) == {}


def test_likely_names_of_a_set_of_concepts(table_index, small_kb, ngrams):
    concepts = ConceptSet(small_kb, ["D012640"])
    likely_names = LikelyNames(table_index(LIKELY), concepts, ngrams)
    assert likely_names.find(["cold"], {"cold"}) == {}  # the name of another concept
