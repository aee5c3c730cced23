import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.augmentation.documents import (
    PMID,
    TITLE,
    EvaluationSets,
    SourceDocument,
    cut,
    first_sentence,
    fold,
    pmid_of,
    read_folder,
    spacy_tokens,
    wordpieces,
)
from spacy_sapbert.documents.report import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document


def test_files_of_a_folder_are_read_by_alphabet(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "7.txt").write_text("Some text.\n")
    (tmp_path / "notes.md").write_text("not read")
    records = [{"id": 1, "pmid": "12", "title": "A title.", "text": "Text."}, {"text": "No id."}]
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as handle:
        handle.write("".join(json.dumps(record) + "\n" for record in records))
    report = Report()
    assert list(read_folder([tmp_path], report)) == [
        SourceDocument("1", "A title. Text.", "A title.", "12", "a.jsonl.gz"),
        SourceDocument("a.jsonl.gz:2", "No id.", source="a.jsonl.gz"),
        SourceDocument("7", "Some text.", source="7.txt"),
    ]
    assert report.broken == 0


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"id": "1"}', '{"text": ["a"]}', '{"text": "a", "pmid": true}', '{"text": "\\ud800"}']
)
def test_broken_records_are_counted_and_the_rest_goes_on(tmp_path, line):
    path = tmp_path / "some.jsonl"
    path.write_text(f'{line}\n{{"text": "right"}}\n')
    report = Report()
    assert [document.text for document in read_folder([path], report)] == ["right"]
    assert [problem.line for problem in report.problems] == [1]


def test_what_is_not_a_document_is_reported(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E504\]"):
        list(read_folder([tmp_path], Report()))
    (tmp_path / "text.pdf").write_text("x")
    with pytest.raises(SapbertError, match=r"\[E124\]"):
        list(read_folder([tmp_path / "text.pdf"], Report()))
    (tmp_path / "empty.txt").write_text(" \n")
    report = Report()
    assert list(read_folder([tmp_path], report)) == []
    assert report.broken == 1


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
    pieces = wordpieces("starter")(text)
    assert len(pieces) > len(TOKENIZE(text))
    assert "".join(text[start:end] for start, end in pieces) == text.replace(" ", "")


# --- documents of evaluation sets


SETS = EvaluationSets(
    [
        Document("PMID:00123", "A novel mutation in the BRCA1 gene. We report a family with three cases."),
        Document("x1", "Case report. The patient had been treated for years with lithium."),
    ]
)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (SourceDocument("a", "Another text.", pmid="123"), PMID),
        (SourceDocument("123", "Another text."), PMID),
        (SourceDocument("a", "A NOVEL mutation in the  BRCA1 gene!", "A NOVEL mutation in the  BRCA1 gene!"), TITLE),
        (SourceDocument("a", "A novel mutation in the ( BRCA1 ) gene .\nWe report"), TITLE),
        # an abstract without the title that the set has
        (SourceDocument("a", "We report a family with three cases . More follows ."), TITLE),
        (SourceDocument("a", "Case report. Something else.", "Case report."), TITLE),
        (SourceDocument("a", "A novel mutation in the BRCA1 generally. We report"), None),
        (SourceDocument("a", "The patient. Had been treated.", "The patient."), None),
        (SourceDocument("a", "Text.", pmid="1234"), None),
    ],
)
def test_overlap_by_number_and_by_title(document, reason):
    assert SETS.overlap(document) == reason


def test_nothing_overlaps_with_nothing():
    assert EvaluationSets().overlap(SourceDocument("", "")) is None
    assert SETS.overlap(SourceDocument("", "...")) is None


@pytest.mark.parametrize(("doc_id", "pmid"), [("PMID: 012", "12"), ("12", "12"), ("PMC12", ""), ("12-3", "")])
def test_numbers_in_pubmed(doc_id, pmid):
    assert pmid_of(doc_id) == pmid
