import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.metrics.document_ranking import RankingScore, average_precision, score_ranking


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
