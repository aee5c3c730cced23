"""Links that are wrong more often than their probability says."""

import pytest

from spacy_sapbert.review.corrections import Correction
from spacy_sapbert.review.queue import (
    CASE,
    GENERAL,
    NEAR,
    OTHER_WORDS,
    SHORT_FORM,
    WRONG_ELSEWHERE,
    ReviewQueue,
    doubt,
    doubts_of,
)


@pytest.fixture
def linked(mention):
    """A function that makes a mention with one link, which has further values."""

    def make(text, label="Disease", start=0, probability=0.75, **link):
        made = mention(text, "D1", label=label, probability=probability, start=start)
        values = {"text": text, "name": text, "long_form": None, "reasons": [], "tie": None, "runner_up": None}
        return made._replace(entity={"links": [values | link]})

    return make


@pytest.mark.parametrize(
    ("text", "link", "kinds"),
    [
        ("kidney stone", {}, ()),
        ("XRD", {}, (SHORT_FORM,)),
        ("Er", {}, (SHORT_FORM,)),
        ("XRD", {"long_form": "x-linked disease"}, ()),
        ("deaths", {}, (GENERAL,)),
        ("star", {"name": "STAR"}, (GENERAL, CASE)),
        ("cochlin", {"name": "COCHLIN"}, (CASE,)),
        ("renal calculus", {"reasons": ["“renal” is “kidney”"]}, (OTHER_WORDS,)),
        ("kidney stone", {"tie": "same score as D2"}, (NEAR,)),
        ("kidney stone", {"runner_up": {"probability": 0.25}}, (NEAR,)),
        ("kidney stone", {"runner_up": {"probability": None}}, ()),
    ],
)
def test_kinds(linked, text, link, kinds):
    words = [linked(f"kidney stone {number}") for number in range(9)]
    assert doubts_of([linked(text, **link), *words]) == [kinds] + [()] * 9


def test_short_forms_are_usual_names_of_genes(linked):
    genes = [linked(text, "Gene") for text in ("TP53", "KRAS", "cadherin")]
    diseases = [linked(text) for text in ("KRAS", *(f"disorder {number}" for number in range(9)))]
    assert doubts_of(genes + diseases) == [()] * 3 + [(SHORT_FORM,)] + [()] * 9


def test_general_words_are_english(linked):
    assert doubts_of([linked("star")], "de") == [()]


def test_a_mention_without_a_link_has_none(mention):
    assert doubts_of([mention("XRD")]) == [()]


def test_what_is_probably_wrong_comes_before_what_is_frequent(linked):
    frequent = [linked("kidney stone", start=20 * number, probability=0.9) for number in range(2)]
    words = [linked(f"disorder {number}", start=90, probability=0.9) for number in range(9)]
    queue = ReviewQueue([*frequent, *words, linked("XRD", start=70)])
    assert (queue.mentions[queue.next()].link.text, doubt(queue.mentions[-1])) == ("XRD", 1 - 0.75**3 * 0.5)


def test_decisions_about_other_texts_with_the_same_link(mention):
    texts = {"gout": "D1", "podagra": "D1", "mumps": "D2", "parotitis": "D2", "rickets": "D3"}
    made = [mention(text, one, start=9 * i, probability=0.9) for i, (text, one) in enumerate(texts.items())]
    queue = ReviewQueue(made)

    def decide(number, action):
        return Correction(action, "everywhere", "k", *made[number].link[1:4], made[number].best)

    queue.update({1: decide(0, "accept"), 2: decide(2, "reject")}, {})
    doubts = [doubt(queue.mentions[number]) for number in (3, 4, 1)]
    assert doubts == [pytest.approx(one) for one in (1 - 0.9**3 * 0.5, 1 - 0.9**3, (1 - 0.9**3) * 0.5)]
    assert [queue.mentions[number].often_wrong for number in (3, 1)] == [[WRONG_ELSEWHERE], []]
    assert [queue.next(), queue.next([3]), queue.next([3, 4])] == [3, 4, 1]
    queue.update({}, {})
    assert queue.mentions[3].often_wrong == []
