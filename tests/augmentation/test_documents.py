import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.augmentation.documents import (
    PMID,
    TITLE,
    EvaluationSets,
    cut,
    first_sentence,
    fold,
    pmid_of,
    spacy_tokens,
    wordpieces,
)
from spacy_sapbert.types import Document


def test_copies_of_a_text_fold_alike():
    assert fold("Gene–disease: a REVIEW .") == fold("gene disease (A review)") == "gene disease a review"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Is it? Yes.", "Is it? "),
        ("One (two.) Three", "One (two.) "),
        ("By 3.5 mg of e.g. aspirin. Next", "By 3.5 mg of e.g. aspirin. "),
        ("A line\nanother", "A line\n"),
        ("no end", "no end"),
    ],
)
def test_the_first_sentence(text, first):
    assert first_sentence(text) == first


TOKENIZE = spacy_tokens()


def test_segments_end_with_a_sentence():
    text = "One two three four. Five six seven eight nine ten. Eleven twelve."
    assert cut(text, TOKENIZE(text), 8) == ["One two three four.", "Five six seven eight nine ten.", "Eleven twelve."]


def test_a_sentence_that_is_too_long_is_cut_between_words():
    text = "alpha beta gamma-delta-epsilon"
    assert cut(text, TOKENIZE(text), 4) == ["alpha beta", "gamma-delta-", "epsilon"]
    assert cut("", [], 3) == []


words = st.text("abcXYZ19.?!-(),\n ", max_size=80)


@given(words, st.integers(1, 9))
def test_nothing_is_lost_or_too_long(text, limit):
    tokens = [token for token in TOKENIZE(text) if text[slice(*token)].strip()]
    segments = cut(text, tokens, limit)
    assert "".join("".join(segments).split()) == "".join(text.split())
    place = 0
    for segment in segments:
        start = text.index(segment, place)
        place = start + len(segment)
        assert 0 < sum(start <= token[0] < place for token in tokens) <= limit


def test_wordpieces_of_an_encoder():
    text = "Adrenoleukodystrophyx is rare."
    pieces = wordpieces("starter-transformer")(text)
    assert len(pieces) > len(TOKENIZE(text))
    assert "".join(text[start:end] for start, end in pieces) == text.replace(" ", "")


SETS = EvaluationSets(
    [
        Document("PMID:00123", "A novel mutation in the BRCA1 gene. We report a family with three cases."),
        Document("x1", "Case report. The patient had been treated for years with lithium."),
    ]
)


@pytest.mark.parametrize(
    ("doc_id", "text", "others", "reason"),
    [
        ("a", "Another text.", {"meta": {"pmid": 123}}, PMID),
        ("123", "Another text.", {}, PMID),
        ("a", "A NOVEL mutation in the  BRCA1 gene!", {"title": "A NOVEL mutation in the  BRCA1 gene!"}, TITLE),
        ("a", "A novel mutation in the ( BRCA1 ) gene .\nWe report", {}, TITLE),
        # an abstract without the title that the set has
        ("a", "We report a family with three cases . More follows .", {}, TITLE),
        ("a", "Case report. Something else.", {"title": "Case report."}, TITLE),
        ("a", "A novel mutation in the BRCA1 generally. We report", {}, None),
        ("a", "The patient. Had been treated.", {"title": "The patient."}, None),
        ("a", "Text.", {"meta": {"pmid": "1234"}}, None),
        ("", "...", {}, None),
    ],
)
def test_overlap_by_number_and_by_title(doc_id, text, others, reason):
    assert SETS.overlap(Document(doc_id, text, **others)) == reason
    assert EvaluationSets().overlap(Document(doc_id, text, **others)) is None


@pytest.mark.parametrize(("doc_id", "pmid"), [("PMID: 012", "12"), ("12", "12"), ("PMC12", ""), ("12-3", "")])
def test_numbers_in_pubmed(doc_id, pmid):
    assert pmid_of(doc_id) == pmid
