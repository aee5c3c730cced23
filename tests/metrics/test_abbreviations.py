import pytest

from spacy_sapbert.metrics.abbreviations import compare_leniently, fold_pairs
from spacy_sapbert.metrics.counts import SetCounts

STOP_WORDS = {"a", "the", "of"}


def test_case_and_blanks_are_folded():
    assert fold_pairs([("CF", "Cystic  Fibrosis"), ("cf", "cystic\nfibrosis")]) == {("cf", "cystic fibrosis")}


@pytest.mark.parametrize(
    ("gold", "found", "alike"),
    [
        (("il-2", "interleukin 2"), ("il2", "interleukin 2"), True),
        (("il-2", "interleukin 2"), ("il3", "interleukin 2"), False),
        (("cf", "cystic-fibrosis"), ("cf", "the cystic fibrosis"), True),
        (("cf", "the fibrosis"), ("cf", "fibrosis"), True),
        (("cf", "cystic fibrosis"), ("cf", "cystic disease of fibrosis"), True),  # 2 of 4 words
        (("cf", "cystic fibrosis"), ("cf", "cystic disease of the lung"), False),  # 1 of 6 words
    ],
)
def test_pairs_that_are_alike(gold, found, alike):
    assert compare_leniently({gold}, {found}, STOP_WORDS) == SetCounts(int(alike), 1, 1)


def test_each_gold_pair_is_found_once():
    found = {("cf", "the cystic fibrosis"), ("cf", "a cystic fibrosis")}
    assert compare_leniently({("cf", "cystic fibrosis")}, found, STOP_WORDS) == SetCounts(1, 2, 1)
    assert compare_leniently({("cf", "x")}, {("cf", "x"), ("cf", "the x")}, STOP_WORDS) == SetCounts(1, 2, 1)
