import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Mention

HEADING = [
    "ID",
    "Term",
    "General SNOMED Label",
    "General SNOMED ID",
    "Specific SNOMED Label",
    "Specific SNOMED ID",
    "Example",
]


def row(number, term, example, general="100001", specific="200002"):
    return [str(number), term, "General", general, "Specific", specific, example]


def write(path, *rows, heading=HEADING):
    with path.open("w", newline="", encoding="utf8") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([heading, *rows])
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "test.csv"


@pytest.mark.parametrize(("format", "concept_id"), [("cometa-general", "100001"), ("cometa-specific", "200002")])
def test_a_row_is_its_example_with_the_term_in_it(path, format, concept_id):
    write(path, row(27, "Flu shot", "My flu shot hurt ."))
    mention = Mention(3, 11, "flu shot", "Mention", (f"SNOMEDCT:{concept_id}",))
    assert [document[:3] for document in read_corpus(path, format)] == [("27", "My flu shot hurt .", (mention,))]


@pytest.mark.parametrize(
    ("term", "example"),
    [
        ("flu", "Influenza , fluids ."),
        ("flu", "The flu is no flu ."),
        ("crohn's", "My crohn ' s is back ."),
        ("flu", ""),
    ],
)
def test_a_term_that_does_not_stand_exactly_once_in_its_example_is_alone(path, term, example):
    write(path, row(1, term, example))
    report = Report()
    (document,) = read_corpus(path, "cometa-general", report=report)
    assert document.text == term
    assert document.mentions[0][:3] == (0, len(term), term)
    assert (report.alone, report.mismatched) == (1, 0)


def test_terms_are_no_patterns_and_may_end_in_punctuation(path):
    write(path, row(1, "b12 (shot)", "A b12 (shot) , b12 ."), row(2, "a.b", "axb then a.b"))
    found = [document.mentions[0][:3] for document in read_corpus(path, "cometa-general")]
    assert found == [(2, 12, "b12 (shot)"), (9, 12, "a.b")]


def test_columns_are_found_by_name_and_quotes_are_undone(path):
    heading = ["", *HEADING, "Example Link"]
    write(path, ["0", *row(5, "flu", '" It is flu "\tthey\nsay'), "https://example.org"], heading=heading)
    (document,) = read_corpus(path, "cometa-specific")
    assert document.text == '" It is flu "\tthey\nsay'
    assert document.mentions[0].text == "flu"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1\tflu", "2 cells instead of 7"),
        ("1\t\tG\t100001\tS\t200002\tI am ill .", "no term"),
        ("1\tflu\tG\t100001.0\tS\t200002\tI am ill .", "'100001.0' is not a SNOMED CT id"),
        ('1\tflu\tG\t100001\tS\t200002\t"I am" ill .', "the text from here to line 3 is not a row"),
    ],
)
def test_broken_rows_are_reported_and_the_rest_goes_on(path, line, reason):
    write(path, row(1, "cold", "A cold ."), row(2, "REPLACED", ""), row(3, "ache", "An ache ."))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], f"{line}\n", lines[3]]))
    report = Report()
    documents = list(read_corpus(path, "cometa-general", report=report))
    assert [document.mentions[0].text for document in documents] == ["cold", "ache"]
    assert [problem.line for problem in report.problems] == [3]
    assert reason in report.problems[0].reason
    with pytest.raises(SapbertError, match=r"\[E127\].*test\.csv, line 3"):
        list(read_corpus(path, "cometa-general", strict=True))


def test_a_term_may_have_no_id(path):
    write(path, row(1, "flu", "A flu .", general=""), row(2, "flu", "A flu .", general="-1"))
    report = Report()
    assert [document.mentions[0].ids for document in read_corpus(path, "cometa-general", report=report)] == [(), ()]
    assert report.without_id == 2


@pytest.mark.parametrize("heading", [[], ["mention", "id"], ["ID", "Term", "Specific SNOMED ID", "Example"]])
def test_a_file_without_the_columns_is_told(path, heading):
    write(path, heading=heading)
    with pytest.raises(SapbertError, match=r"\[E128\].*test\.csv has no column (ID|General SNOMED ID)"):
        list(read_corpus(path, "cometa-general"))


def test_which_of_the_two_ids_cannot_be_guessed(path):
    write(path, row(1, "flu", "A flu ."))
    with pytest.raises(SapbertError, match=r"\[E124\].*cometa-general, cometa-specific"):
        list(read_corpus(path))


words = st.text(alphabet="flu (é\"'.", min_size=1).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.lists(st.tuples(words, words), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("written") / "chv.csv"
    write(path, *(row(number, *pair) for number, pair in enumerate(pairs)))
    documents = list(read_corpus(path, "cometa-general"))
    assert [document.doc_id for document in documents] == [str(number) for number in range(len(pairs))]
    for (term, example), document in zip(pairs, documents, strict=True):
        mention = document.mentions[0]
        assert document.text in (term, example)
        assert document.text[mention.start : mention.end] == mention.text == term
