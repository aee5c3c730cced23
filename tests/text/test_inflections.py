import pytest

from spacy_sapbert.text.inflections import SAME_START, inflections, same_start
from spacy_sapbert.text.languages import rules_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cyst", "Cysts"),
        ("deficiency", "deficiencies"),
        ("mid-face hypoplasia", "midface hypoplasia"),
        ("light headed", "lightheaded"),
        ("T-cell", "T cells"),
        ("ACE", "ACEs"),
        ("type-2 diabetes", "type 2  diabetes"),
    ],
)
def test_plurals_and_hyphens(one, other):
    assert inflections(one).key == inflections(other).key


@pytest.mark.parametrize(
    ("one", "other"),
    [("ALL", "all"), ("a typical", "atypical"), ("CD4/8", "CD48"), ("IL 1", "IL1"), ("flies", "fly"), ("+", "-")],
)
def test_other_texts(one, other):
    assert inflections(one).key != inflections(other).key


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("lightheaded", "lightheadedness", "en"),
        ("anemic", "anemia", "en"),
        ("thrombotic", "thrombosis", "en"),
        ("hbv-infected", "HBV infection", "en"),
        ("drowsy", "drowsiness", "en"),
        ("hipertenso", "hipertensión", "es"),
        ("ischémique", "ischémie", "fr"),
        ("anämisch", "Anämie", "de"),
    ],
)
def test_nouns_and_adjectives(one, other, language):
    rules = rules_of(language)
    assert inflections(one, rules).key in inflections(other, rules).derived
    assert inflections(other, rules).key in inflections(one, rules).derived


@pytest.mark.parametrize(
    ("one", "other"),
    [("many", "manic"), ("oxygen", "oxygenation"), ("mice", "mical"), ("PMIC", "PMIA")],
)
def test_words_that_only_look_derived(one, other):
    assert inflections(other).key not in inflections(one).derived


@pytest.mark.parametrize("text", ["light-headed", "lightheadedness", "T cells", "(flu)", "Æther", "+++", "amyloid-β"])
def test_inflections_begin_alike(text):
    start = same_start(text)
    assert 0 < len(start) <= SAME_START
    assert same_start(text.upper()) == start
