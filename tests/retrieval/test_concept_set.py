import numpy as np
import pytest

from spacy_sapbert.retrieval.concept_set import ConceptSet


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
