import pickle
from pathlib import Path

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.util import registry

import spacy_sapbert
from spacy_sapbert.pipeline.tokenizer import LONGEST_PIECE, BoundedTokenizer, blank_pipeline

from ..cases import cases

NLP = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "spacy-sapbert.BiomedicalTokenizer.v1"}}})
PLAIN = spacy.blank("en")


def words(text):
    return [token.text for token in NLP.make_doc(text)]


@pytest.mark.parametrize(*cases(__file__, "mentions_end_where_tokens_do"))
def test_mentions_end_where_tokens_do(text, mention):
    start = text.index(mention)
    assert NLP.make_doc(text).char_span(start, start + len(mention)) is not None


def test_spacys_own_tokenizer_cuts_some_of_them():
    assert PLAIN.make_doc("the Na+/K+ pump").char_span(4, 6) is None


def test_other_text_stays_as_spacy_has_it():
    for text in ("Isolates of E. coli, e.g. from the U.S., grew.", "Breast cancer was found in 3.5 % of 1,200 women."):
        assert words(text) == [token.text for token in PLAIN.make_doc(text)]


def test_words_with_hyphens_are_split_as_spacy_does_it():
    assert words("beta-catenin") == ["beta", "-", "catenin"]


@given(st.text(max_size=80))
def test_no_character_is_lost(text):
    doc = NLP.make_doc(text)
    assert doc.text == text
    assert all(len(token) for token in doc)


@given(st.text(alphabet="aK3+-/()[] .", max_size=40))
def test_no_character_of_formulas_is_lost(text):
    assert NLP.make_doc(text).text == text


def test_it_is_saved_with_a_pipeline(tmp_path):
    NLP.to_disk(tmp_path)
    saved = spacy.load(tmp_path)
    assert [token.text for token in saved("Na+/K+ and PAN)-induced")] == words("Na+/K+ and PAN)-induced")
    assert saved.config["nlp"]["tokenizer"] == {"@tokenizers": "spacy-sapbert.BiomedicalTokenizer.v1"}


def test_it_can_be_pickled():
    tokenizer = pickle.loads(pickle.dumps(NLP.tokenizer))
    assert [token.text for token in tokenizer("Na+/K+")] == words("Na+/K+")


def test_languages_without_rules_get_ours():
    make = registry.tokenizers.get("spacy-sapbert.BiomedicalTokenizer.v1")()
    assert [token.text for token in make(spacy.blank("xx"))("K(+)")] == ["K", "(", "+", ")"]


BOUNDED = BoundedTokenizer.like(PLAIN.tokenizer)


def tokens(doc):
    return [(token.text, token.norm_, token.whitespace_) for token in doc]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "It isn't (e.g.) 3.5 % of U.S. women, http://a.org/b?c=d :-) don't.",
        "(" * LONGEST_PIECE + " a",
        "ACGT" * 30_000 + " is a sequence",
    ],
)
def test_a_bounded_tokenizer_gives_the_same_tokens(text):
    assert tokens(BOUNDED(text)) == tokens(PLAIN.tokenizer(text))


@given(st.text(alphabet="aK3+-/()[]. '", max_size=60))
def test_a_bounded_tokenizer_changes_no_short_run(text):
    assert tokens(BOUNDED(text)) == tokens(PLAIN.tokenizer(text))


@settings(max_examples=25)
@given(st.text(alphabet="aé(.\n ", max_size=9), st.integers(1, 700), st.text(alphabet="a( '\t", max_size=9))
def test_a_bounded_tokenizer_loses_no_character_of_long_runs(text, times, end):
    assert BOUNDED(text * times + end).text == text * times + end


def test_long_runs_are_cut_after_a_sign():
    text = "word," + "a" * (LONGEST_PIECE - 3) + ")don't " + "don't"
    doc = BOUNDED(text)
    assert [token.text for token in doc][:2] == ["word", ","]
    assert [(token.text, token.norm_) for token in doc[-2:]] == [("do", "do"), ("n't", "not")]
    assert not any(map(doc.has_annotation, ("SENT_START", "ENT_IOB", "DEP")))  # nothing seems to be annotated


def test_ten_thousand_brackets_give_as_many_tokens():
    assert len(BOUNDED("(" * 10_000)) == len(NLP.make_doc("(" * 10_000)) == 10_000


def test_only_the_bounded_tokenizer_makes_documents_of_unknown_texts():
    assert len(blank_pipeline("en").make_doc("(" * 16_000)) == 16_000  # spaCy's own takes 20 seconds
    package = Path(spacy_sapbert.__file__).parent
    callers = {path.name for path in package.rglob("*.py") if "spacy.blank(" in path.read_text(encoding="utf8")}
    # the others save or load what they make
    assert callers == {"tokenizer.py", "assemble.py"}
