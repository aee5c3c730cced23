from __future__ import annotations

import pytest

from spacy_sapbert.linking.settings import SelectionSettings
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants, select_variant, with_likely_long_forms
from spacy_sapbert.types import Candidate, LinkedPart


def select(scores, variants, short_form_margin=0.1, split_margin=0.0):
    """Each text has one candidate, named after it: its score, or its id and score; without a score it has none."""
    asked = []

    def look_up(text):
        asked.append(text)
        given = scores.get(text)
        concept_id, score = given if isinstance(given, tuple) else (text, given)
        return [] if score is None else [Candidate(concept_id, score, text), Candidate("next", score / 2, "next")]

    parts = select_variant(variants, look_up, SelectionSettings(short_form_margin, split_margin, 0.0))
    assert set(asked) <= set(variants.texts())
    assert all(part.candidates == tuple(look_up(part.text)) for part in parts)
    return [part.text for part in parts]


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ({"Na": 0.6, "sodium": 1.0}, "sodium"),
        ({"Na": 1.0, "sodium": 1.0}, "Na"),  # a name of the vocabulary
        ({"sodium": 0.9}, "sodium"),
        ({"Na": 0.6}, "Na"),
    ],
)
def test_a_formula_is_looked_up_by_its_name(scores, chosen):
    assert select(scores, MentionVariants("Na")) == [chosen]
    scores.pop("sodium", None)
    assert select(scores, MentionVariants("Na")) == ["Na"]


def test_the_vocabulary_must_have_the_name_of_a_formula():
    candidates = {"Na": [Candidate("X", 0.5, "NaX")], "sodium": [Candidate("Y", 0.9, "sodium channel")]}
    (part,) = select_variant(MentionVariants("Na"), candidates.__getitem__, SelectionSettings(0.0, 0.0))
    assert part.text == "Na"
    candidates["sodium"] = [Candidate("Y", 0.9, "Sodium")]
    (part,) = select_variant(MentionVariants("Na"), candidates.__getitem__, SelectionSettings(0.0, 0.0))
    assert part.text == "sodium"
    (part,) = select_variant(MentionVariants("Na"), candidates.__getitem__, SelectionSettings(0.0, 0.0, formulas=False))
    assert part.text == "Na"


def likely(*mentions):
    queries = [MentionQuery(MentionVariants(*variants), label) for label, *variants in mentions]
    return [query.variants.likely_long_form for query in with_likely_long_forms(queries)]


def test_the_likely_long_form_of_an_undefined_short_form():
    failure = ("Disease", "acute liver failure")
    assert likely(("Disease", "ALF"), failure, ("Disease", "fever")) == ["acute liver failure", None, None]
    assert likely(failure, ("Gene", "ALF")) == [None, None]  # another label
    assert likely(failure, ("Disease", "ALF", "alfalfa fever")) == [None, None]  # the document defines it
    assert likely(("Disease", "ALF"), ("Disease", "ALIF")) == [None, None]  # no long form either
    assert likely() == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"ALF": ("ALP", 0.5), "acute liver failure": ("Liver Failure", 0.9)}, "acute liver failure"),
        ({"ALF": ("Alf", 0.7), "acute liver failure": ("Liver Failure", 0.9)}, "ALF"),  # a name of the vocabulary
        ({"ALF": ("ALP", 0.5), "acute liver failure": ("Liver Failure", 0.5)}, "ALF"),
        ({"acute liver failure": ("Liver Failure", 0.3)}, "acute liver failure"),
    ],
)
def test_a_likely_long_form_does_not_replace_a_name(names, expected):
    variants = MentionVariants("ALF", likely_long_form="acute liver failure")
    candidates = {text: [Candidate("D1", score, name)] for text, (name, score) in names.items()}
    (part,) = select_variant(variants, lambda text: candidates.get(text, []), SelectionSettings(0.1, 0.0))
    assert part.text == expected
    assert part.long_form == (None if expected == "ALF" else expected)


def test_a_correction_of_a_short_form_does_not_hide_the_long_form():
    variants = MentionVariants("ALF", corrections={"ALF": "ALP"}, likely_long_form="acute liver failure")
    names = {"ALF": ("x", 0.1), "ALP": ("ALP", 0.5), "acute liver failure": ("Liver Failure", 0.9)}
    candidates = {text: [Candidate("D1", score, name)] for text, (name, score) in names.items()}
    (part,) = select_variant(variants, candidates.__getitem__, SelectionSettings(0.1, 0.0))
    assert part.text == "acute liver failure"


def test_a_defined_short_form_is_not_a_formula():
    assert select({"As": 0.5, "arsenic": 1.0, "spondylitis": 0.45}, MentionVariants("As", "spondylitis")) == [
        "spondylitis"
    ]


def test_parts_of_a_composite_may_be_formulas():
    scores = {"NaCl and KCl": 0.5, "NaCl": 0.4, "KCl": 0.4, "sodium chloride": 1.0, "potassium chloride": 1.0}
    variants = MentionVariants("NaCl and KCl", None, [("NaCl", "KCl")])
    assert select(scores, variants) == ["sodium chloride", "potassium chloride"]


def test_texts_to_look_up():
    assert MentionVariants("NO").texts() == ["NO", "nitric oxide"]
    assert MentionVariants("NO", "neutral object").texts() == ["NO", "neutral object"]
    assert MentionVariants("a").texts() == ["a"]
    variants = MentionVariants("a", "b", [("c", "d"), ("e", "a", "f")])
    assert variants.texts() == ["a", "b", "c", "d", "e", "a", "f"]


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [(0.9, 0.9, "long"), (0.9, 0.85, "long"), (1.0, 0.85, "SF"), (0.5, None, "SF"), (None, 0.2, "long")],
)
def test_the_short_form_must_be_clearly_better(short, long, expected):
    assert select({"SF": short, "long": long}, MentionVariants("SF", "long")) == [expected]


def test_margin_of_the_short_form_is_exclusive():
    variants = MentionVariants("SF", "long")
    assert select({"SF": 0.75, "long": 0.5}, variants, short_form_margin=0.25) == ["long"]
    assert select({"SF": 0.8125, "long": 0.5}, variants, short_form_margin=0.25) == ["SF"]
    assert select({"SF": 0.75, "long": 0.5}, variants, short_form_margin=0.0) == ["SF"]


def test_the_long_form_says_so():
    (part,) = select_variant(
        MentionVariants("SF", "long"), lambda text: [Candidate("C", 0.5, text)], SelectionSettings(0.1, 0.0)
    )
    assert part == LinkedPart("long", "long", (Candidate("C", 0.5, "long"),))
    (part,) = select_variant(MentionVariants("SF"), lambda text: [], SelectionSettings(0.1, 0.0))
    assert part == LinkedPart("SF", None, ())


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"whole": 0.8, "a": 0.9, "b": 1.0}, ["a", "b"]),
        ({"whole": 0.9, "a": 0.8, "b": 1.0}, ["whole"]),
        ({"whole": 0.9, "a": 0.9, "b": 0.9}, ["whole"]),
        ({"whole": 0.1, "a": 0.9}, ["whole"]),
        ({"a": 0.1, "b": 0.2}, ["a", "b"]),
        ({}, ["whole"]),
    ],
)
def test_the_lowest_part_must_be_above_the_whole(scores, expected):
    assert select(scores, MentionVariants("whole", None, [("a", "b")])) == expected


def test_split_margin():
    variants = MentionVariants("whole", None, [("a", "b")])
    scores = {"whole": 0.5, "a": 0.75, "b": 0.75}
    assert select(scores, variants, split_margin=0.125) == ["a", "b"]
    assert select(scores, variants, split_margin=0.25) == ["whole"]


def test_the_best_split_then_the_likelier_one():
    variants = MentionVariants("whole", None, [("a", "b"), ("c", "d"), ("e", "f")])
    assert select({"whole": 0.1, "a": 0.5, "b": 1.0, "c": 0.6, "d": 0.7, "e": 0.64, "f": 0.9}, variants) == ["c", "d"]
    assert select({"whole": 0.1, "a": 0.5, "b": 1.0, "c": 0.54, "d": 0.7, "e": 0.59, "f": 0.9}, variants) == ["a", "b"]
    assert select({"whole": 0.6, "a": 0.5, "b": 1.0, "c": 0.6, "d": 0.7, "e": 0.5, "f": 0.9}, variants) == ["whole"]


def test_parts_are_compared_with_the_variant_that_is_linked():
    variants = MentionVariants("SF", "long", [("a", "b")])
    scores = {"a": 0.7, "b": 0.7}
    assert select({**scores, "SF": 0.65, "long": 0.6}, variants) == ["a", "b"]
    assert select({**scores, "SF": 0.9, "long": 0.6}, variants) == ["SF"]


def test_parts_of_one_concept_are_one():
    variants = MentionVariants("stage II and III cancer", None, [("stage II cancer", "stage III cancer")])
    scores = {"stage II and III cancer": 0.5, "stage II cancer": ("C", 0.8), "stage III cancer": ("C", 0.9)}
    assert select(scores, variants) == ["stage II cancer"]
    assert select({**scores, "stage III cancer": ("D", 0.9)}, variants) == ["stage II cancer", "stage III cancer"]


def test_a_name_that_is_known_already_is_taken_where_it_scores_higher():
    candidates_of = {
        "deaths": [Candidate("D050197", 0.87, "ATHS")],
        "Death": [Candidate("D003643", 1.0, "Death")],
    }
    settings = SelectionSettings(0.1, 0.0)
    (part,) = select_variant(MentionVariants("deaths", name="Death"), candidates_of.__getitem__, settings)
    assert (part.text, part.long_form, part.candidates[0].concept_id) == ("deaths", None, "D003643")
    (part,) = select_variant(MentionVariants("Death", name="deaths"), candidates_of.__getitem__, settings)
    assert part.candidates[0].concept_id == "D003643"


# --- corrections


@pytest.mark.parametrize(
    ("wrong", "right", "expected"), [(0.5, 0.75, "right"), (0.5, 0.5, "wrong"), (1.0, 1.0, "wrong")]
)
def test_the_correction_must_be_better(wrong, right, expected):
    assert select({"wrong": wrong, "right": right}, MentionVariants("wrong", corrections={"wrong": "right"})) == [
        expected
    ]


def test_margin_of_corrections_is_exclusive():
    variants = MentionVariants("wrong", corrections={"wrong": "right"})
    candidates_of = {"wrong": [Candidate("A", 0.5, "a")], "right": [Candidate("B", 0.75, "b")]}
    for margin, expected in ((0.25, "wrong"), (0.125, "right"), (-0.25, "right")):
        (part,) = select_variant(variants, candidates_of.__getitem__, SelectionSettings(0.1, 0.0, margin))
        assert part == LinkedPart(expected, None, tuple(candidates_of[expected]))


def test_every_variant_can_be_corrected():
    variants = MentionVariants("SF", "long", [("a", "b")], corrections={"long": "lung", "a": "A"})
    assert variants.texts() == ["SF", "long", "a", "b", "lung", "A"]
    assert select({"SF": 0.7, "long": 0.5, "lung": 0.9, "a": 0.1, "A": 0.2, "b": 0.8}, variants) == ["lung"]
    assert select({"SF": 0.7, "long": 0.5, "lung": 0.6, "a": 0.1, "A": 0.7, "b": 0.8}, variants) == ["A", "b"]


def test_a_corrected_long_form_says_what_it_comes_from():
    variants = MentionVariants("SF", "long", corrections={"long": "lung"})
    (part,) = select_variant(
        variants, lambda text: [Candidate("C", 0.9 if text == "lung" else 0.5, text)], SelectionSettings(0.1, 0.0)
    )
    assert part == LinkedPart("lung", "long", (Candidate("C", 0.9, "lung"),))


def test_a_part_without_candidates_is_not_dropped():
    candidates_of = {"a and b": [], "a": [Candidate("D000001", 0.9, "a")], "b": []}
    variants = MentionVariants("a and b", composite_splits=[("a", "b")])
    parts = select_variant(variants, candidates_of.__getitem__, SelectionSettings(0.1, -0.1))
    assert [part.text for part in parts] == ["a", "b"]
