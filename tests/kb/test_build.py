from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_store, new_store
from spacy_sapbert.kb.store import ConceptStore
from spacy_sapbert.types import Concept, Name, Record

RECORD = Record(
    "D1",
    (Name("first", "preferred", "s"), Name("second", "narrow", "s")),
    ("D2",),
    ("Disease",),
    "A definition.",
    ("D3",),
)


def record(concept_id, *names, source="s", **others):
    return Record(concept_id, tuple(Name(name, "exact", source) for name in names), **others)


def built(path, *records):
    """A store of records, and what its builder counted."""
    with new_store(path) as builder:
        for each in records:
            builder.add(each)
        builder.finish({})
    return ConceptStore(path), dict(builder.counts)


# --- the same and not the same


def test_same_input_gives_the_same_file(small_vocabulary, small_store, tmp_path):
    again = build_store(iter(small_vocabulary), tmp_path / "again.kb", {"licence": "MIT"})
    assert again.path.read_bytes() == small_store.path.read_bytes()


def test_what_a_store_says_of_itself_does_not_change_its_fingerprint(small_vocabulary, small_store, tmp_path):
    other = build_store(small_vocabulary, tmp_path / "other.kb", {"title": "Ä", "sources": [{"file": "a"}]})
    assert other.fingerprint == small_store.fingerprint
    assert other.meta["title"] == "Ä"
    assert other.meta["sources"] == [{"file": "a"}]


@pytest.mark.parametrize(
    "changed",
    [
        RECORD._replace(concept_id="D9"),
        RECORD._replace(names=RECORD.names[::-1]),
        RECORD._replace(names=(RECORD.names[0]._replace(scope="exact"), RECORD.names[1])),
        RECORD._replace(names=(RECORD.names[0], RECORD.names[1]._replace(source="t"))),
        RECORD._replace(names=RECORD.names[:1]),
        RECORD._replace(alternative_ids=()),
        RECORD._replace(types=("Finding",)),
        RECORD._replace(types=("Disease", "D3"), parents=()),
        RECORD._replace(definition=None),
        RECORD._replace(parents=("D4",)),
    ],
)
def test_other_content_has_another_fingerprint(tmp_path, changed):
    stores = [build_store([each], tmp_path / f"{i}.kb") for i, each in enumerate((RECORD, changed))]
    assert stores[0].fingerprint != stores[1].fingerprint


def test_types_and_parents_are_told_apart(tmp_path):
    one = build_store([record("D1", "a", types=("X",))], tmp_path / "1.kb")
    other = build_store([record("D1", "a", parents=("X",))], tmp_path / "2.kb")
    assert one.fingerprint != other.fingerprint


def test_annotations_change_the_fingerprint(tmp_path):
    fingerprints = set()
    for times in (0, 1, 2):
        with new_store(tmp_path / "a.kb") as builder:
            builder.add(RECORD)
            for _ in range(times):
                builder.add_mention("D1", Name("first", "mention", "s"))
            builder.finish({})
        fingerprints.add(ConceptStore(tmp_path / "a.kb").fingerprint)
    assert len(fingerprints) == 3


# --- what becomes of records


def test_records_of_one_id_become_one_concept(tmp_path):
    more = record("D1", "third", "first", source="t", alternative_ids=("D2", "D7"), types=("T",), parents=("D8",))
    again = record("D1", "second", definition="Another definition.")
    store, counts = built(tmp_path / "a.kb", RECORD._replace(definition=None), more, RECORD, again, record("D9", "x"))
    assert len(store) == 2
    assert store.get("D1") == Concept(
        "D1", "first", ("second", "third"), ("Disease", "T"), "A definition.", ("D2", "D7"), ("D3", "D8")
    )
    assert [(name.text, name.scope, name.source) for name in store.names_of("D1")] == [
        ("first", "preferred", "s"),
        ("first", "exact", "t"),
        ("second", "narrow", "s"),
        ("third", "exact", "t"),
    ]
    assert counts == {"records merged into an earlier one": 3}


def test_an_id_among_its_own_alternatives(tmp_path):
    store, _ = built(tmp_path / "a.kb", record("D1", "a", alternative_ids=("D1", "D2")))
    assert store.ids("D1") == ("D1", "D2")


def test_broken_names_are_counted_and_the_rest_is_kept(tmp_path):
    store, counts = built(
        tmp_path / "a.kb",
        record("D1", "\udc00 broken", "whole", " ", ""),
        record("D2", "\ud83d"),
        record("D3"),
        record("D4", "\U0001f9ec gene"),
    )
    assert list(store.names()) == ["whole", "\U0001f9ec gene"]
    assert store.get("D1").canonical_name == "whole"
    assert counts == {"names of broken Unicode": 2, "empty names": 2, "concepts without a name": 2}


@pytest.mark.parametrize("field", ["concept_id", "alternative_ids", "types", "definition", "parents"])
def test_a_record_of_broken_unicode_is_counted_and_the_rest_is_kept(tmp_path, field):
    broken = "\ud800" if field in ("concept_id", "definition") else ("fine", "\ud800")
    store, counts = built(tmp_path / "a.kb", RECORD._replace(**{field: broken}), record("D5", "whole"))
    assert list(store.concept_ids()) == ["D5"]
    assert counts == {"records of broken Unicode": 1}


def test_names_with_nul_and_very_long_ones(tmp_path):
    names = ["a", "a\0b", "a\0", "x" * 100_000, "x" * 99_999 + "y", "a\tb\n"]
    store, _ = built(tmp_path / "a.kb", record("D1", *names))
    assert list(store.names()) == names
    assert all(store.find_name(name) == ("D1",) for name in names)
    assert store.find_name("a\0c") == ()


records = st.builds(
    record,
    st.sampled_from("ABC"),
    st.text("ab c", max_size=3),
    st.text(max_size=4),
    source=st.sampled_from("st"),
    alternative_ids=st.sets(st.sampled_from("CDE")).map(lambda ids: tuple(sorted(ids))),
    types=st.sets(st.sampled_from("TU")).map(tuple),
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(records, min_size=1, max_size=6).filter(lambda given: any(n.text.strip() for r in given for n in r.names))
)
def test_any_records(given_records):
    names: dict[str, list[str]] = {}
    ids: dict[str, set[str]] = {}
    for each in given_records:
        kept = [name.text for name in each.names if name.text.strip()]
        if kept:
            names.setdefault(each.concept_id, []).extend(kept)
            ids.setdefault(each.concept_id, {each.concept_id}).update(each.alternative_ids)
    with TemporaryDirectory() as folder:
        store = build_store(given_records, Path(folder) / "a.kb")
        assert list(store.concept_ids()) == list(names)
        assert set(store.names()) == {name for texts in names.values() for name in texts}
        assert len(list(store.names())) == store.n_names
        for concept_id, texts in names.items():
            assert store.get(concept_id).canonical_name == texts[0]
            assert {name.text for name in store.names_of(concept_id)} == set(texts)
            assert set(store.ids(concept_id)) == ids[concept_id]
        for concept_id in "ABCDE":
            assert set(store.find_id(concept_id)) == {primary for primary, of in ids.items() if concept_id in of}


# --- mentions


def test_mentions_count_their_annotations_and_find_concepts_by_any_id(tmp_path):
    with new_store(tmp_path / "a.kb") as builder:
        builder.add(record("A", "a", alternative_ids=("C",)))
        builder.add(record("B", "b", alternative_ids=("C",)))
        for concept_id, text in (("A", "m"), ("C", "m"), ("B", "b"), ("X", "m"), ("A", " "), ("A", "\ud800")):
            builder.add_mention(concept_id, Name(text, "mention", "corpus"))
        assert builder.names_of("C") == ["a", "b", "m"]
        assert builder.names_of("X") == []
        builder.finish({})
    assert builder.counts == {
        "mentions added": 3,
        "mentions whose id is not in the vocabulary": 1,
        "empty names": 1,
        "names of broken Unicode": 1,
    }
    store = ConceptStore(tmp_path / "a.kb")
    rows = zip(store.ownership.names, store.ownership.concepts, store.ownership.annotations, strict=True)
    owned = [(store.name(int(name)), store.concept_id(int(concept)), count) for name, concept, count in rows]
    assert sorted(owned) == [("a", "A", 0), ("b", "B", 1), ("m", "A", 2), ("m", "B", 1)]
    assert sorted(store.names_of("B")) == [
        Name("b", "exact", "s"),
        Name("b", "mention", "corpus"),
        Name("m", "mention", "corpus"),
    ]


# --- nothing half


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def test_an_empty_vocabulary_is_not_written(tmp_path):
    with pytest.raises(SapbertError, match="E105"):
        build_store([], tmp_path / "a.kb")
    with pytest.raises(SapbertError, match="E105"):
        build_store([record("D1", " ")], tmp_path / "a.kb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_build_that_is_cut_off_leaves_nothing(tmp_path, error):
    def failing():
        yield RECORD
        raise error

    with pytest.raises(error):
        build_store(failing(), tmp_path / "a.kb")
    assert list(tmp_path.iterdir()) == []


def test_a_build_that_fails_leaves_the_store_that_was_there(small_store, tmp_path):
    path = tmp_path / "a.kb"
    before = build_store([RECORD], path).path.read_bytes()
    with pytest.raises(SapbertError, match="E105"):
        build_store([], path)
    assert only_file(tmp_path).read_bytes() == before
    build_store([record("D5", "five")], path)
    assert list(ConceptStore(only_file(tmp_path)).names()) == ["five"]


def test_folders_are_made_and_the_file_is_for_all_who_may_read(tmp_path):
    old = os.umask(0o022)
    try:
        store = build_store([RECORD], tmp_path / "new" / "folder" / "a.kb")
    finally:
        os.umask(old)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o644


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "a.kb", tmp_path):
        with pytest.raises(SapbertError, match=r"E104.*Choose another place"):
            build_store([RECORD], path)
    assert only_file(tmp_path).name == "file"


def test_a_full_disk(tmp_path):
    def fill(builder):
        builder._db.execute("PRAGMA max_page_count = 20")
        for i in range(20):
            builder.add(record(f"D{i}", str(i) * 10_000))

    with pytest.raises(SapbertError, match=r"E104.*full"), new_store(tmp_path / "a.kb") as builder:
        fill(builder)
    assert list(tmp_path.iterdir()) == []
