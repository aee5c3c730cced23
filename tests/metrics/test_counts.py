import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.metrics.counts import (
    RankingScore,
    SetCounts,
    average_precision,
    compare_sets,
    f1_score,
    macro,
    mean,
    micro,
    percent,
    precision_recall_f1,
    ratio,
    score_ranking,
    total,
)


def test_sets():
    counts = [SetCounts(1, 2, 1), SetCounts(0, 0, 4), SetCounts(3, 3, 3)]
    assert micro(counts) == {"p": 80.0, "r": 50.0, "f1": 61.54}
    assert macro(counts) == {"p": 50.0, "r": 66.67, "f1": 57.14}
    assert macro([SetCounts(0, 0, 1)]) == micro([SetCounts(0, 0, 1)]) == {"p": 0.0, "r": 0.0, "f1": 0.0}


def test_counts_of_sets():
    assert compare_sets({1, 2, 3}, {3, 4}) == SetCounts(hits=1, predicted=2, gold=3)
    assert total([SetCounts(1, 2, 3), SetCounts(0, 5, 1)]) == SetCounts(1, 7, 4)
    assert total([]) == SetCounts(0, 0, 0)


def test_percentages_have_two_decimals():
    assert (percent(2 / 3), percent(1), percent(0), percent(None)) == (66.67, 100, 0, None)


def test_nothing_to_divide_by():
    assert (ratio(0, 0), ratio(1, 4)) == (0, 0.25)
    assert (mean([]), mean([True, False, False, True]), mean([1.0, 2.0])) == (None, 0.5, 1.5)
    assert f1_score(0, 0) == 0
    assert micro([]) == {"p": 0, "r": 0, "f1": 0}


def test_f1_is_the_harmonic_mean():
    assert f1_score(0.5, 1) == pytest.approx(2 / 3)
    assert precision_recall_f1(0.25, 0.75) == {"p": 25.0, "r": 75.0, "f1": 37.5}
    assert precision_recall_f1(None, 0.75) == {"p": None, "r": 75.0, "f1": None}


def test_a_ranking_by_hand():
    ranked, gold = list("AXBYC"), set("ABCD")
    assert score_ranking(ranked, gold, k=5) == RankingScore(3 / 5, 3 / 4, 3 / 4, (1 + 2 / 3 + 3 / 5) / 4)
    assert score_ranking(ranked, gold, k=2) == RankingScore(1 / 2, 1 / 4, 3 / 4, (1 + 2 / 3 + 3 / 5) / 4)
    assert score_ranking(ranked, gold) == score_ranking(ranked, gold, gold, k=10)
    assert score_ranking(ranked, gold).p == 3 / 10  # empty places are wrong


def test_gold_concepts_outside_a_subset_do_not_count():
    ranked, gold = list("AXBYC"), set("ABCD")
    assert score_ranking(ranked, gold, set("BD"), k=5) == RankingScore(1 / 3, 1 / 2, 1 / 2, (1 / 2) / 2)
    assert score_ranking(ranked, gold, set("BD"), k=2) == RankingScore(0.0, 0.0, 1 / 2, 1 / 4)
    assert score_ranking(ranked, gold, set("BD"), k=1).p is None
    assert score_ranking(ranked, gold, set("BD")) == RankingScore(1 / 8, 1 / 2, 1 / 2, 1 / 4)
    assert score_ranking([], gold, set("B")) == RankingScore(0.0, 0.0, 0.0, 0.0)


@given(st.sets(st.integers(0, 9), min_size=1), st.permutations(range(10)), st.integers(1, 10))
def test_p_and_r_count_the_same_hits(gold, ranked, k):
    score = score_ranking(ranked, gold, k=k)
    assert score.p * k == pytest.approx(score.r * len(gold))
    assert average_precision(sorted(ranked, key=lambda one: one not in gold), gold) == pytest.approx(1)
    assert average_precision(ranked, gold) <= 1 + 1e-9
