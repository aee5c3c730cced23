from __future__ import annotations

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.stop_names import COMMON, StopNameRules
from spacy_sapbert.kb.suspicious_names import KINDS, suspicious_names
from spacy_sapbert.types import Name, Record


def build(path, *concepts, rules=None):
    records = [Record(one, tuple(Name(name, "exact", "test") for name in names)) for one, *names in concepts]
    return build_knowledge_base(records, path, stop_names=rules or StopNameRules())


def test_the_reasons(tmp_path):
    genes = build(tmp_path / "genes.kb", ("HGNC:1", "ALS", "face"))
    kb = build(
        tmp_path / "a.kb",
        ("A:1", "Chronic", "Acute", "ALS", "Common name of three"),
        ("A:2", "Face", "Intoe", "Common name of three", "XYZ"),
        ("A:3", "Stomach ache", "Common name of three"),
        rules=StopNameRules(kept=frozenset({"chronic"})),
    )
    found = sorted(suspicious_names(kb, [genes]))
    assert [(one.name, one.ids, one.kind) for one in found] == [
        ("Chronic", ("A:1",), KINDS[0]),
        ("ALS", ("A:1",), KINDS[1]),
        ("Face", ("A:2",), KINDS[2]),
        ("Common name of three", ("A:1", "A:2", "A:3"), KINDS[3]),
        ("Intoe", ("A:2",), KINDS[4]),
    ]
    assert [one.why for one in found] == [
        COMMON,
        "also a name in genes.kb",
        "a frequent English noun",
        "a name of 3 concepts",
        'differs from "into" only in its ending',
    ]
    assert found[0].as_json() == {"name": "Chronic", "ids": ["A:1"], "why": COMMON}


def test_frequent_nouns_come_first(tmp_path):
    kb = build(tmp_path / "a.kb", ("A:1", "headache", "heart", "cancer"))
    assert [one.name for one in sorted(suspicious_names(kb))] == ["heart", "cancer", "headache"]
