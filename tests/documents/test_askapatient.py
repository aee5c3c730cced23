import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.reader import guess_format, read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Mention


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
    assert [document[:3] for document in documents] == [
        (f"{path.name}:{line}", text, (Mention(0, len(text), text, "Mention", (concept_id,)),))
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
        (document,) = read_corpus(path, "askapatient", encoding=told)
        assert document.text == "n\xe4usea"


@pytest.mark.parametrize("row", ["22253000\tPain", "22253000\tPain\t ", "22253000\tPain\tache\tache"])
def test_broken_rows_are_reported_and_the_rest_goes_on(written, row):
    path = written(f"22253000\tPain\tache\n{row}\nC0000001\tPain\thurt\n")
    report = Report()
    assert [document.text for document in read_corpus(path, "askapatient", report=report)] == ["ache", "hurt"]
    assert [problem.line for problem in report.problems] == [2]
    with pytest.raises(SapbertError, match=r"\[E127\].*test\.txt, line 2"):
        list(read_corpus(path, "askapatient", strict=True))


def test_the_format_is_guessed_by_the_cuis_of_twadr_l(written):
    assert guess_format(written("C0000001\tPain\tache\nC0000001\tPain\thurts\n")) == "askapatient"


@pytest.mark.parametrize(
    "text",
    ["25763772\taspirin\tD001241\n10021369\tflu\tD007251\n", "22253000\tPain\tache\n22253000\tPain\thurts\n"],
    ids=["of PubMed", "of SNOMED CT"],
)
def test_numbers_may_be_any_ids_so_the_format_is_not_guessed(written, text):
    with pytest.raises(SapbertError, match="E124"):
        guess_format(written(text))


cells = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc", "Zs"]), min_size=1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.from_regex(r"\A[0-9]{3,15}[01]0[0-9]\Z"), cells, cells), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("written") / "fold.txt"
    path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode("latin-1"))
    mentions = [document.mentions[0] for document in read_corpus(path, "askapatient")]
    assert [mention.ids[0] for mention in mentions] == [f"SNOMEDCT:{concept_id}" for concept_id, _, _ in rows]
    assert [mention.text for mention in mentions] == [text for *_, text in rows]
