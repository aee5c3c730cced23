import numpy as np
import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.retrieval.concept_set import ConceptSet
from spacy_sapbert.retrieval.signals.near_names import NearNames
from spacy_sapbert.vectors.faiss_index import open_faiss
from spacy_sapbert.vectors.flat import cached_name_vectors

TABLE = {"chill": {"cold": 0.9, "Common Cold": 0.8, "fits": 0.1}, "spasm": {"fits": 0.7}}


def told(concepts, pairs):
    texts, places, cosines = pairs
    return sorted(
        (int(text), concepts.ids[place], round(float(cosine), 2))
        for text, place, cosine in zip(texts, places, cosines, strict=True)
    )


def test_names_become_concepts(table_index, concepts):
    near_names = NearNames(table_index(TABLE), concepts, 2)
    near = near_names(["spasm", "chill"])
    assert told(concepts, near_names.matching_entries([near["chill"], near["spasm"]])) == [
        (0, "D003080", 0.9), (0, "D003139", 0.8), (0, "D003139", 0.9), (1, "D012640", 0.7),
    ]  # fmt: skip


def test_names_can_be_left_out(table_index, concepts):
    index = table_index(TABLE)
    near_names = NearNames(index, concepts, 3)
    near = near_names(["chill"])
    without = {index.rows["cold"], index.rows["fits"]}
    assert told(concepts, near_names.matching_entries([near["chill"]], without)) == [(0, "D003139", 0.8)]


def test_only_names_of_the_set_are_asked_for(table_index, small_kb):
    concepts = ConceptSet(small_kb, ["D012640"])
    near_names = NearNames(table_index(TABLE), concepts, 10)
    assert near_names.n == 2
    assert told(concepts, near_names.matching_entries(list(near_names(["chill"]).values()))) == [(0, "D012640", 0.1)]


def test_a_text_is_encoded_once(table_index, concepts, monkeypatch):
    index = table_index(TABLE)
    near_names = NearNames(index, concepts)
    near_names(["chill", "spasm", "chill"])
    first = near_names(["chill"])["chill"]
    near_names(["spasm", "other"])
    assert index.encoded == [["chill", "spasm"], ["other"]]
    monkeypatch.setattr("spacy_sapbert.retrieval.signals.near_names.CACHE_SIZE", 1)
    near_names(["more"])  # only the last is kept
    assert np.array_equal(near_names(["chill"])["chill"][0], first[0])
    assert index.encoded[2:] == [["more"], ["chill"]]


def test_many_texts_are_searched_in_parts(table_index, concepts, monkeypatch):
    expected = NearNames(table_index(TABLE), concepts)(["chill", "spasm", "none"])
    monkeypatch.setattr("spacy_sapbert.retrieval.signals.near_names.TEXTS_PER_BATCH", 2)
    found = NearNames(table_index(TABLE), concepts)(["chill", "spasm", "none"])
    assert {text: pair[0].tolist() for text, pair in found.items()} == {
        text: pair[0].tolist() for text, pair in expected.items()
    }


def test_no_text(table_index, concepts):
    near_names = NearNames(table_index(TABLE), concepts)
    assert near_names([]) == {}
    assert [len(part) for part in near_names.matching_entries([])] == [0, 0, 0]


def test_a_name_is_like_itself_in_any_index(small_kb, concepts, tiny_encoder):
    vectors = cached_name_vectors(small_kb, TransformerEncoder(str(tiny_encoder)))
    rough = open_faiss(vectors, small_kb, "SQfp16")
    text = "carcinoma of the breast"
    estimate = rough._index.search(rough.encode([text]), 1)[0][0, 0]
    assert abs(estimate - 1) > 1e-5
    ((_, cosines),) = NearNames(rough, concepts, 3)([text]).values()
    assert cosines[0] == pytest.approx(1, abs=1e-6)
