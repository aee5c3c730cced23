import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.general_text import after_citation, general_mentions, lead_in

from ..cases import cases


def left_out(text, *labels):
    """Return which of the mentions in brackets are left out. Without labels, all are genes."""
    pieces = text.replace("]", "[").split("[")
    plain, mentions, start = "".join(pieces), [], 0
    for index, piece in enumerate(pieces):
        if index % 2:
            mentions.append((start, start + len(piece), labels[index // 2] if labels else "Gene"))
        start += len(piece)
    return [plain[start:end] for start, end, _ in general_mentions(plain, mentions)]


@pytest.mark.parametrize(*cases(__file__, "persons_codes_and_words_are_no_concepts"))
def test_persons_codes_and_words_are_no_concepts(text):
    assert left_out(text) == [piece.partition("]")[0] for piece in text.split("[")[1:]]


@pytest.mark.parametrize(*cases(__file__, "words_before_a_mention"))
def test_words_before_a_mention(text, mention):
    words = re.findall(r"\w[^\s:]*(?::\S+)?\s?|: ?", text)
    assert "".join(words) == text
    assert "".join(words[lead_in(words) :]) == mention


@pytest.mark.parametrize(*cases(__file__, "concepts_stay"))
def test_concepts_stay(text):
    assert left_out(text) == []


def test_a_disease_in_the_text_is_evidence_of_genes():
    assert left_out("[notch] in [ice]", "Gene", "Species") == ["notch"]
    assert left_out("[notch] in [asthma]", "Gene", "Disease") == []


def test_numbers_of_references_are_no_part_of_a_mention():
    text = "It helps [2,3] and [14C]urea [11] Propofol."
    assert list(general_mentions(text, [(9, 14, "Chemical")])) == [(9, 14, "Chemical")]
    assert text[after_citation(text, text.index("[11]")) :] == "Propofol."
    assert after_citation(text, text.index("[14C]")) == text.index("[14C]")


@given(st.text(alphabet="AbDr.S, 1R0CA-(\n", max_size=60), st.integers(0, 60), st.integers(1, 9))
def test_any_text_is_read(text, start, length):
    mentions = [(start, start + length, "Gene")] if start + length <= len(text) else []
    assert set(general_mentions(text, mentions)) <= set(mentions)
