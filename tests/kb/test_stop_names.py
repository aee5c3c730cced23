import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mentions import add_training_mentions
from spacy_sapbert.kb.stop_names import (
    COMMON,
    GENERAL,
    LISTED,
    NUMBER,
    QUALIFIER,
    SHORT,
    SYMBOL,
    TOP,
    StopNameRules,
    read_names,
)
from spacy_sapbert.types import Document, Mention, Name, Record


def record(concept_id, *names, **fields):
    return Record(concept_id, tuple(Name(name, "exact", "test") for name in names), **fields)


@pytest.fixture
def stopped(tmp_path):
    """Build a knowledge base, and return the reason of each stop name."""

    def build(*records, rules=None):
        kb = build_knowledge_base(records, tmp_path / "a.kb", stop_names=rules or StopNameRules())
        return {kb.name(row): reason for row, reason in kb.query("SELECT name, reason FROM stop_names ORDER BY name")}

    return build


def test_words_of_general_english(stopped):
    assert stopped(record("A:1", "Chronic", "chronic pain", "All", "ALL", "Intoe", "Cancer")) == {
        "Chronic": COMMON,
        "All": COMMON,
    }


@pytest.mark.parametrize(
    ("reason", "names"),
    [
        (NUMBER, ["12", "3.5", "viii", "XIV", "+/-"]),
        (SHORT, ["b", "MS", "H-7"]),
        (SYMBOL, ["Ca", "Ca(2+)", "K+", "Leu"]),
        (COMMON, ["mild"]),
        (None, ["MSA", "癌症", "mix-up"]),
    ],
)
def test_numbers_short_names_and_symbols(stopped, reason, names):
    reasons = stopped(record("A:1", "preferred", *names))
    assert [reasons.get(name) for name in names] == [reason] * len(names)


@pytest.mark.parametrize(
    ("concept_id", "types", "kept"),
    [
        ("CHEBI:1", (), {"Ca", "K+", "Leu"}),
        ("A:1", ("Chemical",), {"Ca", "K+", "Leu"}),
        ("A:1", ("T196",), {"Ca", "K+", "Leu"}),
        ("HGNC:1", (), {"AR", "T2"}),
        ("A:1", ("T028",), {"AR", "T2"}),
        ("A:1", ("Disease",), set()),
    ],
)
def test_types_that_ask_for_short_names_and_symbols(stopped, concept_id, types, kept):
    names = ["AR", "Ca", "K+", "Leu", "T2", "b"]
    assert set(names) - set(stopped(record(concept_id, "preferred", *names, types=types))) == kept


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("Drug", {"Chicken", "Hemoglobin", "Haemoglobins"}),
        ("Chemical", {"Chicken"}),
        ("Disease", {"Signs and symptoms", "Symptoms and Signs"}),
        ("T184", {"Signs and symptoms", "Symptoms and Signs"}),
        ("Species", set()),
        ("", {"Signs and symptoms", "Symptoms and Signs"}),
    ],
)
def test_general_names_of_some_types(stopped, type, expected):
    names = [
        "Chicken",
        "Hemoglobin",
        "Haemoglobins",
        "Signs and symptoms",
        "Symptoms and Signs",
        "Aspirin",
        "Chicken pox",
    ]
    found = stopped(record("A:1", *names, types=(type,) * bool(type)))
    assert found == dict.fromkeys(expected, GENERAL)


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("es", {"Derecha", "leve", "TAC", "Peso corporal"}),
        ("es-MX", {"Derecha", "leve", "TAC", "Peso corporal"}),
        ("", set()),
    ],
)
def test_general_words_of_other_languages(stopped, language, expected):
    names = [
        Name(name, "exact", "test", language) for name in ("Derecha", "leve", "TAC", "Tac", "Peso corporal", "tos")
    ]
    assert stopped(Record("A:1", tuple(names))) == dict.fromkeys(expected, GENERAL)


def test_a_name_of_several_concepts(stopped):
    """It is a stop name only if it is one for each of them."""
    assert stopped(record("A:1", "a preferred name", "Ca"), record("CHEBI:1", "calcium", "Ca")) == {}


def test_qualifiers_and_what_is_below_them(stopped):
    """By their ids, even in a circle of parents, and by their semantic types."""
    found = stopped(
        record("HP:0012823", "Clinical modifier", alternative_ids=("HP:9",), parents=("HP:1",)),
        record("HP:1", "Spatial pattern of an organ", parents=("HP:9",)),
        record("HP:2", "Near the midline", "Shared name", parents=("HP:1",)),
        record("HP:3", "Another phenotype", "Shared name"),
        record("C0000001", "Serious thing", types=("T080",)),
        record("C0000002", "Soreness", types=("T184",)),
    )
    names = ["Clinical modifier", "Spatial pattern of an organ", "Near the midline", "Serious thing"]
    assert found == dict.fromkeys(names, QUALIFIER)


def tree(prefix, n):
    """A top concept with children that have n children."""
    yield record(f"{prefix}:0", f"{prefix} top thing")
    yield record(f"{prefix}:1", f"{prefix} middle thing", parents=(f"{prefix}:0",))
    yield from (record(f"{prefix}:2{i}", f"{prefix} leaf {i}", parents=(f"{prefix}:1",)) for i in range(n))


def test_top_concepts(stopped):
    flat = [record("C:1", "parent thing"), record("C:2", "child thing", parents=("C:1",))]
    assert stopped(*tree("A", 2), *tree("B", 1), *flat) == {"A top thing": TOP, "B top thing": TOP}


def test_a_vocabulary_with_many_tops_is_no_single_hierarchy(stopped):
    rows = [
        record(f"A:{i}{level}", f"thing {i} {level}", parents=(f"A:{i}{level - 1}",) * (level > 0))
        for i in range(6)
        for level in range(3)
    ]
    assert stopped(*rows) == {}


def test_lists_of_the_user(stopped):
    rules = StopNameRules(added=frozenset({"cancer"}), kept=frozenset({"chronic", "ms"}))
    assert stopped(record("A:1", "Cancer", "Chronic", "MS", "acute"), rules=rules) == {
        "Cancer": LISTED,
        "acute": COMMON,
    }
    assert stopped(record("A:1", "Cancer", "acute"), rules=rules._replace(default=False)) == {"Cancer": LISTED}


def test_annotated_names_are_kept_and_the_rules_stay(tmp_path):
    rules = StopNameRules(added=frozenset({"sore throat"}), kept=frozenset({"mild"}))
    kb = build_knowledge_base(
        [record("A:1", "Pharyngitis", "Sore throat", "mild", "acute", "chronic")], tmp_path / "a.kb", stop_names=rules
    )
    assert kb.stop_name_counts() == {COMMON: 2, LISTED: 1}
    document = Document("1", "It was acute.", (Mention(7, 12, "acute", "Disease", ("A:1",)),))
    added = add_training_mentions(kb, [document], "corpus", tmp_path / "b.kb")
    assert [added.name(int(row)) for row in added.stop_name_rows()] == ["Sore throat", "chronic"]
    assert StopNameRules.from_json(added.meta["stop_names"]) == rules


def test_the_fingerprint_depends_on_the_stop_names(tmp_path):
    one, other = (
        build_knowledge_base([record("A:1", "Acute")], tmp_path / f"{default}.kb", stop_names=StopNameRules(default))
        for default in (True, False)
    )
    assert one.fingerprint != other.fingerprint
    assert [sum(kb.stop_name_counts().values()) for kb in (one, other)] == [1, 0]
    assert KnowledgeBase(one.path).stop_name_rows().tolist() == [0]


def test_reading_lists(tmp_path):
    (tmp_path / "a.txt").write_text("# my list\n\nSore  Throat \ncancer\r\n", encoding="utf-8")
    assert read_names([tmp_path / "a.txt"]) == {"sore throat", "cancer"}
    (tmp_path / "b.txt").write_text("# nothing\n\n", encoding="utf-8")
    with pytest.raises(SapbertError, match=r"\[E105\] There is no name in .*b.txt"):
        read_names([tmp_path / "b.txt"])
    (tmp_path / "c.txt").write_bytes("sténose".encode("latin-1"))
    with pytest.raises(SapbertError, match=r"\[E12[0-9]\] .*c.txt"):
        read_names([tmp_path / "c.txt"])
