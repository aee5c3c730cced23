from __future__ import annotations

import json

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.info import describe, names_per_concept
from spacy_sapbert.types import Name, Record


def test_what_the_small_knowledge_base_holds(small_kb):
    result = describe(small_kb)
    assert {key: result[key] for key in small_kb.meta} == small_kb.meta
    assert result["types"] == small_kb.type_counts()
    assert result["names_by_source"] == small_kb.source_counts()
    assert result["names_per_concept"] == {"1": 0, "2": 10, "3-5": 5, "6-10": 0, "11-20": 0, ">20": 0}
    assert {key: result[key] for key in result if key.startswith("concepts_with")} == {
        "concepts_with_definition": 2,
        "concepts_with_parents": 4,
        "concepts_with_types": 15,
        "concepts_with_xrefs": 0,
    }
    assert (result["names_of_several_concepts"], result["alternative_ids"]) == (2, 4)
    assert json.loads(json.dumps(result)) == result


def test_names_per_concept(tmp_path):
    sizes = [1, 2, 2, 3, 5, 6, 10, 11, 20, 21, 100]
    records = [Record(f"D{i}", tuple(Name(f"{i} {j}", "exact", "t") for j in range(n))) for i, n in enumerate(sizes)]
    # the same name from another source is no other name
    records.append(Record("D0", (Name("0 0", "exact", "u"),)))
    kb = build_knowledge_base(records, tmp_path / "a.kb")
    assert names_per_concept(kb) == {"1": 1, "2": 2, "3-5": 2, "6-10": 2, "11-20": 2, ">20": 2}


def test_names_by_language(tmp_path):
    names = (Name("a", "exact", "t"), Name("b", "exact", "t", "es"), Name("b", "exact", "u", "es"))
    kb = build_knowledge_base([Record("D1", names), Record("D2", (Name("b", "exact", "t", "en"),))], tmp_path / "a.kb")
    assert describe(kb)["names_by_language"] == {"": 1, "en": 1, "es": 1}
    assert describe(kb)["names_by_source"] == {"t": 3, "u": 1}
