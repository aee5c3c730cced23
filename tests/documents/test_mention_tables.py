import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.reader import guess_format, read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Mention


def test_each_row_is_a_document(read_reporting, tmp_path):
    path = tmp_path / "mentions.tsv"
    path.write_text('mention\tid\nhead "spinning\t404640003\n\n feel  sick \tUMLS:C0027497|C0231218\nno idea\t-1\n')
    documents, report = read_reporting(path, "names")
    assert [document[:3] for document in documents] == [
        (f"mentions.tsv:{line}", text, (Mention(0, len(text), text, "Mention", ids),))
        for line, text, ids in [
            (2, 'head "spinning', ("404640003",)),
            (4, "feel  sick", ("C0027497", "C0231218")),
            (5, "no idea", ()),
        ]
    ]
    assert (report.documents, report.without_id, report.duplicates, report.broken) == (3, 1, 0, 0)


@pytest.mark.parametrize(
    ("format", "before", "row", "after"),
    [
        *(("names", "cold\tD2", row, "flu\tD1") for row in ("flu", "flu\tD1\tmore", "\tD1")),
        *(
            ("askapatient", "22253000\tPain\tcold", f"22253000\tPain{rest}", "C0000001\tPain\tflu")
            for rest in ("", "\t ", "\tache\tache")
        ),
    ],
)
def test_broken_rows_are_reported_and_the_rest_goes_on(read_reporting, tmp_path, format, before, row, after):
    path = tmp_path / "mentions.tsv"
    documents, report = read_reporting(path, format, f"{before}\n{row}\n{after}\n")
    assert [document.text for document in documents] == ["cold", "flu"]
    assert [problem.line for problem in report.problems] == [2]
    with pytest.raises(SapbertError, match=r"\[E127\].*mentions\.tsv, line 2"):
        list(read_corpus(path, format, strict=True))


cells = st.text(alphabet='abc é"', min_size=1).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.lists(st.tuples(cells, st.sampled_from(["D1", "C0000001", "OMIM:145250"])), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("written") / "mentions.tsv"
    path.write_text("\n".join("\t".join(row) for row in rows), encoding="utf8")
    mentions = [document.mentions[0] for document in read_corpus(path)]
    assert [(mention.text, *mention.ids) for mention in mentions] == rows


def test_the_text_of_a_mention_with_a_sentence_is_the_sentence(read_reporting, tmp_path):
    rows = [
        "cold\tD1\tThe scolded child had a Cold, a bad cold.",
        "flu\tD2\tanti-influenza",
        "croup\tD3\tThe child coughs.",
        "flu\tD2\t",
        "İ\tD4\tAn İ is one letter.",
    ]
    documents, report = read_reporting(tmp_path / "mentions.tsv", "names", "\n".join(rows))
    assert [(document.text[:9], *document.mentions[0][:3]) for document in documents] == [
        ("The scold", 24, 28, "Cold"),
        ("anti-infl", 7, 10, "flu"),
        ("flu", 0, 3, "flu"),
        ("An İ is o", 3, 4, "İ"),
    ]
    assert (report.repeated, report.broken) == (1, 1)
    assert report.problems[0].line == 3
    assert report.problems[0].reason == "the mention 'croup' does not occur in its sentence"


@pytest.mark.parametrize(
    "header", ["id\tmention", "mention\tid\tsentence", "sentence\tid\tmention", "id\tsentence\tmention"]
)
def test_the_header_gives_the_order_of_the_columns(read_reporting, tmp_path, header):
    row = {"mention": "flu", "id": "D1", "sentence": "bad flu"}
    content = header + "\n" + "\t".join(row[column] for column in header.split("\t")) + "\nflu\n"
    (document,), report = read_reporting(tmp_path / "mentions.tsv", None, content)
    assert document.mentions[0][2:5] == ("flu", "Mention", ("D1",))
    assert document.text == ("bad flu" if "sentence" in header else "flu")
    assert report.problems[0].reason.startswith(f"1 columns instead of {header.count(chr(9)) + 1}: ")


words = st.text(alphabet="aé-_ İ", min_size=1).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.lists(st.tuples(words, words, words), min_size=1))
def test_a_mention_in_its_sentence_is_found(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "sentences.tsv"
    lines = [f"{mention}\tD1\t{before} {mention} {after}\n" for before, mention, after in rows]
    path.write_text("mention\tid\tsentence\n" + "".join(lines), encoding="utf8")
    documents = list(read_corpus(path, strict=True))
    for document, (before, mention, after) in zip(documents, rows, strict=True):
        assert document.text == f"{before} {mention} {after}"
        (found,) = document.mentions
        assert found.text.lower().replace("i̇", "i") == mention.lower().replace("i̇", "i")
        assert document.text[found.start : found.end] == found.text


@pytest.fixture
def written(tmp_path):
    def write(text, encoding="latin-1"):
        path = tmp_path / "AskAPatient.fold-0.test.txt"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_each_row_of_askapatient_is_a_document(read_reporting, written):
    path = written('22253000\tPain\t it "hurt \n\n11433011000036107\tDrug\tmy pills\r\nC0000001\tPain\tache|s\n')
    documents, report = read_reporting(path, "askapatient")
    assert [document[:3] for document in documents] == [
        (f"{path.name}:{line}", text, (Mention(0, len(text), text, "Mention", (concept_id,)),))
        for line, text, concept_id in [
            (1, 'it "hurt', "SNOMEDCT:22253000"),
            (3, "my pills", "SNOMEDCT:11433011000036107"),
            (4, "ache|s", "C0000001"),
        ]
    ]
    assert (report.documents, report.duplicates, report.broken) == (3, 0, 0)


def test_the_files_are_latin_1_unless_given(written):
    for encoding, given_encoding in (("latin-1", None), ("utf-8", "utf-8")):
        path = written("22253000\tPain\tn\xe4usea\n", encoding)
        (document,) = read_corpus(path, "askapatient", encoding=given_encoding)
        assert document.text == "n\xe4usea"


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


texts = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc", "Zs"]), min_size=1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.from_regex(r"\A[0-9]{3,15}[01]0[0-9]\Z"), texts, texts), min_size=1))
def test_rows_of_askapatient_are_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("written") / "fold.txt"
    path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode("latin-1"))
    mentions = [document.mentions[0] for document in read_corpus(path, "askapatient")]
    assert [mention.ids[0] for mention in mentions] == [f"SNOMEDCT:{concept_id}" for concept_id, _, _ in rows]
    assert [mention.text for mention in mentions] == [text for *_, text in rows]
