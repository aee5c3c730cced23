import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.askapatient import is_concept_id
from spacy_sapbert.documents.reader import guess_format, read_corpus
from spacy_sapbert.documents.report import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document, Mention


@pytest.fixture
def written(tmp_path):
    def write(text, encoding="latin-1"):
        path = tmp_path / "AskAPatient.fold-0.test.txt"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_each_row_is_a_document(written):
    path = written('22253000\tPain\t it "hurt \n\n11433011000036107\tDrug\tmy pills\r\nC0000001\tPain\tache|s\n')
    report = Report()
    documents = list(read_corpus(path, "askapatient", report=report))
    assert documents == [
        Document(f"{path.name}:{line}", text, (Mention(0, len(text), text, "Mention", (concept_id,)),))
        for line, text, concept_id in [
            (1, 'it "hurt', "SNOMEDCT:22253000"),
            (3, "my pills", "SNOMEDCT:11433011000036107"),
            (4, "ache|s", "C0000001"),
        ]
    ]
    assert (report.documents, report.duplicates, report.broken) == (3, 0, 0)


def test_the_files_are_latin_1_unless_told_otherwise(written):
    for encoding, told in (("latin-1", None), ("utf-8", "utf-8")):
        path = written("22253000\tPain\tn\xe4usea\n", encoding)
        assert guess_format(path) == "askapatient"
        (document,) = read_corpus(path, encoding=told)
        assert document.text == "n\xe4usea"


@pytest.mark.parametrize("row", ["22253000\tPain", "22253000\tPain\t ", "22253000\tPain\tache\tache"])
def test_broken_rows_are_reported_and_the_rest_goes_on(written, row):
    path = written(f"22253000\tPain\tache\n{row}\nC0000001\tPain\thurt\n")
    report = Report()
    assert [document.text for document in read_corpus(path, "askapatient", report=report)] == ["ache", "hurt"]
    assert [problem.line for problem in report.problems] == [2]
    with pytest.raises(SapbertError, match=r"\[E127\].*test\.txt, line 2"):
        list(read_corpus(path, "askapatient", strict=True))


@pytest.mark.parametrize("concept_id", ["22253000", "900000000000207008", "21433011000036107", "C0000001"])
def test_the_format_is_guessed_by_the_ids(written, concept_id):
    assert guess_format(written(f"{concept_id}\tPain\tache\n{concept_id}\tPain\thurts\n")) == "askapatient"


@pytest.mark.parametrize(
    "text",
    ["25763772\taspirin\tD001241\n10021369\tflu\tD007251\n", "25763772\tD001241\n10021369\tD007251\n"],
    ids=["with mentions", "without mentions"],
)
def test_a_table_of_pubmed_ids_is_not_guessed_as_a_corpus(written, text):
    with pytest.raises(SapbertError, match="E203"):
        guess_format(written(text))


@given(st.from_regex(r"\A[0-9]{5,17}\Z"))
def test_exactly_one_check_digit_fits_a_number(number):
    assert sum(is_concept_id(f"{number}{digit}") for digit in range(10)) == 1


@given(st.from_regex(r"\A[0-9]{6,18}\Z"), st.data())
def test_exchanged_neighbors_are_found(number, data):
    place = data.draw(st.integers(0, len(number) - 2))
    exchanged = number[:place] + number[place + 1] + number[place] + number[place + 2 :]
    if number != exchanged:
        assert not (is_concept_id(number) and is_concept_id(exchanged))


cells = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc", "Zs"]), min_size=1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.from_regex(r"\A[0-9]{3,15}[01]0[0-9]\Z"), cells, cells), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("written") / "fold.txt"
    path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode("latin-1"))
    mentions = [document.mentions[0] for document in read_corpus(path, "askapatient")]
    assert [mention.ids[0] for mention in mentions] == [f"SNOMEDCT:{concept_id}" for concept_id, _, _ in rows]
    assert [mention.text for mention in mentions] == [text for *_, text in rows]
