import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.diff import compare
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.types import Name, Record


def record(concept_id, names, *alternatives, **others):
    pairs = tuple(Name(text, "exact", "t") for text in names.split("|"))
    return Record(concept_id, pairs, alternative_ids=alternatives, **others)


@pytest.fixture
def difference(tmp_path):
    """A function that builds two knowledge bases and gives the summary and the changes by kind."""

    def run(old, new):
        kbs = [build_knowledge_base(records, tmp_path / name) for records, name in ((old, "old.kb"), (new, "new.kb"))]
        with compare(*kbs) as diff:
            found = {}
            for change in diff.changes():
                found.setdefault(change.pop("change"), []).append(change)
            return diff.summary(), found

    return run


def nonzero(counts):
    return {key: count for key, count in counts.items() if count}


def test_the_same_content(difference):
    summary, changes = difference(
        [record("A", "a|b", "X"), record("B", "c")], [record("A", "a|b", "X"), record("B", "c")]
    )
    assert changes == {}
    assert summary["same_content"]
    assert summary["concepts"]["kept"] == 2
    assert sum(summary["names"].values()) == sum(summary["changed"].values()) == 0
    assert (summary["old"]["concepts"], summary["old"]["names"]) == (2, 3)


def test_concepts_come_and_go(difference):
    summary, changes = difference([record("A", "a"), record("B", "b|bb")], [record("C", "c|cc"), record("A", "a")])
    assert changes == {
        "concept_added": [{"id": "C", "name": "c", "split_from": [], "names": ["c", "cc"]}],
        "concept_removed": [{"id": "B", "name": "b", "names": ["b", "bb"]}],
    }
    assert not summary["same_content"]
    assert nonzero(summary["concepts"]) == {"kept": 1, "added": 1, "removed": 1}
    assert nonzero(summary["names"]) == {"of_added_concepts": 2, "of_removed_concepts": 2}


def test_a_merged_concept_is_not_removed_and_its_names_go_with_it(difference):
    summary, changes = difference(
        [record("A", "a|aa|old"), record("B", "b")], [record("B", "b|a|aa|new", "A"), record("D", "d")]
    )
    assert changes["concept_merged"] == [{"id": "A", "name": "a", "into": ["B"], "names": ["a", "aa", "old"]}]
    assert changes["names"] == [
        {"id": "A", "added": [], "removed": ["old"]},
        {"id": "B", "added": ["new"], "removed": []},
    ]
    assert "name_moved" not in changes
    assert nonzero(summary["concepts"]) == {"kept": 1, "added": 1, "merged": 1}


def test_the_id_of_an_old_concept(difference):
    summary, changes = difference([record("A", "a", "B")], [record("B", "a", "A")])
    assert changes == {"concept_merged": [{"id": "A", "name": "a", "into": ["B"], "names": ["a"]}]}
    assert nonzero(summary["concepts"]) == {"merged": 1, "new_ids": 1}
    _, changes = difference([record("A", "a|b")], [record("B", "b", "A"), record("C", "a", "A")])
    assert changes == {"concept_merged": [{"id": "A", "name": "a", "into": ["B", "C"], "names": ["a", "b"]}]}


def test_a_concept_split_off(difference):
    summary, changes = difference([record("A", "a|b", "B")], [record("A", "a"), record("B", "b")])
    assert changes["concept_added"] == [{"id": "B", "name": "b", "split_from": ["A"], "names": ["b"]}]
    assert changes["name_moved"] == [{"name": "b", "from": ["A"], "to": ["B"]}]
    assert changes["alternative_ids"] == [{"id": "A", "old": ["B"], "new": []}]
    assert nonzero(summary["concepts"]) == {"kept": 1, "added": 1, "split_from_others": 1}


def test_names_move_between_concepts(difference):
    old = [record("A", "a|x|y"), record("B", "b"), record("C", "c|z")]
    new = [record("A", "a"), record("B", "b|x|y"), record("C", "c|y|new"), record("E", "z")]
    summary, changes = difference(old, new)
    assert changes["name_moved"] == [
        {"name": "x", "from": ["A"], "to": ["B"]},
        {"name": "y", "from": ["A"], "to": ["B", "C"]},
        {"name": "z", "from": ["C"], "to": ["E"]},
    ]
    assert changes["names"] == [{"id": "C", "added": ["new"], "removed": []}]
    assert nonzero(summary["names"]) == {"added": 1, "moved": 3, "of_added_concepts": 1}
    # a name that is shared, or no longer shared, does not move
    old, new = [record("A", "a|x"), record("B", "b|y"), record("C", "c|y")], [record("A", "a|x"), record("C", "c")]
    removed = {"id": "C", "added": [], "removed": ["y"]}
    _, changes = difference(old, [*new, record("B", "b|x|y")])
    assert changes == {"names": [{"id": "B", "added": ["x"], "removed": []}, removed]}


def test_what_is_known_of_a_concept(difference):
    old = record("A", "a|b", "X", types=("T",), definition="Old.", parents=("P",), xrefs=("Z:1",))
    new = record("A", "b|a", "X", "Y", types=("U", "T"), definition=None, parents=(), xrefs=("Z:2",))
    summary, changes = difference([old], [new])
    assert changes == {
        "preferred_name": [{"id": "A", "old": "a", "new": "b"}],
        "alternative_ids": [{"id": "A", "old": ["X"], "new": ["X", "Y"]}],
        "types": [{"id": "A", "old": ["T"], "new": ["T", "U"]}],
        "definition": [{"id": "A", "old": "Old.", "new": None}],
        "parents": [{"id": "A", "old": ["P"], "new": []}],
        "xrefs": [{"id": "A", "old": ["Z:1"], "new": ["Z:2"]}],
    }
    assert set(summary["changed"].values()) == {1}
    stated = record("A", "a", xrefs=("Z:1",), xref_predicates=(("Z:1", "skos:exactMatch"),))
    _, changes = difference([record("A", "a", xrefs=("Z:1",))], [stated])
    assert changes == {"xrefs": [{"id": "A", "old": ["Z:1"], "new": ["Z:1 skos:exactMatch"]}]}


def test_a_name_of_two_sources_counts_once(difference):
    two = Record("A", (Name("a", "exact", "s"), Name("b", "exact", "s"), Name("b", "exact", "t")))
    summary, changes = difference([record("A", "a")], [two])
    assert changes == {"names": [{"id": "A", "added": ["b"], "removed": []}]}
    assert summary["names"]["added"] == 1


VOCABULARY = st.dictionaries(
    st.sampled_from("ABCDE"),
    st.lists(st.sampled_from(["v", "w", "x", "y", "é\"'"]), min_size=1, unique=True),
    min_size=1,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=VOCABULARY, new=VOCABULARY)
def test_changes_lead_from_the_old_to_the_new(difference, old, new):
    """Without alternative ids: the old pairs of concept and name, with the changes made, are the new ones."""
    summary, changes = difference(*([record(one, "|".join(names)) for one, names in kb.items()] for kb in (old, new)))
    lost, found = set(), set()
    for change in changes.get("names", []):
        lost |= {(change["id"], name) for name in change["removed"]}
        found |= {(change["id"], name) for name in change["added"]}
    for change in changes.get("name_moved", []):
        lost |= {(one, change["name"]) for one in change["from"]}
        found |= {(one, change["name"]) for one in change["to"]}
    lost |= {(change["id"], name) for change in changes.get("concept_removed", []) for name in change["names"]}
    found |= {(change["id"], name) for change in changes.get("concept_added", []) for name in change["names"]}
    before, after = ({(one, name) for one, names in kb.items() for name in names} for kb in (old, new))
    assert (lost, found) == (before - after, after - before)
    counts = summary["concepts"]
    assert counts["kept"] + counts["removed"] == len(old)
    assert counts["kept"] + counts["added"] == len(new)


def test_a_damaged_knowledge_base(small_kb, tmp_path):
    damaged = tmp_path / "damaged.kb"
    damaged.write_bytes(small_kb.path.read_bytes())
    with closing(sqlite3.connect(damaged)) as db:
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'parents'")
        ((size,),) = db.execute("PRAGMA page_size")
    content = bytearray(damaged.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    damaged.write_bytes(content)
    with (
        pytest.raises(SapbertError, match=r"\[E120\].*damaged.kb.*kb check"),
        compare(small_kb, KnowledgeBase(damaged)),
    ):
        pass
