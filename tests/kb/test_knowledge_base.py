import multiprocessing
import pickle
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import DamagedError, SapbertError
from spacy_sapbert.kb import knowledge_base
from spacy_sapbert.kb.build import build_knowledge_base, new_knowledge_base
from spacy_sapbert.kb.database import FORMAT
from spacy_sapbert.kb.ids import SUPPLEMENTARY_ID
from spacy_sapbert.kb.knowledge_base import ConceptSummary, KnowledgeBase
from spacy_sapbert.types import Concept, Name, Record


@pytest.fixture
def copied(small_kb, tmp_path):
    """A path of a knowledge base that a test may damage."""
    return shutil.copyfile(small_kb.path, tmp_path / "copied.kb")


# --- lookups


def test_a_concept_with_all_that_is_known_of_it(small_kb):
    assert small_kb.get("D001943") == Concept(
        "D001943",
        "Breast Neoplasms",
        ("breast cancer", "Cancer, Breast", "carcinoma of the breast"),
        ("Disease",),
        None,
        ("OMIM:114480",),
        ("D009369",),
    )
    assert small_kb.get("D009369").definition == "New abnormal growth of tissue."
    assert small_kb.get("OMIM:114480") is None
    assert small_kb.get("D1") is None


def test_ids(small_kb):
    assert small_kb.ids("D001241") == ("D001241", "X1", "X2")
    assert small_kb.ids("X1") == ()
    assert small_kb.find_id("X2") == small_kb.find_id("D001241") == ("D001241",)
    assert small_kb.find_id("X3") == ()
    assert [small_kb.concept_id(row) for row in range(len(small_kb))] == list(small_kb.concept_ids())


def test_ids_in_the_form_of_earlier_versions(tmp_path):
    """Corrections have them, or the vocabulary has them and corrections do not."""
    ids = ("EFO_0004274", "HP:0001945")
    kb = build_knowledge_base([Record(id, (Name(f"name of {id}", "exact", "x"),)) for id in ids], tmp_path / "a.kb")
    assert kb.find_id("EFO:0004274") == kb.find_id("EFO_0004274") == ("EFO_0004274",)
    assert kb.find_id("HP_0001945") == kb.find_id("HPO:HP_0001945") == ("HP:0001945",)
    assert kb.find_id("EFO:1") == ()


def test_many_at_once_as_one_by_one(small_kb, monkeypatch):
    monkeypatch.setattr(knowledge_base, "VALUES_PER_QUERY", 2)  # more values than a query takes
    ids = [*reversed(list(small_kb.concept_ids())), "D000000"]
    rows = [small_kb.concept_rows(concept_id)[0] for concept_id in ids[:-1]]
    names = [5, 0, 5, *range(small_kb.n_names)]
    assert small_kb.names_at(names) == [small_kb.name(row) for row in names]
    assert small_kb.ids_of(ids) == {concept_id: small_kb.ids(concept_id) for concept_id in ids}
    concepts = [small_kb.get(concept_id) for concept_id in ids[:-1]]
    assert small_kb.types_at(rows) == [concept.types for concept in concepts]
    all_names = [{concept.canonical_name, *concept.aliases} for concept in concepts]
    assert list(map(set, small_kb.names_of_concepts(rows))) == all_names
    summaries = {
        concept.concept_id: ConceptSummary(
            concept.canonical_name,
            concept.types,
            count_annotations(small_kb, concept.concept_id),
            1 + len(concept.aliases),
        )
        for concept in concepts
    }
    assert small_kb.summaries_of(ids) == summaries
    without_types = {concept_id: summary._replace(types=()) for concept_id, summary in summaries.items()}
    assert small_kb.summaries_of(ids, with_types=False) == without_types
    labels = small_kb.labels_of(ids)
    assert labels == {concept_id: summary[:2] for concept_id, summary in summaries.items()}
    assert small_kb.names_at([]) == small_kb.types_at([]) == small_kb.names_of_concepts([]) == []
    assert small_kb.annotations_of([]) == []
    assert small_kb.ids_of([]) == small_kb.summaries_of([]) == small_kb.labels_of([]) == {}
    assert small_kb.labels_of(["none"]) == {}


def test_rows_that_do_not_exist(small_kb):
    for read, n in ((small_kb.names_at, small_kb.n_names), (small_kb.concept_ids_at, len(small_kb))):
        assert len(read([0, n - 1])) == 2
        for row in (n, -1, -n, 2**40):
            with pytest.raises(IndexError):
                read([0, row])


def test_ids_of_any_length_and_script(tmp_path):
    ids = ["é", "漢字:1", "D000001", "x" * 300, "😀", "a b", "Ω"]
    names = (Name("a", "exact", "t"),)
    kb = build_knowledge_base([Record(one, names) for one in ids], tmp_path / "a.kb")
    assert kb.concept_ids_at(range(len(ids))) == list(kb.concept_ids()) == ids


def test_primary_id_goes_before_the_same_alternative_one(tmp_path):
    names = (Name("a", "exact", "t"),)
    kb = build_knowledge_base([Record("A", names, ("C",)), Record("B", names), Record("C", names)], tmp_path / "a.kb")
    assert kb.find_id("C") == ("C", "A")


def test_names_of_a_concept_preferred_first(small_kb):
    assert small_kb.names_of("D003080") == [
        Name("cold", "preferred", "MEDIC"),
        Name("Cold Temperature", "exact", "MEDIC"),
    ]
    assert small_kb.names_of("D003139")[0].text == "Common Cold"
    assert small_kb.names_of("X1") == []
    assert small_kb.name_texts("X1") == []
    assert set(small_kb.name_texts("D003080")) == {name.text for name in small_kb.names_of("D003080")}


def test_homonyms_are_found_by_who_prefers_them_then_by_id(small_kb):
    assert small_kb.find_name("cold") == ("D003080", "D003139")
    assert small_kb.find_name("Seizures") == ("D012640", "HP:0001250")
    assert small_kb.find_name("seizures") == ()


def test_names_have_rows_without_gaps(small_kb, small_vocabulary):
    names = list(small_kb.names())
    assert names == list(dict.fromkeys(name.text for record in small_vocabulary for name in record.names))
    assert [small_kb.name(row) for row in range(small_kb.n_names)] == names
    for row in (-1, len(names)):
        with pytest.raises(IndexError):
            small_kb.name(row)


def test_counts(small_kb):
    assert len(small_kb) == 15
    assert small_kb.type_counts() == {"Chemical": 3, "Disease": 10, "Drug": 2, "Phenomenon": 1, "Phenotype": 1}
    assert small_kb.source_counts() == {"CTD": 7, "HPO": 3, "MEDIC": 26}
    assert small_kb.meta.items() >= {"concepts": 15, "names": 34, "format": FORMAT, "licence": "MIT"}.items()


def test_cross_references(tmp_path):
    names = (Name("a", "exact", "t"),)
    xrefs = {"A": ("C0000002", "OMIM:1"), "B": (), "C": ("OMIM:1",)}
    kb = build_knowledge_base((Record(id_, names, xrefs=of) for id_, of in xrefs.items()), tmp_path / "a.kb")
    assert {id_: kb.xrefs(id_) for id_ in (*xrefs, "OMIM:1")} == {**xrefs, "OMIM:1": ()}
    assert kb.find_xref("OMIM:1") == ("A", "C")
    assert kb.find_xref("C0000002") == ("A",)
    assert kb.find_xref("A") == ()


# --- ownership


@pytest.fixture
def shared_names_kb(tmp_path):
    """Names by row: 0 "a" of A and B, 1 "b" of B (preferred) and A, 2 "c" of B by two sources."""
    with new_knowledge_base(tmp_path / "owned.kb") as builder:
        builder.add(Record("A", (Name("a", "exact", "s"), Name("b", "exact", "t")), types=("T",)))
        builder.add(
            Record("B", (Name("b", "exact", "s"), Name("a", "exact", "s"), Name("c", "exact", "s")), types=("U",))
        )
        builder.add_mention("B", Name("c", "mention", "corpus"))
        builder.add_mention("B", Name("c", "mention", "corpus"))
        builder.add_mention("B", Name("c", "mention", "other"))
        builder.finish({})
    return KnowledgeBase(tmp_path / "owned.kb")


def test_ownership(shared_names_kb):
    name_concepts = shared_names_kb.name_concepts
    assert name_concepts.names.tolist() == [0, 0, 1, 1, 2]
    assert name_concepts.concepts.tolist() == [0, 1, 0, 1, 1]
    assert name_concepts.preferred.tolist() == [True, False, False, True, False]
    assert name_concepts.annotations.tolist() == [0, 0, 0, 0, 3]


def count_annotations(kb, concept_id, name=None):
    """Count how often corpora annotate a concept, by one name or all, from the rows of its names."""
    joined = "concepts c JOIN synonyms s ON s.concept = c.row JOIN names n ON n.row = s.name"
    sql = f"SELECT total(s.annotations) FROM {joined}"
    return kb.query(f"{sql} WHERE c.id = ? AND (? IS NULL OR n.text = ?)", concept_id, name, name)[0][0]


def test_annotations_of_a_name(shared_names_kb):
    times = {("B", "c"): 3, ("B", "a"): 0, ("A", "c"): 0, ("A", "C"): 0, ("X", "c"): 0}
    times |= {("B", None): 3, ("A", None): 0, ("X", None): 0}
    assert {pair: count_annotations(shared_names_kb, *pair) for pair in times} == times


SOME_IDS = ["C000001", "C000002", "C0000001", "D000001", "OMIM:1", "é", "Z"]


def test_annotations_of_many_names(shared_names_kb):
    ids = [*shared_names_kb.concept_ids(), "none"]
    pairs = [(concept_id, name) for concept_id in ids for name in (*shared_names_kb.names(), "none")]
    found = shared_names_kb.annotations_of(pairs)
    assert found == [count_annotations(shared_names_kb, *pair) for pair in pairs]
    assert set(found) == {0, 3}
    summaries = shared_names_kb.summaries_of(ids)
    assert {one: summaries[one].annotations for one in ids[:-1]} == {
        one: count_annotations(shared_names_kb, one) for one in ids[:-1]
    }


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from(SOME_IDS), st.integers(1, 3), st.integers(0, 2)),
        unique_by=lambda one: one[0],
        min_size=1,
    )
)
def test_which_concepts_go_first_where_names_say_nothing(drawn):
    with TemporaryDirectory() as folder:
        with new_knowledge_base(Path(folder) / "a.kb") as builder:
            for concept_id, n_names, _ in drawn:
                names = (Name(f"name {i} of {concept_id}", "exact", "s") for i in range(n_names))
                builder.add(Record(concept_id, tuple(names)))
            for concept_id, _, n_annotations in drawn:
                for _ in range(n_annotations):
                    builder.add_mention(concept_id, Name(f"name 0 of {concept_id}", "mention", "corpus"))
            builder.finish({})
        kb = KnowledgeBase(Path(folder) / "a.kb")
        expected = sorted(drawn, key=lambda one: (bool(SUPPLEMENTARY_ID.fullmatch(one[0])), -one[2], -one[1], one[0]))
        order = np.argsort(kb.tie_ranks)
        assert [kb.concept_id(row) for row in order.tolist()] == [concept_id for concept_id, *_ in expected]
        assert sorted(kb.tie_ranks.tolist()) == list(range(len(drawn)))


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from(SOME_IDS), st.lists(st.sampled_from("abcd"), min_size=1)), min_size=1),
    st.lists(st.tuples(st.sampled_from(SOME_IDS), st.sampled_from("abcd"))),
)
def test_ranks_of_names_and_concepts(drawn, mentions):
    """More annotations of the name, then a preferred name, then the concept that goes before others."""
    with TemporaryDirectory() as folder:
        with new_knowledge_base(Path(folder) / "a.kb") as builder:
            for concept_id, names in drawn:
                builder.add(Record(concept_id, tuple(Name(name, "exact", "s") for name in names)))
            for concept_id, name in mentions:
                if concept_id in dict(drawn):
                    builder.add_mention(concept_id, Name(name, "mention", "corpus"))
            builder.finish({})
        kb = KnowledgeBase(Path(folder) / "a.kb")
        entries = kb.name_concepts
        places = []
        for i, (name_row, row) in enumerate(zip(entries.names.tolist(), entries.concepts.tolist(), strict=True)):
            concept_id, name = kb.concept_id(row), kb.name(name_row)
            concept = kb.get(concept_id)
            annotations = count_annotations(kb, concept_id, name)
            place = -annotations, name != concept.canonical_name, kb.tie_ranks[row], name_row
            assert (entries.annotations[i], entries.preferred[i]) == (annotations, name == concept.canonical_name)
            places.append(place)
        assert np.argsort(entries.ranks).tolist() == sorted(range(len(places)), key=places.__getitem__)
        assert sorted(entries.ranks.tolist()) == list(range(len(places)))


def test_owners_of_names(shared_names_kb):
    which, owners = shared_names_kb.name_concepts.of(np.array([2, 0, 2, -1]))
    assert which.tolist() == [0, 1, 1, 2]
    assert owners.tolist() == [4, 0, 1, 4]
    which, owners = shared_names_kb.name_concepts.of(np.array([], dtype=np.int32))
    assert which.tolist() == owners.tolist() == []


def test_filters_of_types_and_sources(shared_names_kb):
    passing = {
        ((), ()): [1, 1, 1, 1, 1],
        (("T",), ()): [1, 0, 1, 0, 0],
        (("T", "U"), ()): [1, 1, 1, 1, 1],
        ((), ("t",)): [0, 0, 1, 0, 0],
        ((), ("t", "other")): [0, 0, 1, 0, 1],
        (("U",), ("t",)): [0, 0, 0, 0, 0],
        (("X",), ()): [0, 0, 0, 0, 0],
    }
    assert {chosen: shared_names_kb.matching_entries(*chosen).astype(int).tolist() for chosen in passing} == passing


# --- scispaCy's view


def test_concepts_by_id(small_kb):
    assert small_kb.cui_to_entity["D010051"].canonical_name == "Ovarian Neoplasms"
    assert small_kb.cui_to_entity["D010051"] == small_kb.get("D010051")
    assert list(small_kb.cui_to_entity) == list(small_kb.concept_ids())
    assert len(small_kb.cui_to_entity) == 15
    assert "OMIM:114480" not in small_kb.cui_to_entity
    with pytest.raises(KeyError):
        small_kb.cui_to_entity["OMIM:114480"]


def test_ids_by_name(small_kb):
    assert small_kb.alias_to_cuis["cold"] == {"D003139", "D003080"}
    assert dict(small_kb.alias_to_cuis)["CF"] == {"D003550"}
    assert len(small_kb.alias_to_cuis) == small_kb.n_names
    assert "no name" not in small_kb.alias_to_cuis


def test_opening_reads_nothing_of_the_names(small_kb, monkeypatch):
    asked = []
    query = KnowledgeBase._rows
    monkeypatch.setattr(KnowledgeBase, "_rows", lambda kb, sql, *values: asked.append(sql) or query(kb, sql, *values))
    assert len(KnowledgeBase(small_kb.path)) == 15
    assert asked == ["SELECT key, value FROM meta ORDER BY key"]


# --- the file


def test_the_file_is_only_read(copied):
    copied.parent.chmod(0o555)
    copied.chmod(0o444)
    before = copied.read_bytes()
    kb = KnowledgeBase(copied)
    assert kb.find_name("CF") == ("D003550",)
    with pytest.raises(DamagedError, match="readonly"):
        kb.query("DELETE FROM names")
    assert kb.query("PRAGMA trusted_schema") == [(0,)]
    copied.parent.chmod(0o755)
    assert copied.read_bytes() == before
    assert list(copied.parent.iterdir()) == [copied]


@pytest.mark.parametrize("name", ["with blank.kb", "50%41?mode=rw#.kb", "Wörter für Γ.kb"])
def test_odd_paths(small_kb, tmp_path, name):
    shutil.copyfile(small_kb.path, tmp_path / name)
    assert KnowledgeBase(tmp_path / name).find_name("CF") == ("D003550",)


def test_relative_paths_outlive_a_change_of_folder(copied, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kb = KnowledgeBase("copied.kb")
    monkeypatch.chdir("/")
    assert kb.find_name("CF") == ("D003550",)


def _look_up_all(kb):
    return [(name, kb.find_name(name)) for name in kb.names()]


def test_threads(small_kb):
    kb = KnowledgeBase(small_kb.path)
    expected = _look_up_all(small_kb)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: [_look_up_all(kb), kb.name_concepts.names.tolist()], range(12)))
    assert all(found == expected for found, _ in results)
    assert all(names == small_kb.name_concepts.names.tolist() for _, names in results)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_child_after_the_parent_has_read(small_kb):
    kb = KnowledgeBase(small_kb.path)
    expected = _look_up_all(kb)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    connection = kb._connection()
    child = context.Process(target=lambda: sender.send((kb._connection() is connection, _look_up_all(kb))))
    child.start()
    assert _look_up_all(kb) == expected
    assert receiver.poll(30)
    assert receiver.recv() == (False, expected)
    child.join(30)
    assert child.exitcode == 0
    assert _look_up_all(kb) == expected


def test_pickle(small_kb):
    _look_up_all(small_kb)
    again = pickle.loads(pickle.dumps(small_kb))
    assert again.path == small_kb.path
    assert _look_up_all(again) == _look_up_all(small_kb)


# --- what is no knowledge base


def test_no_file(tmp_path):
    for path in (tmp_path / "missing.kb", tmp_path):
        with pytest.raises(SapbertError, match=r"E504.*kb build"):
            KnowledgeBase(path)


def test_not_a_knowledge_base(tmp_path):
    (tmp_path / "text.kb").write_text("D009369||Neoplasms\n" * 1000)
    with pytest.raises(DamagedError, match=r"text\.kb.*not a database.*kb build"):
        KnowledgeBase(tmp_path / "text.kb")
    with sqlite3.connect(tmp_path / "other.kb") as connection:
        connection.execute("CREATE TABLE t (a)")
    with pytest.raises(DamagedError, match=r"no such table: meta"):
        KnowledgeBase(tmp_path / "other.kb")


def test_another_format_version(copied):
    with sqlite3.connect(copied) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    with pytest.raises(SapbertError, match=r"E600.*format 99, .* up to 4. Install a newer"):
        KnowledgeBase(copied)
    with sqlite3.connect(copied) as connection:
        connection.execute("UPDATE meta SET value = '3' WHERE key = 'format'")
    with pytest.raises(SapbertError, match=r"E305.*the format 3 of knowledge bases, and this version reads format 4"):
        KnowledgeBase(copied)


def test_repr(small_kb):
    assert repr(small_kb).startswith(f"KnowledgeBase({small_kb.path.name}: {len(small_kb)} concepts, ")
    assert f" {small_kb.n_names} names, " in repr(small_kb)
    shown = repr(small_kb.cui_to_entity)
    first = next(small_kb.concept_ids())
    assert shown.startswith(f"{{{first!r}: Concept(")
    assert shown.endswith(f", … {len(small_kb) - 3} more}}")


def test_labels_in_a_language(tmp_path):
    def spanish(text, scope):
        return Name(text, scope, "s-es", "es")

    records = [
        Record(
            "D1", (Name("fever", "preferred", "s", "en"), spanish("calentura", "exact"), spanish("fiebre", "preferred"))
        ),
        Record(
            "D2", (Name("rash", "preferred", "s", "en"), spanish("roncha", "exact"), spanish("sarpullido", "broad"))
        ),
        Record("D3", (Name("cough", "preferred", "s", "en"), spanish("molestia", "broad")), types=("T",)),
        Record("D4", (Name("asma", "preferred", "s", "es"), spanish("asma bronquial", "preferred"))),
    ]
    kb = build_knowledge_base(records, tmp_path / "a.kb")
    ids = ["D1", "D2", "D3", "D4"]
    for _ in range(2):  # the second time, they are kept
        for language, wanted in (
            ("", ["fever", "rash", "cough", "asma"]),
            ("es", ["fiebre", "roncha", "cough", "asma"]),
            ("en", ["fever", "rash", "cough", "asma"]),
        ):
            labels = kb.labels_of([*ids, "D5"], language)
            assert [labels[one].preferred for one in ids] == wanted
            assert labels["D3"].types == ("T",)
            assert len(labels) == 4
    assert kb.get("D1").canonical_name == "fever"
