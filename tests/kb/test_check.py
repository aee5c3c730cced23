import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.check import KINDS, MAX_EXAMPLES, check_knowledge_base, describe, suspicious_names
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.stop_names import COMMON, StopNameRules
from spacy_sapbert.types import Name, Record


def record(concept_id, names, **others):
    return Record(concept_id, tuple(Name(text, "exact", "t") for text in names.split("|")), **others)


@pytest.fixture
def checked(tmp_path):
    """A function that builds a knowledge base and gives the remarks on it; there must be no problems."""

    def run(*records):
        result = check_knowledge_base(build_knowledge_base(records, tmp_path / "a.kb"))
        assert result["problems"] == {}
        return result["remarks"]

    return run


@pytest.fixture
def damaged(small_kb, tmp_path):
    """A function that changes a copy of the small knowledge base by SQL and gives the problems that it then has."""

    def run(*statements):
        path = shutil.copyfile(small_kb.path, tmp_path / "damaged.kb")
        with closing(sqlite3.connect(path)) as db, db:
            for statement in statements:
                assert db.execute(statement).rowcount
        return check_knowledge_base(KnowledgeBase(path))["problems"]

    return run


def test_the_result_is_json(small_kb):
    result = check_knowledge_base(small_kb)
    assert json.loads(json.dumps(result)) == result
    assert result["kb"] == str(small_kb.path)


# --- problems


def test_a_sound_knowledge_base(small_kb):
    assert check_knowledge_base(small_kb)["problems"] == {}


# rows of the small knowledge base: concept 1 is D001943 with the names 3 (preferred) to 6
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM synonyms WHERE concept = 1",
        "DELETE FROM ids WHERE id = 'D001943'",
        "UPDATE types SET concept = 99 WHERE concept = 1",
        "UPDATE parents SET concept = 99 WHERE concept = 1",
        "UPDATE names SET row = 50 WHERE row = 4",
        "UPDATE concepts SET definition = 'x' WHERE row = 3",
        "UPDATE synonyms SET annotations = 5 WHERE name = 0",
        "DELETE FROM stop_names",
    ],
)
def test_changed_content_has_another_fingerprint(damaged, small_kb, statement):
    (example,) = damaged(statement)["wrong_fingerprint"]["examples"]
    assert example["meta"] == small_kb.fingerprint != example["content"]


def test_a_damaged_page_is_all_that_is_reported(small_kb, tmp_path):
    path = shutil.copyfile(small_kb.path, tmp_path / "damaged.kb")
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'names_by_text'").fetchone()
        (page_size,) = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * page_size)
        file.write(b"\xff" * 64)
    result = check_knowledge_base(KnowledgeBase(path))
    assert list(result["problems"]) == ["file_damage"]
    assert result["problems"]["file_damage"]["count"] >= 1
    assert result["remarks"] == {}


# --- remarks


def test_nothing_to_remark(checked):
    assert checked(record("A", "a|b", types=("T",)), record("B", "c", types=("T",), parents=("A",))) == {}


def test_names_of_several_concepts(checked):
    three = Record("C", (Name("b", "exact", "u"), Name("a", "exact", "t"), Name("c", "exact", "u")), types=("T",))
    remarks = checked(record("A", "a|b", types=("T",)), record("B", "a", types=("T",)), three)
    assert remarks == {
        "names_of_several_concepts": {
            "count": 2,
            "by_source": {"t": 1},
            "examples": [
                {"name": "a", "concepts": 3, "ids": ["A", "B", "C"]},
                {"name": "b", "concepts": 2, "ids": ["A", "C"]},
            ],
        }
    }


def test_odd_names(checked):
    remarks = checked(record("A", "a|--|é|" + "x" * 501 + "|+|" + "y" * 500 + "|2|漢", types=("T",)))
    assert remarks["odd_names"] == {
        "count": 3,
        "examples": [
            {"name": "--", "why": "no letter and no digit"},
            {"name": "x" * 500, "why": "longer than 500 characters"},
            {"name": "+", "why": "no letter and no digit"},
        ],
    }


def test_concepts_without_types(checked):
    remarks = checked(record("B", "b"), record("A", "a"), record("C", "c", types=("T",)))
    assert remarks == {"concepts_without_types": {"count": 2, "examples": ["B", "A"]}}


def test_ids_and_parents(checked):
    remarks = checked(
        record("A", "a", types=("T",), alternative_ids=("X", "B"), parents=("B", "Z", "Y")),
        record("B", "b", types=("T",), alternative_ids=("X",), parents=("Z",)),
    )
    assert remarks["ids_of_several_concepts"]["examples"] == [
        {"id": "B", "concepts": ["B", "A"]},
        {"id": "X", "concepts": ["A", "B"]},
    ]
    assert remarks["unknown_parents"] == {"count": 2, "examples": ["Y", "Z"]}


def test_examples_are_few(checked):
    remarks = checked(*(record(f"A{i:02}", f"a{i}") for i in range(30)))
    assert remarks["concepts_without_types"]["count"] == 30
    assert len(remarks["concepts_without_types"]["examples"]) == MAX_EXAMPLES


# --- suspicious names


def test_reasons_for_suspicion(tmp_path):
    genes = build_knowledge_base([record("HGNC:1", "ALS|face")], tmp_path / "genes.kb")
    records = [
        record("A:1", "Chronic|Acute|ALS|Common name of three"),
        record("A:2", "Face|Intoe|Common name of three|XYZ"),
        record("A:3", "Stomach ache|Green tea|Common name of three"),
    ]
    rules = StopNameRules(kept=frozenset({"chronic"}))
    kb = build_knowledge_base(records, tmp_path / "a.kb", stop_names=rules)
    names = sorted(suspicious_names(kb, [genes]))
    assert [(name.name, name.ids, name.kind) for name in names] == [
        ("Chronic", ("A:1",), KINDS[0]),
        ("Green tea", ("A:3",), KINDS[1]),
        ("ALS", ("A:1",), KINDS[2]),
        ("Face", ("A:2",), KINDS[3]),
        ("Common name of three", ("A:1", "A:2", "A:3"), KINDS[4]),
        ("Intoe", ("A:2",), KINDS[5]),
    ]
    assert [name.why for name in names] == [
        COMMON,
        "a general name in vocabularies of drugs or findings",
        "also a name in genes.kb",
        "a frequent English noun",
        "a name of 3 concepts",
        'differs from "into" only in its ending',
    ]
    assert names[0].as_json() == {"name": "Chronic", "ids": ["A:1"], "why": COMMON, "general": True}


def test_frequent_nouns_come_first(tmp_path):
    kb = build_knowledge_base([record("A:1", "headache|heart|cancer")], tmp_path / "a.kb")
    assert [name.name for name in sorted(suspicious_names(kb))] == ["heart", "cancer", "headache"]


# --- counts


def test_what_the_small_knowledge_base_holds(small_kb):
    result = describe(small_kb)
    assert {key: result[key] for key in small_kb.meta} == small_kb.meta
    assert result["types"] == small_kb.type_counts()
    assert result["names_by_source"] == small_kb.source_counts()
    assert {key: result[key] for key in result if key.startswith("concepts_with")} == {
        "concepts_with_definition": 2,
        "concepts_with_parents": 4,
        "concepts_with_types": 15,
        "concepts_with_xrefs": 0,
    }
    assert (result["names_of_several_concepts"], result["alternative_ids"]) == (2, 4)
    assert json.loads(json.dumps(result)) == result


def test_names_by_language(tmp_path):
    names = (Name("a", "exact", "t"), Name("b", "exact", "t", "es"), Name("b", "exact", "u", "es"))
    kb = build_knowledge_base([Record("D1", names), Record("D2", (Name("b", "exact", "t", "en"),))], tmp_path / "a.kb")
    assert describe(kb)["names_by_language"] == {"": 1, "en": 1, "es": 1}
    assert describe(kb)["names_by_source"] == {"t": 3, "u": 1}
