import pytest

from spacy_sapbert.text.coordination import Cut, _torn_opening, cost, word_class

from ..cases import cases


@pytest.mark.parametrize(*cases(__file__, "word_class"))
def test_word_class(word, expected):
    assert word_class(word) == expected


def test_cut_parts():
    cut = Cut((("impaired", "renal"), ("liver", "function")), before=1, after=1)
    assert (cut.prefix, cut.opening, cut.closing, cut.suffix) == (("impaired",), ("renal",), ("liver",), ("function",))


def test_nothing_shared_leaves_whole_conjuncts():
    cut = Cut((("nausea",), ("vomiting",)), before=0, after=0)
    assert (cut.prefix, cut.opening, cut.closing, cut.suffix) == ((), ("nausea",), ("vomiting",), ())


@pytest.mark.parametrize(*cases(__file__, "cost_orders_cuts"))
def test_cost_orders_cuts(conjuncts, better, worse):
    words = tuple(tuple(conjunct.split()) for conjunct in conjuncts.split("|"))
    assert cost(Cut(words, *better)) < cost(Cut(words, *worse))


def test_parallel_phrases_cost_nothing():
    assert cost(Cut((("renal",), ("hepatic", "failure")), 0, 1)) == 0


def test_a_cost_above_the_limit_is_not_added_up():
    dear = Cut((("renal",), ("hepatic", "failure")), 0, 0)  # several penalties
    assert cost(dear, cost(dear) + 0.5) == cost(dear)
    assert 0.5 <= cost(dear, 0.5) < cost(dear)


@pytest.mark.parametrize(*cases(__file__, "words_that_are_torn_from_their_noun"))
def test_words_that_are_torn_from_their_noun(conjuncts, cut, is_torn):
    words = tuple(tuple(conjunct.split()) for conjunct in conjuncts.split("|"))
    assert bool(_torn_opening(Cut(words, *cut))) == is_torn
