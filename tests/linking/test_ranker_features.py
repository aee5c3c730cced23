import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.linking.concept_facts import Fact
from spacy_sapbert.linking.ranker import DEPTH, FEATURES, GAP, Text, compared, describe, features, texts_of
from spacy_sapbert.types import LinkedPart

from ..graded import graded


class Facts(dict):
    """The id is the preferred name, and one in capitals is popular. The items are counts of annotations."""

    has_annotations = True

    def __call__(self, concept_ids):
        return {id: Fact(id, 1.0, False, self.get(id, 0.0), 2.0 if id.isupper() else 0.0) for id in concept_ids}

    def annotated(self, pairs):
        return [self.get(pair, 0.0) for pair in pairs]


def rows_of(*texts, **counts):
    """RETURNS (ndarray): the features of the candidates of texts, all of which are compared."""
    return features(texts, [range(len(text.candidates)) for text in texts], Facts(**counts))


def text_with(text, *candidates):
    return Text(text, candidates, (0,) * len(candidates))


def of_names(text, *names):
    """RETURNS (list[dict]): the features of names that are equally similar to a text."""
    rows = rows_of(text_with(text, *(graded(name, 0.9, name) for name in names)))
    return [dict(zip(FEATURES, row, strict=True)) for row in rows.tolist()]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("renal failure", "Renal failures", {"same": 2, "added": 0, "lacking": 0}),
        ("lung failure", "Failure, Lung", {"same": 1, "added": 0, "lacking": 0}),
        ("hay-fever", "Hayfever", {"same": 2}),
        ("fibrosis", "Idiopathic pulmonary fibrosis", {"same": 0, "added": 2, "lacking": 0, "same_last": 1}),
        ("severe hay fever", "Hay fever", {"added": 0, "lacking": 1, "words": 3, "longer": -7}),
        ("ataxia", "Ataxia 7", {"added": 1, "numbers_added": 1}),
        ("ataxia II", "Ataxia 2", {"same": 2, "numbers_added": 0}),
        ("low sodium", "Decreased sodium", {"same": 2}),
        ("oxycarbon", "oxicarbon", {"added": 1, "lacking": 1, "alike": 8 / 9, "beginning": 2 / 9}),
        ("rash", "Familial rash", {"general_added": 1}),
        ("ALL", "all", {"case": 1, "capitals": 1}),
        ("ALL", "ALL", {"case": 2, "preferred": 1, "popularity": 2}),
        ("L-benzol", "Benzol", {"letters": 6 / 7, "popularity": 0}),
    ],
)
def test_the_difference_of_a_name(text, name, expected):
    (found,) = of_names(text, name)
    assert {feature: found[feature] for feature in expected} == pytest.approx(expected, abs=1e-5)


def test_candidates_are_compared_with_the_best_other_one():
    two = graded("A", 0.9, "a", 0.8, 0.6), graded("B", 0.7, "b", 0.9, 0.5)
    rows = rows_of(text_with("c", *two), text_with("d", graded("A", 0.4, "a")), text_with("e"))
    leads = [FEATURES.index(feature) for feature in ("score_lead", "dense_lead", "sparse_lead", "popularity_lead")]
    assert rows[:, leads].tolist() == [[0.2, -0.1, 0.1, 0.0], [-0.2, 0.1, -0.1, 0.0], [1.0] * 4]
    assert rows_of().shape == (0, len(FEATURES))


def test_what_is_counted_is_compared_with_the_most_of_the_others():
    candidates = graded("A", 0.9, "x a"), graded("B", 0.8, "x b"), graded("C", 0.7, "x c")
    found = rows_of(Text("x", candidates, (0, 2, 1)), text_with("y", candidates[0]), A=1.5, B=0.5)
    columns = [FEATURES.index(feature) for feature in ("annotated", "annotated_lead", "elsewhere", "elsewhere_lead")]
    assert found[:, columns].tolist() == [[1.5, 1, 0, -2], [0.5, -1, 2, 1], [0, -1.5, 1, -1], [1.5, 1.5, 0, 0]]


def test_other_mentions_count_only_for_names_that_are_like_the_text():
    candidates = graded("A", 0.9, "breast cancer"), graded("B", 0.8, "zebra fever"), graded("C", 0.7, "zebroid")
    found = rows_of(Text("zebra", candidates, (2, 2, 2)))
    assert found[:, FEATURES.index("elsewhere")].tolist() == [0, 2, 2]


def test_other_texts_of_the_document_count_once_each():
    asthma, fever, refused = graded("A", 0.9, "asthma"), graded("F", 0.8, "fever"), graded("B", 0.4, "b", refusal="x")
    firsts = [("asthma", asthma), ("Asthmas", asthma), ("asthma attack", asthma), ("wheezing", asthma), ("b", refused)]
    mentions = [(LinkedPart(text, None, (first, fever)),) for text, first in firsts]
    texts = [text for (text,) in texts_of(mentions)]
    assert [text.elsewhere for text in texts] == [(2, 0)] * 4 + [(0, 0)]
    ((alone,),) = texts_of(mentions[:1])
    assert alone.elsewhere == (0, 0)


@pytest.mark.parametrize(
    ("candidates", "places"),
    [
        ([], []),
        ([graded("A", 0.9, "a", refusal="3 is not 2")], []),
        ([graded("A", 0.9, "a", refusal="3 is not 2"), graded("B", 0.8, "b"), graded("C", 0.7, "c")], [1, 2]),
        ([graded("A", 0.9, "a"), graded("B", 0.9 - GAP - 0.01, "b")], [0]),
        ([graded(str(n), 0.9, "a") for n in range(2 * DEPTH)], list(range(DEPTH))),
        ([graded(str(n), 0.995, "a") for n in range(DEPTH)], list(range(DEPTH))),
        ([graded("A", 1.0, "a"), graded("B", 0.995, "a"), graded("C", 0.97, "c"), graded("D", 0.96, "d")], [0, 1, 2]),
        ([graded("A", 0.98, "a", rewrite="an anion"), graded("B", 0.97, "b")], [0]),
    ],
)
def test_the_compared_candidates(candidates, places):
    assert compared(candidates) == places


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("pulmonary fibrosis", "Idiopathic Pulmonary Fibrosis", "adds “Idiopathic”"),
        ("severe hay fevers", "Hay fever", "lacks “severe”"),
        ("lung fibrosis", "Fibrosis of the skin", "has “skin” instead of “lung”"),
        ("lung fibrosis", "Fibrosis, Lung", "has the same words"),
        ("night terrors", "sleeplessness", "has other words"),
    ],
)
def test_what_is_said_of_a_difference(text, name, said):
    assert describe(text, name) == said


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_difference_is_the_reverse_of_the_other_way_round(first, second):
    (there,), (back,) = of_names(first, second), of_names(second, first)
    assert (there["added"], there["lacking"], there["longer"]) == (back["lacking"], back["added"], -back["longer"])
    assert there["same"] == back["same"]
