import numpy as np
import pytest
from safetensors.numpy import save_file

from spacy_sapbert.linking import concept_facts
from spacy_sapbert.linking.concept_facts import STEPS, compact, name_popularity
from spacy_sapbert.linking.name_matcher import name_hashes


def test_names_are_popular_as_often_as_abstracts_have_them(tmp_path, monkeypatch):
    keys, counts = compact(name_hashes(["Hay fever", "ALL", "Rash"])), np.array([3, 50, 7])
    order, logs = keys.argsort(), (np.log1p(counts) * STEPS).round().astype(np.uint8)
    save_file({"hashes": keys[order], "logs": logs[order]}, tmp_path / "table")
    monkeypatch.setattr(concept_facts, "POPULARITY", tmp_path / "table")
    concept_facts._table.cache_clear()
    try:
        found = name_popularity(["hay fevers", "Fever, hay", "ALL", "all", "rash", "unknown"])
    finally:
        concept_facts._table.cache_clear()
    assert found == pytest.approx(np.log1p([3, 3, 50, 0, 7, 0]), abs=1 / STEPS)


def test_the_table_in_the_package():
    common, rare, unknown = name_popularity(["breast cancer", "Silicosis", "no such name"])
    assert common > rare > unknown == 0.0
    assert name_popularity([]) == []
