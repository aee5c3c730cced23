import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.retrieval.phrases import LONGEST, Word, WordIndex, end_of_beginning, phrases, words_of

NLP = spacy.blank("en")


def forms(text):
    return {phrase.text: phrase.spans for phrase in phrases(NLP.make_doc(text))}


def test_words_by_hand():
    assert words_of("X-linked, Ünal 2") == [
        Word("x", 0, 1), Word("linked", 2, 8), Word("ünal", 10, 14), Word("2", 15, 16),
    ]  # fmt: skip


def test_phrases_by_hand():
    found = forms("Colds of the lung. In 12 Men: X colds")
    assert found == {
        "colds": [(0, 5), (32, 37)],
        "colds of the lung": [(0, 17)],
        "lung": [(13, 17)],
        "12 men": [(22, 28)],  # "12" is a number, "x" a letter
        "men": [(25, 28)],
        "x colds": [(30, 37)],
    }


def test_phrases_stay_in_their_clause():
    assert set(forms("cold; fits, (of) men\n\nlung")) == {
        "cold", "fits", "fits, (of) men", "men", "lung",
    }  # fmt: skip


def test_words_inside_and_next_to_a_part():
    text = "Loss of Na+, in (mice)"
    index = WordIndex(text)
    start = text.index("Na")

    def inside(start, end):
        return [word.text for word in index.words[index.inside(start, end)]]

    assert inside(start, start + 3) == ["na"]
    assert inside(0, len(text)) == ["loss", "of", "na", "in", "mice"]
    assert inside(1, 4) == inside(4, 5) == inside(start + 2, start + 3) == []
    assert (index.before(start), index.after(start + 3)) == ("of", "")
    assert (index.before(0), index.after(len(text))) == ("", "")
    assert (index.before(text.index("(")), index.before(text.index("mice"))) == ("in", "")
    assert [index.are_cut(*span) for span in ((0, 4), (1, 4), (0, 3), (1, 3), (4, 5), (start, start + 3))] == [
        False, True, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", ".", "the of", " \n", "12", "x of"])
def test_nothing_but_stop_words_and_numbers(text):
    assert phrases(NLP.make_doc(text)) == []


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["cold", "Fits", "the", ",", ".", "12", "x", "\n"]), max_size=25))
def test_phrases_are_short_runs_of_the_text(words):
    doc = NLP.make_doc(" ".join(words))
    for phrase in phrases(doc):
        assert {doc.text[start:end].lower() for start, end in phrase.spans} == {phrase.text}
        assert all(1 <= len(doc.char_span(*span)) <= LONGEST for span in phrase.spans)
        assert phrase.spans == sorted(set(phrase.spans))
        assert phrase.text.split()[0] not in ("the", ",")
        assert "." not in phrase.text


@pytest.mark.parametrize(
    ("text", "end"), [("Dr. A cold was seen. Fits", 19), ("cold " * 40, 125), ("cold fits", 9), ("", 0)]
)
def test_the_beginning(text, end):
    assert end_of_beginning(NLP.make_doc(text)) == end


def test_what_is_in_the_beginning():
    found = {phrase.text: phrase.in_beginning for phrase in phrases(NLP.make_doc("Men had a cold. Fits, cold"))}
    assert (found["cold"], found["fits"]) == (True, False)


def test_parts_of_composites():
    text = "Breast and ovarian cancer, breast and ovarian cancer"
    found = forms(text)
    assert found["breast cancer"] == [(0, 25)]  # at the shortest run that it is a part of
    assert found["ovarian cancer"] == [(11, 25), (38, 52)]  # which stands there as it is


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Kidney, liver and lung cancer", {"kidney cancer", "liver cancer"}),
        ("both breast and ovarian cancer", {"breast cancer"}),
        ("brain pain in renal and liver disease", {"renal disease"}),  # not "brain pain in liver disease"
        ("brain cancer (rare) and lung disease", set()),
    ],
)
def test_no_composite_across_what_separates_phrases(text, parts):
    assert {form for form in forms(text) if form not in text.lower()} == parts
