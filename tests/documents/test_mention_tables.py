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
    [("names", "cold\tD2", row, "flu\tD1") for row in ("flu", "flu\tD1\tmore", "\tD1")],
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


@pytest.mark.parametrize(
    "text",
    ["25763772\taspirin\tD001241\n10021369\tflu\tD007251\n", "22253000\tPain\tache\n22253000\tPain\thurts\n"],
    ids=["of PubMed", "of SNOMED CT"],
)
def test_numbers_may_be_any_ids_so_the_format_is_not_guessed(tmp_path, text):
    path = tmp_path / "mentions.txt"
    path.write_text(text)
    with pytest.raises(SapbertError, match="E124"):
        guess_format(path)
