from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.metrics.linking_accuracy import (
    MentionScore,
    belb_at,
    gold_concepts,
    lenient_at,
    strict_at,
    summarize,
)

from ..cases import cases

A, B, C, D = ({letter} for letter in "ABCD")


# --- one mention


@pytest.mark.parametrize(
    ("gold", "parts", "lenient", "strict"),
    [
        ([A, B], [[A]], True, False),
        ([A, B], [[A], [A]], True, False),
        ([A, B], [[A], [C]], False, False),
        ([A, B], [[A], [B]], True, True),
        ([A, B], [[B], [A]], True, True),
        ([A], [[A]], True, True),
        ([A], [[A], [A]], True, False),
        ([A], [[C, A]], False, False),
        ([A], [[C | A]], True, True),
        ([A | B], [[A]], True, True),
        ([A], [[]], False, False),
        ([A], [], False, False),
    ],
)
def test_first_candidates(gold, parts, lenient, strict):
    assert lenient_at(1, gold, parts) == lenient
    assert strict_at(1, gold, parts) == strict


def test_a_right_candidate_counts_up_to_its_rank():
    part = [C, C, C, C, A]
    assert not lenient_at(4, [A], [part])
    assert lenient_at(5, [A], [part])
    assert not strict_at(4, [A], [part])
    assert strict_at(5, [A], [part])


def test_strict_pairs_parts_and_concepts_where_a_greedy_choice_would_not():
    assert strict_at(2, [A, B, D], [[A, B], [A, C], [D]])
    assert not strict_at(2, [A, B, D], [[A, C], [A, C], [D]])


@pytest.mark.parametrize(*cases(__file__, "belbs_strict_recall_takes_one_concept_for_each_rank"))
def test_belbs_strict_recall_takes_one_concept_for_each_rank(gold, parts, first, second):
    assert belb_at(1, set(gold), parts) == first
    assert belb_at(2, set(gold), parts) == second


ids = st.sets(st.sampled_from("ABCDE"), min_size=1, max_size=2).map(frozenset)
gold_lists = st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=3, unique=True).map(lambda g: [{i} for i in g])
part_lists = st.lists(st.lists(ids, max_size=4), max_size=3)


@given(gold=gold_lists, parts=part_lists, k=st.integers(1, 4))
def test_strict_is_some_pairing_and_no_less_than_lenient(gold, parts, k):
    pairings = permutations(parts) if len(parts) == len(gold) else []
    possible = any(
        all(any(concept & candidate for candidate in part[:k]) for concept, part in zip(gold, pairing, strict=True))
        for pairing in pairings
    )
    assert strict_at(k, gold, parts) == possible
    assert lenient_at(k, gold, parts) >= strict_at(k, gold, parts)
    assert lenient_at(k + 1, gold, parts) >= lenient_at(k, gold, parts)
    assert strict_at(k + 1, gold, parts) >= strict_at(k, gold, parts)


def test_gold_ids_of_one_concept_are_one_gold_concept():
    primary = {"C1": ["C1"], "C2": ["C2"], "OMIM:2": ["C2"]}
    groups = gold_concepts(["C2", "C1", "OMIM:2", "X"], lambda concept_id: primary.get(concept_id, []))
    assert groups == [{"C1"}, {"C2", "OMIM:2"}, {"X"}]


def test_an_id_of_two_concepts_joins_them():
    owners = {"C1": ["C1"], "C2": ["C2"], "OLD": ["C1", "C2"]}
    assert gold_concepts(["C1", "C2", "OLD"], owners.__getitem__) == [{"C1", "C2", "OLD"}]


# --- many mentions


def score(lenient, strict, *slices, covered=True, exact_match=False):
    """lenient: right at 1, 5 and 20; strict: right at 1 and 5."""
    by_cutoff = dict(zip((1, 5, 20), lenient, strict=True)), dict(zip((1, 5), strict, strict=True))
    return MentionScore(covered, *by_cutoff, exact_match, slices)


SCORES = [
    score((True, True, True), (True, True), "seen", exact_match=True),
    score((True, True, True), (False, True), "unseen", "composite"),
    score((False, True, True), (False, False), "unseen"),
    score((False, False, False), (False, False), "unseen", "abbreviation", covered=False),
]


def test_a_summary_counts_the_covered_mentions():
    result = summarize(SCORES, "aabb")
    assert (result["mentions"], result["covered"]) == (4, 3)
    assert result["lenient"] == {"acc@1": 66.67, "acc@5": 100.0}
    assert result["strict"] == {"acc@1": 33.33, "acc@5": 66.67}
    assert result["lenient_all"] == {"acc@1": 50.0, "acc@5": 75.0}
    assert result["strict_all"] == {"acc@1": 25.0, "acc@5": 50.0}
    assert result["exact_match_floor"] == 33.33
    assert result["candidate_recall@20"] == 100.0
    unseen = {"lenient": {"acc@1": 50.0, "acc@5": 100.0}, "strict": {"acc@1": 0.0, "acc@5": 50.0}}
    assert result["slices"]["unseen"] == {"n": 2, **unseen}
    assert result["slices"]["abbreviation"]["n"] == 0  # that mention is not covered


def test_the_standard_error_is_over_documents():
    first, second, third = SCORES[:3]
    # lenient: 2 of 2 and 0 of 1 right, at 2/3 expected: both are off by 2/3
    error = round(100 * (2 * ((2 / 3) ** 2 * 2)) ** 0.5 / 3, 2)
    assert summarize([first, second, third], "aab")["se"]["lenient"] == error
    assert summarize([first, third, second] * 2, "aaabbb")["se"] == {"lenient": 0, "strict": 0}
    assert summarize([first, second], "aa")["se"] == {"lenient": None, "strict": None}
