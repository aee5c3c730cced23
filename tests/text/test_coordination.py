import pytest

from spacy_sapbert.text.coordination import Cut, _torn_opening, cost, word_class


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("of", "preposition"), ("The", "determiner"), ("a", "determiner"), ("A", "numeral"), ("2", "numeral"),
        ("IV", "numeral"), ("C6", "numeral"), ("left", "position"), ("acute", "qualifier"),
        ("drug-induced", "qualifier"), ("renal", "adjective"), ("septal (VSD)", "adjective"), ("ovary", "noun"),
        ("liver", "noun"), ("attention-deficit", "noun"), ("insufficiencies", "condition"),
        ("Hepatitis", "condition"),
    ],
)  # fmt: skip
def test_word_class(word, expected):
    assert word_class(word) == expected


def test_cut_parts():
    cut = Cut((("impaired", "renal"), ("liver", "function")), before=1, after=1)
    assert (cut.prefix, cut.opening, cut.closing, cut.suffix) == (("impaired",), ("renal",), ("liver",), ("function",))


def test_nothing_shared_leaves_whole_conjuncts():
    cut = Cut((("nausea",), ("vomiting",)), before=0, after=0)
    assert (cut.prefix, cut.opening, cut.closing, cut.suffix) == ((), ("nausea",), ("vomiting",), ())


@pytest.mark.parametrize(
    ("conjuncts", "better", "worse"),
    [
        ("renal|hepatic failure", (0, 1), (0, 0)),  # "renal" would dangle
        ("atrial fibrillation|flutter", (1, 0), (0, 0)),  # something is shared
        ("renal cell|breast cancer", (0, 1), (1, 1)),  # "renal" is bound to "cell"
        ("left ventricular systolic|diastolic dysfunction", (2, 1), (0, 1)),  # a pair
        ("pain|visual disturbance", (0, 0), (0, 1)),  # "pain" is a head
        ("cancer of the lung|liver", (3, 0), (1, 0)),  # the phrase is shared with its article
        ("breast cancer|ovarian cancer", (0, 0), (0, 1)),  # each has the head
    ],
)
def test_cost_orders_cuts(conjuncts, better, worse):
    words = tuple(tuple(conjunct.split()) for conjunct in conjuncts.split("|"))
    assert cost(Cut(words, *better)) < cost(Cut(words, *worse))


def test_parallel_phrases_cost_nothing():
    assert cost(Cut((("renal",), ("hepatic", "failure")), 0, 1)) == 0


def test_a_cost_above_the_limit_is_not_added_up():
    dear = Cut((("renal",), ("hepatic", "failure")), 0, 0)  # several penalties
    assert cost(dear, cost(dear) + 0.5) == cost(dear)
    assert 0.5 <= cost(dear, 0.5) < cost(dear)


@pytest.mark.parametrize(
    ("conjuncts", "cut", "is_torn"),
    [
        ("renal cell|breast cancer", (1, 1), True),  # "renal" is bound to "cell"
        ("renal cell|breast cancer", (0, 1), False),  # no word is shared at the beginning
        ("cancer of the left lung|right liver", (3, 0), False),  # the shared words end in a preposition
        ("cancer left lung|right liver", (1, 0), True),
        ("left ventricular systolic|diastolic dysfunction", (2, 1), False),  # a pair
        ("left ventricular septal|diastolic dysfunction", (2, 1), True),
        ("atrial fibrillation|flutter", (1, 0), False),  # one word takes the place of one word
        ("atrial fibrillation|late flutter", (1, 0), True),
    ],
)
def test_words_that_are_torn_from_their_noun(conjuncts, cut, is_torn):
    words = tuple(tuple(conjunct.split()) for conjunct in conjuncts.split("|"))
    assert bool(_torn_opening(Cut(words, *cut))) == is_torn
