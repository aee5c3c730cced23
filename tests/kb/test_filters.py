import pytest

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.filters import ancestors, below
from spacy_sapbert.types import Name, Record

# disease > cancer (also X1) > breast cancer > familial; one circle of two, one concept above itself
PARENTS = {"D1": ("nowhere",), "D2": ("D1",), "D3": ("X1",), "D4": ("D3", "D1")}
PARENTS |= {"C1": ("C2",), "C2": ("C1",), "C3": ("C1",), "S": ("S",)}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    records = [
        Record(id, (Name(f"name of {id}", "exact", "s"),), alternative_ids=("X1",) * (id == "D2"), parents=parents)
        for id, parents in PARENTS.items()
    ]
    return build_knowledge_base(records, tmp_path_factory.mktemp("kb") / "test.kb")


def test_ancestors(kb):
    above = {"D1": "", "D4": "D3 D2 D1", "C1": "C1 C2", "C3": "C1 C2", "S": "S", "unknown": ""}
    assert {one: ancestors(one, kb) for one in above} == {one: set(ids.split()) for one, ids in above.items()}


def test_below(kb):
    lowest = {"D1 D2": "D2", "D4 D1 C1": "D4 C1", "D1": "D1", "": "", "C1 C2 C3": "C3", "S D2": "S D2"}
    lowest["C1 C2"] = "C1 C2"  # neither is below the other alone
    assert {ids: below(ids.split(), kb) for ids in lowest} == {ids: set(low.split()) for ids, low in lowest.items()}
