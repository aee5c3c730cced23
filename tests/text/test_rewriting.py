"""Other ways to write a text."""

from itertools import chain, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.text.normalize import plain
from spacy_sapbert.text.rewriting import MAX_CHEMICAL, RULES, apply_rules, other_names_than_the_plural, rewrites
from spacy_sapbert.text.symbols import MAX_LETTERS

from ..cases import cases

TEXTS = [text for rule in chain.from_iterable(RULES.values()) for text in rule.examples]
MOST = 192  # ways to write a text
CHEMICALS = (*RULES["usual"], *RULES["acids"], *RULES["chemicals"])
WORDS = (*RULES["findings"], *RULES["forms"], *RULES["words"])


@pytest.mark.parametrize(
    ("rule", "text", "other"),
    [(rule, *example) for rule in chain.from_iterable(RULES.values()) for example in rule.examples.items()],
)
def test_the_examples_of_each_rule(rule, text, other):
    assert other in dict(apply_rules(text, [rule]))
    assert other in dict(rewrites(text))  # so no mark and no end keeps the rule from such texts


@given(st.text(alphabet="CaHOI 0123(+-)[]ateicd·é") | st.lists(st.sampled_from(TEXTS)).map(" ".join))
def test_the_choice_of_rules_only_saves_time(text):
    chemicals = apply_rules(text, CHEMICALS if len(text) <= MAX_CHEMICAL else ())
    ways = chain(chemicals, apply_rules(plain(text), RULES["letters"]), apply_rules(text, WORDS))
    assert list(rewrites(text)) == list(islice(ways, MOST))


def test_each_rule_has_an_example_and_fills_its_templates():
    for rule in chain.from_iterable(RULES.values()):
        assert rule.examples
        assert "{" not in "".join(chain.from_iterable(apply_rules(next(iter(rule.examples)), [rule])))


@pytest.mark.parametrize(*cases(__file__, "other_names_of_a_chemical"))
def test_other_names_of_a_chemical(text, name):
    assert name in dict(rewrites(text))


@pytest.mark.parametrize(*cases(__file__, "what_is_not_proposed"))
def test_what_is_not_proposed(text, name):
    assert name not in dict(rewrites(text))


def test_the_anion_rather_than_its_class():
    assert [name for name, _ in other_names_than_the_plural("lactate")] == ["lactic acid"]
    assert list(other_names_than_the_plural("gentamicin")) == []


@given(st.text(alphabet="CaHOI 0123(+-)[]ateicd·", max_size=2 * MAX_CHEMICAL))
def test_any_text_has_few_names_of_chemicals_each_with_a_reason(text):
    proposed = list(apply_rules(text, CHEMICALS))
    assert len(proposed) < 30
    assert all(name and reason for name, reason in proposed)


def test_a_long_text_is_no_chemical():
    text = "a" * (MAX_CHEMICAL - 3) + "ate"
    assert dict(rewrites(text[1:])).keys() - dict(rewrites(text)).keys() >= {f"{text[1:-3]}ic acid"}


def letters_of(text):
    return [other for other, _ in apply_rules(plain(text), RULES["letters"])]


@pytest.mark.parametrize(*cases(__file__, "other_ways_to_write_a_symbol"))
def test_other_ways_to_write_a_symbol(text, others):
    assert letters_of(text) == others


def test_a_latin_letter_that_stands_for_kappa():
    assert {"NFkappaB", "NF-kappaB"} <= set(letters_of("NF-kB"))


@given(st.text(st.sampled_from("aBα1-/ é")) | st.text())
def test_other_ways_are_bounded_and_have_the_same_letters(text):
    others = [other for other in letters_of(text) if other.isascii()]
    assert len(others) <= 3 * (MAX_LETTERS + 1)
    assert text not in others


@pytest.mark.parametrize(*cases(__file__, "a_direction_and_a_quantity_are_a_finding"))
def test_a_direction_and_a_quantity_are_a_finding(language, text, name):
    assert name in [name.lower() for name, _ in rewrites(text, rules_of(language))]


@given(st.text(alphabet="low highserumcalcium -", max_size=200))
def test_any_text_has_a_bounded_number_of_findings(text):
    assert len(list(apply_rules(text, RULES["findings"]))) < 200


@pytest.mark.parametrize(*cases(__file__, "other_words_are_proposed"))
def test_other_words_are_proposed(language, text, other):
    assert other in dict(rewrites(text, rules_of(language)))


@given(st.text(alphabet="renalkidy tumor-ic", max_size=200))
def test_any_text_has_a_bounded_number_of_other_words(text):
    proposed = list(apply_rules(text, WORDS))
    assert len(proposed) < 500
    assert all(other and reason for other, reason in proposed)
