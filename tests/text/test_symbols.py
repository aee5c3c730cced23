"""Symbols."""

import pytest

from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.text.normalize import symbol_runs
from spacy_sapbert.text.symbols import why_another

from ..cases import cases


@pytest.mark.parametrize(
    ("text", "runs"),
    [("TNFalpha", "TNF α"), ("IL-1BETA", "IL 1 β"), ("alphafetoprotein", "alphafetoprotein"), ("CYP2D6", "CYP 2 D 6")],
)
def test_runs_of_a_symbol(text, runs):
    assert symbol_runs(text) == runs.split()


@pytest.mark.parametrize(*cases(__file__, "similar_symbols"))
def test_similar_symbols(text, name, other):
    assert why_another(text, name) == ("it is another symbol" if other else None)


@pytest.mark.parametrize(*cases(__file__, "similar_words"))
def test_similar_words(text, name, other):
    assert why_another(text, name) == ("it is another word" if other else None)
    assert why_another(text, name, rules_of("de")) is None


@pytest.mark.parametrize(*cases(__file__, "words_that_no_name_explains"))
def test_words_that_no_name_explains(text, name, word):
    assert why_another(text, name) == (word and f"no name explains “{word}”")
