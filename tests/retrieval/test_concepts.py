from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.retrieval import concepts as concept_vectors
from spacy_sapbert.retrieval.concepts import (
    INDEX_FILE,
    VECTORS_FILE,
    ConceptSet,
    ConceptVectors,
    build_concept_vectors,
    cached_concept_vectors,
    concept_text,
    normal_name,
)
from spacy_sapbert.types import Name, Record

from ..cases import cases


def test_all_concepts(small_kb):
    concepts = ConceptSet(small_kb)
    assert len(concepts) == len(small_kb)
    assert concepts.ids == list(small_kb.concept_ids())
    assert concepts.names is None
    assert concepts.n_names == small_kb.n_names
    assert [concepts.positions_of(one) for one in concepts.ids] == [[position] for position in range(len(concepts))]


def test_some_concepts_in_the_order_of_their_rows(small_kb):
    concepts = ConceptSet(small_kb, ["X2", "unknown", "D001943", "OMIM:114480"])
    assert concepts.ids == ["D001943", "D001241"]
    assert concepts.rows.tolist() == sorted(concepts.rows)
    assert concepts.positions_of("X1") == [1]
    assert concepts.positions_of("D003550") == concepts.positions_of("unknown") == []


def test_types(small_kb):
    assert ConceptSet(small_kb, types=["Drug"]).ids == ["D001241", "D009020"]
    assert ConceptSet(small_kb, ["D001241", "D001943"], ["Drug", "Phenotype"]).ids == ["D001241"]
    assert len(ConceptSet(small_kb, types=["nonsense"])) == len(ConceptSet(small_kb, [])) == 0


def test_names_and_their_owners(small_kb):
    names = list(small_kb.names())
    concepts = ConceptSet(small_kb, ["HP:0001250", "D003139"])
    wanted = {"Seizure", "Seizures", "epileptic seizure", "Common Cold", "cold"}
    assert {names[row] for row in concepts.names.rows} == wanted
    assert concepts.n_names == len(wanted)
    # each of two homonyms belongs to a concept outside the set as well
    rows = np.array([names.index(name) for name in ("Lithium", "Seizures", "cold", "Seizures")])
    which, positions = concepts.owners(rows)
    of = {name: concepts.positions_of(one)[0] for name, one in (("cold", "D003139"), ("Seizures", "HP:0001250"))}
    assert list(zip(which, positions, strict=True)) == [(1, of["Seizures"]), (2, of["cold"]), (3, of["Seizures"])]


@pytest.mark.parametrize("ids", [None, ["D003139"]])
def test_every_name_of_the_set_has_an_owner_in_it(small_kb, ids):
    concepts = ConceptSet(small_kb, ids)
    rows = np.arange(small_kb.n_names) if concepts.names is None else concepts.names.rows
    assert set(concepts.owners(rows)[0]) == set(range(len(rows)))


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder))


@pytest.fixture(scope="module")
def packed(concepts, encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    build_concept_vectors(concepts, encoder, "packed", folder)
    return ConceptVectors(folder, concepts)


def test_packed_texts(packed, encoder, concepts):
    texts = {
        "D009369": "neoplasms; cancer; tumors; New abnormal growth of tissue.",
        "D001943": "breast neoplasms; breast cancer; carcinoma of the breast",  # one is an inversion
    }
    for one, text in texts.items():
        vector = packed.vectors[concepts.positions_of(one)[0]]
        assert vector == pytest.approx(encoder.encode([text])[0], abs=1e-2)


def test_mean_of_the_names(concepts, encoder, tmp_path):
    build_concept_vectors(concepts, encoder, "mean", tmp_path)
    vectors = ConceptVectors(tmp_path, concepts)
    assert vectors.kind == "mean"
    # "Cancer, Breast" is "breast cancer", and counts once
    names = encoder.encode(["breast neoplasms", "breast cancer", "carcinoma of the breast"])
    mean = names.mean(axis=0) / np.linalg.norm(names.mean(axis=0))
    assert vectors.vectors[concepts.positions_of("D001943")[0]] == pytest.approx(mean, abs=1e-2)
    assert np.linalg.norm(vectors.vectors, axis=1) == pytest.approx(np.ones(len(concepts)), abs=1e-5)


@pytest.mark.parametrize("kind", ["packed", "mean"])
def test_concepts_are_encoded_in_parts(concepts, encoder, tmp_path, monkeypatch, kind):
    build_concept_vectors(concepts, encoder, kind, tmp_path / "whole")
    monkeypatch.setattr(concept_vectors, "CHUNK", 4)
    build_concept_vectors(concepts, encoder, kind, tmp_path / "parts")
    whole, parts = (np.load(tmp_path / name / VECTORS_FILE) for name in ("whole", "parts"))
    assert parts == pytest.approx(whole, abs=1e-2)  # in half precision, where the hardware has it


def test_nearest_and_similarities(packed, concepts):
    queries = np.asarray(packed.vectors[[2, 5]])
    cosines, positions = packed.nearest(queries, 4)
    expected = np.argsort(-(queries @ packed.vectors.T), axis=1)[:, :4]
    assert positions.tolist() == expected.tolist()
    assert positions[:, 0].tolist() == [2, 5]
    similarities = packed.similarities(queries, positions[0])
    assert similarities.shape == (2, 4)
    assert similarities[0] == pytest.approx(cosines[0], abs=1e-5)
    assert packed.nearest(queries, 10_000)[1].shape == (2, len(concepts))


def test_some_of_the_concepts(packed, small_kb, tmp_path):
    some = ConceptSet(small_kb, ["D003550", "D009020", "D001943"])
    chosen = packed.subset(some, tmp_path)
    for one in some.ids:
        own, whole = chosen.vectors[some.positions_of(one)[0]], packed.vectors[packed.concepts.positions_of(one)[0]]
        assert np.array_equal(own, whole)
    none = packed.subset(ConceptSet(small_kb, []), tmp_path / "none")
    assert none.nearest(np.asarray(packed.vectors[:2]), 3)[1].shape == (2, 0)


def test_a_saved_copy(packed, concepts, small_kb, tmp_path):
    packed.artifact().write(tmp_path / "saved")
    again = ConceptVectors(tmp_path / "saved", concepts)
    assert np.array_equal(again.vectors, packed.vectors)
    with pytest.raises(SapbertError, match="E305"):
        ConceptVectors(tmp_path / "saved", ConceptSet(small_kb, types=["Disease"]))


def test_the_cache_is_used(concepts, encoder, monkeypatch):
    first = cached_concept_vectors(concepts, encoder, "packed")
    monkeypatch.setattr(concept_vectors, "build_concept_vectors", None)
    assert cached_concept_vectors(concepts, encoder, "packed").folder == first.folder
    monkeypatch.setattr(concept_vectors, "build_concept_vectors", build_concept_vectors)
    others = {cached_concept_vectors(concepts, encoder, "mean").folder}
    others.add(cached_concept_vectors(ConceptSet(concepts.kb, types=["Drug"]), encoder, "packed").folder)
    assert len(others - {first.folder}) == 2


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    records = [Record(f"D{i:05}", (Name(f"name {i}", "exact", "s"),)) for i in range(1600)]
    return ConceptSet(build_knowledge_base(records, tmp_path_factory.mktemp("kb") / "many.kb"))


def test_many_concepts_get_an_index(many, tmp_path, monkeypatch):
    """Vectors in clusters, as those of concepts are; cells and codes for a vocabulary as small as this."""
    centres = np.random.default_rng(0).normal(size=(60, 64))

    def encode(texts, *, fast):
        rows = np.array([int(text.split()[1]) for text in texts])
        vectors = centres[rows % 60] + 0.5 * np.random.default_rng(rows[0]).normal(size=(len(rows), 64))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    monkeypatch.setattr(concept_vectors, "EXACT_LIMIT", 1500)
    monkeypatch.setattr(concept_vectors, "CELLS", "IVF,PQ16x4")
    build_concept_vectors(many, SimpleNamespace(dim=64, encode=encode), "packed", tmp_path)
    vectors = ConceptVectors(tmp_path, many)
    assert (tmp_path / INDEX_FILE).is_file()
    queries = np.asarray(vectors.vectors[:50])
    cosines, positions = vectors.nearest(queries, 10)
    exact = np.argsort(-(queries @ vectors.vectors.T), axis=1)[:, :10]
    share = np.mean([len(set(found) & set(right)) / 10 for found, right in zip(positions, exact, strict=True)])
    assert share > 0.8
    assert positions[:, 0].tolist() == list(range(50))
    for query, found, scores in zip(queries, positions, cosines, strict=True):
        assert scores == pytest.approx(vectors.similarities(query[None], found)[0], abs=1e-5)
    vectors.artifact().write(tmp_path / "saved")
    assert ConceptVectors(tmp_path / "saved", many).nearest(queries, 10)[1].tolist() == positions.tolist()
    (tmp_path / "saved" / INDEX_FILE).write_bytes(b"x")
    with pytest.raises(SapbertError, match="E121"):
        ConceptVectors(tmp_path / "saved", many)


part = st.text(st.characters(exclude_characters=",", codec="ascii"), min_size=1).filter(str.strip)


@pytest.mark.parametrize(*cases(__file__, "normal_name"))
def test_normal_name(name, normal):
    assert normal_name(name) == normal


@given(part, part)
def test_an_inversion_is_turned_round(head, rest):
    assert normal_name(f"{head}, {rest}") == normal_name(f"{rest} {head}")


@settings(max_examples=50)
@given(st.text(max_size=20))
def test_what_is_normal_stays(name):
    normal = normal_name(name)
    assert normal == normal_name(normal)
    assert not set("-,") & set(normal)


def test_names_come_once_and_then_the_definition():
    names = ["Breast Neoplasms", "breast-neoplasms", "Neoplasms, Breast", "breast cancer", "-"]
    assert concept_text(names, "Tumors, of the breast.") == "breast neoplasms; breast cancer; Tumors, of the breast."
    assert concept_text(names[:3]) == concept_text(names[:1], "") == "breast neoplasms"
