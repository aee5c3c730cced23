from itertools import combinations

import pytest

from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.text.phrases import FOLDER
from spacy_sapbert.text.word_classes import STRONG, Contexts, Evidence, derived_words, may_be_equal, word_table

from ..cases import cases

# kidney and renal name one concept in three contexts, left and right two concepts in two
CONCEPTS = [
    ["kidney failure", "renal failure"],
    ["kidney stone", "stone, renal", "renal stone"],
    ["cyst of the kidney", "renal cysts", "left renal cyst"],
    ["left eye", "left ocular"],
    ["right eye"],
    ["left foot"],
    ["right foot"],
]


def test_evidence_counts_concepts_and_contexts():
    contexts = Contexts(CONCEPTS)
    assert contexts.evidence(("kidney", "renal")) == Evidence(3, 0)
    assert contexts.evidence(("left", "right")) == Evidence(0, 2)
    assert ("left", "right") not in contexts.same
    assert Evidence(3, 0).strength == 0.75


def test_many_contexts_of_one_concept_count_once():
    names = [f"{word} {other} malaria" for word in ("cerebral", "severe") for other in ("acute", "tropical", "adult")]
    assert Contexts([names]).evidence(("cerebral", "sever")).same == 1


@pytest.mark.parametrize(*cases(__file__, "pairs_that_may_be_equal"))
def test_pairs_that_may_be_equal(pair, may):
    assert may_be_equal(pair) is may


@pytest.mark.parametrize(
    ("language", "pair"), [("de", ("niedrig", "normal")), ("es", ("bajo", "normal")), ("fr", ("basse", "normale"))]
)
def test_what_is_normal_is_equal_to_nothing_else(language, pair):
    assert not may_be_equal(pair, rules_of(language))
    assert not list(derived_words(pair[1], rules_of(language)))


@pytest.mark.parametrize(
    ("language", "word", "other"),
    [("en", "hippocampi", "hippocampus"), ("en", "cerebellar", "cerebellum"), ("es", "epileptica", "epilepsia")],
)
def test_derived_words(language, word, other):
    assert other in dict(derived_words(word, rules_of(language)))


@pytest.mark.parametrize(
    ("word", "other"),
    [("several", "sever"), ("early", "ear"), ("many", "manic"), ("nor", "norum"), ("pan", "panic"), ("pine", "pineal")],
)
def test_a_word_of_general_english_is_no_form_of_another(word, other):
    assert other not in dict(derived_words(word))
    assert word not in dict(derived_words(other))


@pytest.mark.parametrize("language", ["de", "en", "es", "fr"])
def test_the_tables_of_the_package(language):
    table = word_table(rules_of(language))
    assert table.strengths[tuple(sorted(pair_of_language[language]))] >= STRONG
    assert all(first <= second and STRONG <= strength < 1 for (first, second), strength in table.strengths.items())
    size = sum(path.stat().st_size for path in FOLDER.glob("*_words.txt"))
    assert size <= 60_000


pair_of_language = {
    "en": ("kidney", "renal"),
    "es": ("renal", "riñon"),
    "de": ("anomali", "fehlbildung"),
    "fr": ("anomalie", "malformation"),
    "nl": ("afwijking", "anomalie"),
    "pt": ("anomalia", "malformacao"),
}


def test_no_pair_of_the_table_is_an_opposite():
    table = word_table()
    values = [rule.split("/") for rule in ("left/right", "upper/lower", "increased/decreased", "benign/malignant")]
    for group in values:
        assert not any(tuple(sorted(pair)) in table.strengths for pair in combinations(group, 2))
    learned = (FOLDER / "en_words.txt").read_text(encoding="utf-8").splitlines()
    pairs = [tuple(line.split(" ")[1:]) for line in learned if "-" not in line]
    assert all(map(may_be_equal, pairs))


def test_no_pair_of_the_table_is_a_pair_of_different_words():
    lines = (FOLDER / "en_different.txt").read_text(encoding="utf-8").splitlines()
    different = {tuple(sorted((line.split(" ")[0], word))) for line in lines for word in line.split(" ")[1:]}
    assert len(different) > 100
    assert different.isdisjoint(word_table().strengths)
