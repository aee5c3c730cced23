import os
import signal
import stat
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import CannotWriteError, EmptyError, MismatchError
from spacy_sapbert.kb.build import build_knowledge_base, new_knowledge_base
from spacy_sapbert.kb.code_systems import ALTERNATIVE_ID, OWN_ID, CodeSystems
from spacy_sapbert.kb.diff import compare
from spacy_sapbert.kb.filters import ancestors
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mapping import Equivalents
from spacy_sapbert.metrics.linking_accuracy import gold_concepts
from spacy_sapbert.retrieval.concepts import ConceptSet
from spacy_sapbert.types import Concept, Name, Record

from ..cases import cases

RECORD = Record(
    "D1",
    (Name("first", "preferred", "s"), Name("second", "narrow", "s")),
    ("D2",),
    ("Disease",),
    "A definition.",
    ("D3",),
    ("C0000001",),
)


def record(concept_id, *names, source="s", **others):
    return Record(concept_id, tuple(Name(name, "exact", source) for name in names), **others)


def built(path, *records, **settings):
    """A knowledge base of records, and what its builder counted."""
    with new_knowledge_base(path, **settings) as builder:
        for each in records:
            builder.add(each)
        builder.finish({})
    kb = KnowledgeBase(path)
    assert kb.meta["built"] == builder.counts
    return kb, dict(builder.counts)


# --- the same and not the same


def test_same_input_gives_the_same_file(small_vocabulary, small_kb, tmp_path):
    again = build_knowledge_base(iter(small_vocabulary), tmp_path / "again.kb", {"licence": "MIT"})
    assert again.path.read_bytes() == small_kb.path.read_bytes()


def test_metadata_of_a_knowledge_base_does_not_change_its_fingerprint(small_vocabulary, small_kb, tmp_path):
    other = build_knowledge_base(small_vocabulary, tmp_path / "other.kb", {"title": "Ä", "sources": [{"file": "a"}]})
    assert other.fingerprint == small_kb.fingerprint
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
        RECORD._replace(xrefs=()),
        RECORD._replace(parents=("D3", "C0000001"), xrefs=()),
    ],
)
def test_other_content_has_another_fingerprint(tmp_path, changed):
    kbs = [build_knowledge_base([each], tmp_path / f"{i}.kb") for i, each in enumerate((RECORD, changed))]
    assert kbs[0].fingerprint != kbs[1].fingerprint


# --- what becomes of records


def test_records_of_one_id_become_one_concept(tmp_path):
    more = record("D1", "third", "first", source="t", alternative_ids=("D2", "D7"), types=("T",), parents=("D8",))
    again = record("D1", "second", definition="Another definition.")
    kb, counts = built(tmp_path / "a.kb", RECORD._replace(definition=None), more, RECORD, again, record("D9", "x"))
    assert len(kb) == 2
    assert kb.get("D1") == Concept(
        "D1", "first", ("second", "third"), ("Disease", "T"), "A definition.", ("D2", "D7"), ("D3", "D8")
    )
    assert [(name.text, name.scope, name.source) for name in kb.names_of("D1")] == [
        ("first", "preferred", "s"),
        ("first", "exact", "t"),
        ("second", "narrow", "s"),
        ("third", "exact", "t"),
    ]
    assert counts == {"records merged into an earlier one": 3}


def test_empty_names_are_counted_and_the_rest_is_kept(tmp_path):
    kb, counts = built(tmp_path / "a.kb", record("D1", "whole", " ", ""), record("D3"), record("D4", "\U0001f9ec gene"))
    assert list(kb.names()) == ["whole", "\U0001f9ec gene"]
    assert kb.get("D1").canonical_name == "whole"
    assert counts == {"empty names": 2, "concepts without a name": 1}


def test_names_with_nul_and_very_long_ones(tmp_path):
    names = ["a", "a\0b", "a\0", "x" * 100_000, "x" * 99_999 + "y", "a\tb\n"]
    kb, _ = built(tmp_path / "a.kb", record("D1", *names))
    assert list(kb.names()) == names
    assert all(kb.find_name(name) == ("D1",) for name in names)
    assert kb.find_name("a\0c") == ()


records = st.builds(
    record,
    st.sampled_from("ABC"),
    st.text("ab c", max_size=3),
    st.text(max_size=4),
    source=st.sampled_from("st"),
    alternative_ids=st.sets(st.sampled_from("CDE")).map(lambda ids: tuple(sorted(ids))),
    types=st.sets(st.sampled_from("TU")).map(tuple),
)


@settings(max_examples=20, deadline=None)
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
        kb = build_knowledge_base(given_records, Path(folder) / "a.kb")
        assert list(kb.concept_ids()) == list(names)
        assert set(kb.names()) == {name for texts in names.values() for name in texts}
        assert len(list(kb.names())) == kb.n_names
        for concept_id, texts in names.items():
            assert kb.get(concept_id).canonical_name == texts[0]
            assert {name.text for name in kb.names_of(concept_id)} == set(texts)
            assert kb.ids(concept_id)[0] == concept_id
            assert sorted(kb.ids(concept_id)) == sorted(ids[concept_id])
        for concept_id in "ABCDE":
            assert set(kb.find_id(concept_id)) == {primary for primary, of in ids.items() if concept_id in of}


# --- records of MeSH that a descriptor replaced

MERGED = "supplementary records merged into their descriptors"
OLD = Record(
    "C000001",
    (Name("gemfake", "preferred", "MeSH"), Name("gemfake salt", "narrow", "MeSH"), Name("dFdFake", "exact", "ChEBI")),
    ("C000009",),
    ("Chemical",),
    "As it was.",
    ("D000008",),
    ("CAS:1-00-0",),
    (("D000007", "skos:broadMatch"),),
)
DESCRIPTOR = Record(
    "D000000001",
    (Name("Gemfake", "preferred", "MeSH"), Name("gemfake salt", "exact", "MeSH")),
    (),
    ("Chemical", "Drug"),
    "As it is.",
    ("D000006",),
    ("UNII:0123456789",),
)
OTHER = record("D000002", "fever", source="MeSH", types=("Disease",), parents=("C000001",))


def contents(kb):
    """All that a knowledge base says. Names come in no order."""
    found = {concept_id: kb.get(concept_id) for concept_id in kb.concept_ids()}
    return {
        concept_id: (concept._replace(aliases=()), {*kb.names_of(concept_id)}, kb.xrefs_of([concept_id]))
        for concept_id, concept in found.items()
    }


def test_a_descriptor_and_the_record_that_it_replaced_become_one_concept(tmp_path):
    orders = [*permutations((OLD, DESCRIPTOR, OTHER))]
    kbs = [built(tmp_path / f"{number}.kb", *records)[0] for number, records in enumerate(orders)]
    for kb, records in zip(kbs, orders, strict=True):
        assert contents(kb) == contents(kbs[0])
        assert kb.meta["built"] == {MERGED: 1}
        assert built(tmp_path / "again.kb", *records)[0].path.read_bytes() == kb.path.read_bytes()
    assert kbs[0].get("D000000001") == Concept(
        "D000000001",
        "Gemfake",
        ("gemfake", "gemfake salt", "dFdFake"),
        ("Chemical", "Drug"),
        "As it is.",
        ("C000001", "C000009"),
        ("D000006", "D000008"),
    )
    assert Name("gemfake salt", "exact", "MeSH") in kbs[0].names_of("D000000001")
    assert kbs[0].xrefs("D000000001") == ("CAS:1-00-0", "D000007", "UNII:0123456789")
    assert kbs[0].find_id("C000001") == kbs[0].find_id("C000009") == ("D000000001",)
    assert ancestors("D000002", kbs[0]) == {"D000000001"}


def test_ids_with_several_records(tmp_path):
    records = (
        record("C000002", "GEMFAKE", "older", source="MeSH", types=("Drug",)),
        record("C000001", "again", source="MeSH", definition="Of another row."),
        record("D000000001", "Gemfakum", source="MeSH"),
        *(OLD, OTHER, DESCRIPTOR),
    )
    for order in (records, records[::-1]):
        kb, counts = built(tmp_path / "a.kb", *order)
        assert counts == {MERGED: 2, "records merged into an earlier one": 2}
        assert kb.ids("D000000001") == ("D000000001", "C000001", "C000002", "C000009")
        assert kb.get("D000000001").canonical_name == "Gemfake"
        assert kb.get("D000000001").definition == "As it is."
        assert len(kb.names_of("D000000001")) == 8


@pytest.mark.parametrize(
    ("old", "descriptor"),
    [
        ({"names": (Name("gemfake", "preferred", "CTD"),)}, {}),  # another source
        ({"types": ("Disease",)}, {}),
        ({"types": ()}, {}),  # nothing is known of its type
        ({}, {"types": ()}),
        ({"names": OLD.names[::-1]}, {}),  # it is another name of the old record
        ({}, {"names": DESCRIPTOR.names[::-1]}),
        ({"names": (Name("(+)-gemfake", "preferred", "MeSH"),)}, {}),  # signs may tell substances apart
        ({"concept_id": "OMIM:100001"}, {}),
        ({"concept_id": "C0000001"}, {}),  # of UMLS
        ({"concept_id": "D000003"}, {}),  # two descriptors
        ({}, {"concept_id": "C000003"}),  # none
        ({}, {"concept_id": "Q000001"}),
        ({}, {"concept_id": "DOID:1"}),
    ],
)
def test_other_records_of_one_name_stay_apart(tmp_path, old, descriptor):
    kb, counts = built(tmp_path / "a.kb", OLD._replace(**old), DESCRIPTOR._replace(**descriptor))
    assert len(kb) == 2
    assert counts == {}


def test_a_record_may_have_been_replaced_by_either_of_two_descriptors(tmp_path):
    assert len(built(tmp_path / "a.kb", OLD, DESCRIPTOR, DESCRIPTOR._replace(concept_id="D000003"))[0]) == 3


def test_what_refers_to_a_replaced_id_finds_its_descriptor(tmp_path):
    doid = Record("DOID:1", (Name("gem fake", "preferred", "DOID"),), xrefs=("C000001",))
    merged = [
        built(tmp_path / "a.kb", doid, OLD, DESCRIPTOR, equivalents=Equivalents([("DOID:1", "C000001")])),
        built(tmp_path / "b.kb", doid, OLD, DESCRIPTOR, merge_xrefs=("MESH",)),
        built(tmp_path / "c.kb", doid, OLD, DESCRIPTOR, merge_sources=True),
        built(
            tmp_path / "d.kb",
            *(doid._replace(names=(Name("gemfake", "preferred", "DOID"),), xrefs=(), types=("Drug",)), OLD, DESCRIPTOR),
            merge_sources=True,
        ),
    ]
    for kb, counts in merged:
        assert [*kb.concept_ids()] == ["DOID:1"]
        assert {*kb.ids("DOID:1")} == {"DOID:1", "D000000001", "C000001", "C000009"}
        assert counts == {MERGED: 1, "concepts merged into an earlier one by mappings": 1}
    with new_knowledge_base(tmp_path / "e.kb") as builder:
        for each in (OLD, DESCRIPTOR):
            builder.add(each)
        builder.add_mention("C000001", Name("GFK", "mention", "corpus"))
        builder.add_translation([record("C000001", "Gemfalso", source="es")], tmp_path)
        builder.finish({})
    assert KnowledgeBase(tmp_path / "e.kb").find_name("GFK") == ("D000000001",)
    assert KnowledgeBase(tmp_path / "e.kb").find_name("Gemfalso") == ("D000000001",)


def test_gold_ids_releases_filters_and_codes_know_a_replaced_id(tmp_path):
    before = built(tmp_path / "before.kb", OLD, OTHER)[0]
    kb = built(tmp_path / "after.kb", OLD, DESCRIPTOR, OTHER)[0]
    assert gold_concepts(["C000001", "D000000001"], kb.find_id) == [{"C000001", "D000000001"}]
    with compare(before, kb) as diff:
        (merged,) = (change for change in diff.changes() if change["change"] == "concept_merged")
        assert (merged["id"], merged["into"]) == ("C000001", ["D000000001"])
        concepts = {key: count for key, count in diff.summary()["concepts"].items() if count}
        assert concepts == {"kept": 1, "merged": 1, "new_ids": 1}
    (codes,) = CodeSystems(kb, ["MESH"]).of(["D000000001"]).values()
    origins = {code.code: code.origin for code in codes}
    assert origins == {"D000000001": OWN_ID, "C000001": ALTERNATIVE_ID, "C000009": ALTERNATIVE_ID}
    assert ConceptSet(kb, ["C000001"]).ids == ["D000000001"]


# --- merging by mapping


def test_records_whose_ids_mean_the_same_become_one_concept(tmp_path):
    kb, counts = built(
        tmp_path / "a.kb",
        record("D1", "neoplasm", source="mesh", alternative_ids=("D9",), types=("Disease",), parents=("D2",)),
        record("D2", "disease", source="mesh"),
        record(
            "DOID:162",
            "cancer",
            "neoplasm",
            source="doid",
            alternative_ids=("DOID:7",),
            types=("disease",),
            definition="Of cells.",
            parents=("DOID:4", "DOID:0"),
            xrefs=("C0000001",),
        ),
        record("DOID:162", "malignancy", source="more", definition="Another."),
        record("DOID:4", "illness", source="doid"),
        equivalents=Equivalents([("DOID:162", "MONDO:1"), ("MONDO:1", "D1"), ("DOID:4", "OMIM:1")]),
    )
    assert list(kb.concept_ids()) == ["D1", "D2", "DOID:4"]
    assert list(kb.names()) == ["neoplasm", "disease", "cancer", "malignancy", "illness"]
    assert kb.get("D1") == Concept(
        "D1",
        "neoplasm",
        ("cancer", "malignancy"),
        ("Disease", "disease"),
        "Of cells.",
        ("D9", "DOID:162", "DOID:7"),
        ("D2", "DOID:0", "DOID:4"),
    )
    assert kb.xrefs("D1") == ("C0000001",)
    assert kb.find_id("DOID:162") == kb.find_id("DOID:7") == ("D1",)
    assert kb.names_of("D1") == [
        Name("neoplasm", "exact", "doid"),
        Name("neoplasm", "exact", "mesh"),
        Name("cancer", "exact", "doid"),
        Name("malignancy", "exact", "more"),
    ]
    assert kb.find_id("MONDO:1") == ()  # no record has this id
    assert counts == {"records merged into an earlier one": 1, "concepts merged into an earlier one by mappings": 1}


def test_alternative_ids_merge_nothing(tmp_path):
    kb, counts = built(
        tmp_path / "a.kb",
        record("A", "a", alternative_ids=("C",)),
        record("B", "b"),
        record("C", "c"),
        equivalents=Equivalents([("C", "B")]),
    )
    assert list(kb.concept_ids()) == ["A", "B"]
    assert kb.find_id("C") == ("A", "B")
    assert counts == {"concepts merged into an earlier one by mappings": 1}


@pytest.mark.parametrize(
    ("merge_xrefs", "left"),
    [
        ((), "C0000001 D000001 DOID:1 Orphanet:1"),
        (("umls_cui",), "C0000001 D000001 Orphanet:1"),
        (("MSH",), "C0000001 D000001 DOID:1"),
        (("omim",), "C0000001 D000001 DOID:1"),
        (("UMLS", "OMIM"), "C0000001 D000001"),
    ],
)
def test_cross_references_merge_only_where_they_are_asked_to(tmp_path, merge_xrefs, left):
    kb, counts = built(
        tmp_path / "a.kb",
        *(record("C0000001", "one"), record("D000001", "two")),
        record("DOID:1", "three", xrefs=("C0000001", "OMIM:5")),
        record("Orphanet:1", "four", xrefs=("OMIM:5", "D000001")),
        merge_xrefs=merge_xrefs,
    )
    assert list(kb.concept_ids()) == left.split()
    assert kb.find_xref("OMIM:5") == tuple(sorted({*kb.find_id("DOID:1"), *kb.find_id("Orphanet:1")}))
    assert counts.get("concepts merged into an earlier one by mappings", 0) == 4 - len(left.split())


@pytest.mark.parametrize(*cases(__file__, "sources_share_concepts"))
def test_sources_share_concepts(tmp_path, second, merges):
    concept_id, name, source, type, *xrefs = second
    other = Record(concept_id, (Name(name, "preferred", source),), types=(type,) * bool(type), xrefs=tuple(xrefs))
    first = Record("D000001", (Name("Grey fever", "preferred", "mesh"),), ("OMIM:1",), ("Disease",))
    kb, _ = built(tmp_path / "a.kb", first, other, merge_sources=True)
    assert list(kb.concept_ids()) == ["D000001", concept_id][: 2 - merges]
    assert len(built(tmp_path / "b.kb", first, other)[0]) == 2


def test_two_concepts_of_a_source_are_not_joined_by_another_source(tmp_path):
    def named(concept_id, name, *xrefs):
        return Record(concept_id, (Name(name, "preferred", concept_id[:2]),), types=("Disease",), xrefs=xrefs)

    records = named("MESH:1", "Hypertonia"), named("HP:1", "Increased tone", "MESH:1"), named("HP:2", "Hypertonia")
    kb, _ = built(tmp_path / "a.kb", *records, merge_sources=True)
    assert len(kb) == 2
    assert {len(kb.find_id(concept_id)) for concept_id in ("MESH:1", "HP:1", "HP:2")} == {1}
    assert kb.find_id("HP:1") != kb.find_id("HP:2")


def test_a_record_that_joins_concepts_is_counted(tmp_path):
    kb, counts = built(
        tmp_path / "a.kb",
        record("C0000001", "one"),
        record("D000001", "two"),
        record("X:1", "between"),
        record("DOID:1", "three", xrefs=("C0000001", "D000001")),
        merge_xrefs=("UMLS", "MESH"),
    )
    assert [kb.ids(concept_id) for concept_id in kb.concept_ids()] == [("C0000001", "D000001", "DOID:1"), ("X:1",)]
    assert [kb.concept_id(int(row)) for row in kb.name_concepts.concepts] == ["C0000001", "C0000001", "X:1", "C0000001"]
    assert counts == {"concepts merged into an earlier one by mappings": 2, "concepts joined by a later record": 1}


def test_cross_references_that_are_not_one_to_one_merge_nothing(tmp_path):
    kb, counts = built(
        tmp_path / "a.kb",
        record("C0000001", "one"),
        record("C0000002", "two"),
        record("DOID:1", "both", xrefs=("C0000001", "C0000002")),
        record("DOID:2", "also the second", xrefs=("C0000002",)),
        record("HP:1", "the second of another", xrefs=("C0000002",)),
        merge_xrefs=("UMLS",),
    )
    assert list(kb.concept_ids()) == ["C0000001", "C0000002", "DOID:1", "DOID:2"]
    assert kb.ids("C0000002") == ("C0000002", "HP:1")
    assert counts == {
        "concepts merged into an earlier one by mappings": 1,
        "cross-references that merge nothing, as they are not one to one": 3,
    }


def test_a_vocabulary_that_nothing_refers_to_is_reported(tmp_path):
    for read, known in ((RECORD, r"UMLS \(1\)"), (record("C0000001", "one"), "nothing")):
        with pytest.raises(EmptyError, match=rf"SNOMED.*refer to: {known}\."):
            built(tmp_path / "a.kb", read, merge_xrefs=("SNOMED",))
    assert list(tmp_path.iterdir()) == []


def test_mentions_find_merged_concepts(tmp_path):
    with new_knowledge_base(tmp_path / "a.kb", Equivalents([("A", "C")])) as builder:
        for concept_id in "ABC":
            builder.add(record(concept_id, concept_id.lower()))
        builder.add_mention("C", Name("m", "mention", "corpus"))
        assert builder.names_of("A") == builder.names_of("C") == ["a", "c", "m"]
        with pytest.raises(RuntimeError, match="before mentions"):
            builder.add(record("D", "d"))
        builder.finish({})
    kb = KnowledgeBase(tmp_path / "a.kb")
    assert [name.text for name in kb.names_of("A")] == ["a", "c", "m"]
    assert kb.names_of("B") == [Name("b", "exact", "s")]


pairs = st.tuples(st.sampled_from("ABCDEFG"), st.sampled_from("ABCDEFG"))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from("ABCDEFG"), min_size=1, max_size=12), st.lists(pairs, max_size=6))
def test_any_mappings(ids, equal):
    classes = {one: {one} for one in "ABCDEFG"}
    for one, other in equal:
        joined = classes[one] | classes[other]
        classes |= dict.fromkeys(joined, joined)
    expected: dict[str, set[str]] = {}
    for concept_id in ids:
        first = next((known for known in expected if known in classes[concept_id]), concept_id)
        expected.setdefault(first, set()).add(concept_id)
    with TemporaryDirectory() as folder:
        given_records = [record(concept_id, f"{i}", concept_id) for i, concept_id in enumerate(ids)]
        kb, counts = built(Path(folder) / "a.kb", *given_records, equivalents=Equivalents(equal))
        assert {concept_id: set(kb.ids(concept_id)) for concept_id in kb.concept_ids()} == expected
        assert list(kb.concept_ids()) == list(expected)
        assert list(kb.names()) == list(dict.fromkeys(name.text for each in given_records for name in each.names))
        for first, of in expected.items():
            texts = {name.text for each in given_records if each.concept_id in of for name in each.names}
            assert {name.text for name in kb.names_of(first)} == texts
        assert sum(counts.values()) == len(ids) - len(expected)


def test_mentions_count_their_annotations_and_find_concepts_by_any_id(tmp_path):
    with new_knowledge_base(tmp_path / "a.kb") as builder:
        builder.add(record("A", "a", alternative_ids=("C",)))
        builder.add(record("B", "b", alternative_ids=("C",)))
        for concept_id, text in (("A", "m"), ("C", "m"), ("B", "b"), ("X", "m"), ("A", " ")):
            builder.add_mention(concept_id, Name(text, "mention", "corpus"))
        assert builder.names_of("C") == ["a", "b", "m"]
        assert builder.names_of("X") == []
        builder.finish({})
    assert builder.counts == {"mentions added": 3, "mentions whose id is not in the vocabulary": 1, "empty names": 1}
    kb = KnowledgeBase(tmp_path / "a.kb")
    rows = zip(kb.name_concepts.names, kb.name_concepts.concepts, kb.name_concepts.annotations, strict=True)
    matching_entries = [(kb.name(int(name)), kb.concept_id(int(concept)), count) for name, concept, count in rows]
    assert sorted(matching_entries) == [("a", "A", 0), ("b", "B", 1), ("m", "A", 2), ("m", "B", 1)]
    assert sorted(kb.names_of("B")) == [
        Name("b", "exact", "s"),
        Name("b", "mention", "corpus"),
        Name("m", "mention", "corpus"),
    ]


# --- nothing half


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def test_an_empty_vocabulary_is_not_written(tmp_path):
    with pytest.raises(EmptyError, match="concept in the sources"):
        build_knowledge_base([], tmp_path / "a.kb")
    with pytest.raises(EmptyError, match="concept in the sources"):
        build_knowledge_base([record("D1", " ")], tmp_path / "a.kb")
    assert list(tmp_path.iterdir()) == []


def test_a_builder_that_was_not_finished(tmp_path):
    with pytest.raises(RuntimeError, match="finish"), new_knowledge_base(tmp_path / "a.kb") as builder:
        builder.add(RECORD)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_build_that_is_cut_off_leaves_nothing(tmp_path, error):
    def failing():
        yield RECORD
        raise error

    with pytest.raises(error):
        build_knowledge_base(failing(), tmp_path / "a.kb")
    assert list(tmp_path.iterdir()) == []


def test_a_build_that_fails_leaves_the_knowledge_base_that_was_there(small_kb, tmp_path):
    path = tmp_path / "a.kb"
    before = build_knowledge_base([RECORD], path).path.read_bytes()
    with pytest.raises(EmptyError, match="concept in the sources"):
        build_knowledge_base([], path)
    assert only_file(tmp_path).read_bytes() == before
    build_knowledge_base([record("D5", "five")], path)
    assert list(KnowledgeBase(only_file(tmp_path)).names()) == ["five"]


def test_folders_are_made_and_the_file_is_for_all_who_may_read(tmp_path):
    old = os.umask(0o022)
    try:
        kb = build_knowledge_base([RECORD], tmp_path / "new" / "folder" / "a.kb")
    finally:
        os.umask(old)
    assert stat.S_IMODE(kb.path.stat().st_mode) == 0o644


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "a.kb", tmp_path):
        with pytest.raises(CannotWriteError, match="Choose another place"):
            build_knowledge_base([RECORD], path)
    assert only_file(tmp_path).name == "file"


@pytest.mark.parametrize("database", ["main", "temp"])
def test_a_full_disk(tmp_path, database):
    before = build_knowledge_base([RECORD], tmp_path / "a.kb").path.read_bytes()

    def fill(builder):
        builder._db.execute(f"PRAGMA {database}.max_page_count = 30")
        for i in range(20):
            builder.add(record(f"D{i}", str(i) * 10_000))
        builder.finish({})

    with pytest.raises(CannotWriteError, match=r"full.*make room"), new_knowledge_base(tmp_path / "a.kb") as builder:
        fill(builder)
    assert only_file(tmp_path).read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_build_that_was_killed(tmp_path):
    path = tmp_path / "a.kb"
    before = build_knowledge_base([RECORD], path).path.read_bytes()
    child = os.fork()
    if not child:
        try:
            with new_knowledge_base(path) as builder:
                builder.add(record("D5", "five"))
                builder._place_records()
                builder._fill_tables()
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert path.read_bytes() == before
    (left,) = (other for other in tmp_path.iterdir() if other != path)
    assert left.match(".a.kb.*.tmp")
    build_knowledge_base([RECORD], path)
    assert path.read_bytes() == before


# --- languages and predicates


def test_a_name_may_be_in_two_languages(tmp_path):
    names = [Name("diabetes", "preferred", "s", "en"), Name("diabetes", "preferred", "s", "es")]
    kb, _ = built(tmp_path / "a.kb", Record("D1", (*names, names[1])))
    assert kb.names_of("D1") == names
    assert (kb.n_names, kb.language_counts(), kb.source_counts()) == (1, {"en": 1, "es": 1}, {"s": 1})
    other, _ = built(tmp_path / "b.kb", Record("D1", (names[0],)))
    assert other.fingerprint != kb.fingerprint


def test_a_broader_cross_reference_merges_nothing(tmp_path):
    def one(concept_id, predicate):
        return record(concept_id, concept_id, xrefs=("C0000001",), xref_predicates=(("C0000001", predicate),))

    kb, _ = built(tmp_path / "a.kb", one("A:1", "skos:exactMatch"), one("B:1", "skos:broadMatch"), merge_xrefs=["umls"])
    assert len(kb) == 2
    kb, _ = built(tmp_path / "b.kb", one("A:1", "skos:exactMatch"), one("B:1", "owl:sameAs"), merge_xrefs=["umls"])
    assert len(kb) == 1
    assert kb.xrefs("A:1") == ("C0000001",)
    assert kb.xrefs_of(["A:1", "A:2"]) == {
        "A:1": (("C0000001", "owl:sameAs"), ("C0000001", "skos:exactMatch")),
        "A:2": (),
    }


# --- translations

BASE = [
    Record("D1", (Name("fever", "preferred", "s", "en"),), ("D9", "D8")),
    Record("D2", (Name("rash", "preferred", "s", "en"),), ("D8",)),
]


def spanish(concept_id, *texts):
    return Record(concept_id, tuple(Name(text, "preferred", "s-es", "es") for text in texts))


def translated(path, translation, equivalents=None):
    """The knowledge base of the base and a translation, and the warning."""
    with new_knowledge_base(path, equivalents) as builder:
        for base in BASE:
            builder.add(base)
        warning = builder.add_translation(translation, Path("es.tsv"))
        builder.finish({})
    return KnowledgeBase(path), warning


def test_names_are_added_to_known_concepts_only(tmp_path):
    records = [spanish("D1", "fiebre"), spanish("D9", "calentura"), spanish("D2", "erupción"), spanish("D7", "tos")]
    records += [spanish("D1", f"fiebre {n}") for n in range(8)]
    kb, warning = translated(tmp_path / "a.kb", records)
    assert list(kb.concept_ids()) == ["D1", "D2"]
    assert [name[:2] + name[3:] for name in kb.names_of("D1")[:3]] == [
        ("fever", "preferred", "en"),
        ("fiebre", "preferred", "es"),
        ("calentura", "preferred", "es"),
    ]
    assert kb.language_counts() == {"en": 2, "es": 11}
    assert kb.meta["built"] == {"translations added": 11, "translations of unknown concepts": 1}
    assert warning is None  # one of twelve


def test_which_concept_an_id_of_a_translation_means(tmp_path):
    """An id of several concepts means none of them, and an equivalent id the concept."""
    records = [spanish("D8", "fiebre con erupción"), spanish("X:1", "fiebre"), spanish("X:2", "tos")]
    kb, _ = translated(tmp_path / "a.kb", records, Equivalents([("X:1", "D1")]))
    assert kb.find_name("fiebre con erupción") == kb.find_name("tos") == ()
    assert kb.find_name("fiebre") == ("D1",)
    assert kb.meta["built"]["translations whose id belongs to several concepts"] == 1
    kb, warning = translated(tmp_path / "b.kb", [])
    assert (len(kb), kb.n_names, warning) == (2, 2, None)


def test_a_translation_of_another_release(tmp_path):
    records = [spanish("D1", "fiebre"), spanish("D5", "tos", "tos seca"), spanish("D6", "gripe")]
    _, warning = translated(tmp_path / "a.kb", records)
    assert "[W576] The vocabulary lacks the concepts of 3 of the 4 names in the translation es.tsv" in warning


def test_a_translation_of_another_vocabulary(tmp_path):
    with pytest.raises(MismatchError, match=r"es\.tsv.*its 8 names, such as HP:1, HP:2, HP:3\."):
        translated(tmp_path / "a.kb", [spanish(f"HP:{n}", "x") for n in range(1, 9)])
    assert not list(tmp_path.iterdir())
