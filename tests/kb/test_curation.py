from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.curation import Curation, Hierarchy, curate
from spacy_sapbert.kb.readers import ReadReport
from spacy_sapbert.types import Name, Record

from ..cases import cases


def record(concept_id, parents=(), alternative_ids=(), types=(), sources=("test",)):
    names = tuple(Name(f"name of {concept_id} in {source}", "exact", source) for source in sources)
    return Record(concept_id, names, alternative_ids=alternative_ids, types=types, parents=parents)


#        A:1        B:1
#       /   \        |
#     A:2   A:3     B:2
#      |   /
#     A:4, which gives its first parent by an alternative id
ONE = [
    record("A:1", alternative_ids=("A:10",)),
    record("A:2", parents=("A:10",), alternative_ids=("A:20",)),
    record("A:3", parents=("A:1",), types=("T1",)),
    record("A:4", parents=("A:20", "A:3"), types=("T2",), sources=("test", "other")),
]
OTHER = [record("B:1"), record("B:2", parents=("B:1",))]


def taken(*sources, **fields):
    """The ids of the records that are taken, what was left out, and the records."""
    curation, counts = Curation(**{key: tuple(value) for key, value in fields.items()}), Counter()
    records = list(curate(curation, [lambda report, source=source: source for source in sources], ReadReport(), counts))
    return [record.concept_id for record in records], dict(+counts), records


@pytest.mark.parametrize(*cases(__file__, "what_is_taken"))
def test_what_is_taken(fields, ids):
    assert taken(ONE, OTHER, **fields)[0] == ids


def test_what_is_left_out_is_counted():
    assert taken(ONE, OTHER, below=["A:2"], without=["B:2"], without_types=["T2"])[1] == {
        "concepts left out: not below the chosen ones": 2,
        "concepts left out: below an excluded one": 1,
        "concepts left out: semantic type": 1,
    }
    _, counts, found = taken(ONE, without_sources=["test"])
    assert counts == {"names left out: source": 4, "concepts left out: no name from the chosen sources": 3}
    assert [name.source for name in found[0].names] == ["other"]


def test_unknown_ids_types_and_sources():
    with pytest.raises(SapbertError, match=r"\[E504\] There is no concept A:9, Z:1 in the sources\."):
        taken(ONE, OTHER, below=["A:9", "A:1"], without=["Z:1"])
    with pytest.raises(SapbertError, match=r"\[E125\] 'T9' is not a semantic type .*: T1 \(1\), T2 \(1\)"):
        taken(ONE, types=["T1", "T9"])
    with pytest.raises(SapbertError, match=r"\[E125\] 'x' is not a source of names .* test \(4\), other \(1\)"):
        taken(ONE, without_sources=["x"])


def test_a_record_without_a_name_is_left_to_the_builder():
    assert taken([Record("A:1", ())])[0] == ["A:1"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30), st.sets(st.integers(0, 9), max_size=3))
def test_any_graph_even_with_circles(edges, roots):
    records = [record(f"A:{i}", parents=tuple(f"A:{up}" for down, up in edges if down == i)) for i in range(10)]
    below = Hierarchy(records).subtrees([f"A:{root}" for root in roots])
    expected = set(roots)
    while more := {down for down, up in edges if up in expected} - expected:
        expected |= more
    assert {i for i in range(10) if below(f"A:{i}")} == expected


def test_the_settings_that_are_recorded():
    assert Curation(below=("A:1",)).as_json() == {"below": ["A:1"]}
    assert Curation().as_json() == {}
