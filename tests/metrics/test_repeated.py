import pytest

from spacy_sapbert.metrics.repeated import deviation_of, error_of, mean_of

RESULTS = [
    {"n": 3, "acc": {"@1": 80.0, "@5": None}, "name": "a", "rows": [1], "is_best": True},
    {"n": 3, "acc": {"@1": 90.0, "@5": 95.0}, "name": "b", "rows": [2], "is_best": True},
    {"n": 6, "acc": {"@1": 85.0, "@5": 97.0}, "name": "b", "rows": [2], "is_best": True, "skipped": 1},
]


def test_numbers_are_averaged_where_they_stand():
    assert mean_of(RESULTS) == {"n": 4, "acc": {"@1": 85.0, "@5": 96.0}}


def test_deviations_and_errors():
    # squares of 80, 90 and 85: 25 + 25 + 0, over 2
    assert deviation_of(RESULTS) == {"n": pytest.approx(3**0.5, abs=1e-4), "acc": {"@1": 5.0, "@5": 1.4142}}
    assert error_of(RESULTS) == {"n": 1.0, "acc": {"@1": 2.8868, "@5": 1.0}}


def test_a_single_result_has_no_deviation():
    assert mean_of(RESULTS[:1]) == {"n": 3, "acc": {"@1": 80.0, "@5": None}}
    assert deviation_of(RESULTS[:1]) == error_of(RESULTS[:1]) == {"n": None, "acc": {"@1": None, "@5": None}}
