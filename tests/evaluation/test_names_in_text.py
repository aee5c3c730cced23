from __future__ import annotations

from spacy_sapbert.evaluation.names_in_text import count_names
from spacy_sapbert.linking.name_matcher import NameMatcher


def test_counts(small_kb):
    counts = count_names(small_kb, NameMatcher.build(small_kb), ["Breast cancer, cancer and cancer.", "", "A cancer"])
    assert counts.n_documents == 3
    (first, second) = counts.most_frequent(2)
    assert first == {
        "name": "cancer",
        "ids": ["D009369"],
        "occurrences": 3,
        "documents": 2,
        "example": "Breast cancer, [cancer] and cancer.",
    }
    assert (second["name"], second["occurrences"], second["documents"]) == ("breast cancer", 1, 1)
    assert counts.most_frequent(0) == []


def test_no_texts(small_kb):
    counts = count_names(small_kb, NameMatcher.build(small_kb), [])
    assert (counts.n_documents, counts.most_frequent(5)) == (0, [])
