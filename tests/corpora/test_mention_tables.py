import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.corpora.reader import read_corpus
from spacy_sapbert.corpora.report import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import AnnotatedDocument, Mention


def test_each_row_is_a_document(tmp_path):
    path = tmp_path / "mentions.tsv"
    path.write_text('mention\tid\nhead "spinning\t404640003\n\n feel  sick \tUMLS:C0027497|C0231218\nno idea\t-1\n')
    report = Report()
    documents = list(read_corpus(path, "names", report=report))
    assert documents == [
        AnnotatedDocument(f"mentions.tsv:{line}", text, (Mention(0, len(text), text, "Mention", ids),))
        for line, text, ids in [
            (2, 'head "spinning', ("404640003",)),
            (4, "feel  sick", ("C0027497", "C0231218")),
            (5, "no idea", ()),
        ]
    ]
    assert (report.documents, report.without_id, report.duplicates, report.broken) == (3, 1, 0, 0)


@pytest.mark.parametrize("row", ["flu", "flu\tD1\tmore", "\tD1"])
def test_broken_rows_are_reported_and_the_rest_goes_on(tmp_path, row):
    path = tmp_path / "mentions.tsv"
    path.write_text(f"cold\tD2\n{row}\nflu\tD1\n")
    report = Report()
    assert [document.text for document in read_corpus(path, "names", report=report)] == ["cold", "flu"]
    assert [problem.line for problem in report.problems] == [2]
    with pytest.raises(SapbertError, match=r"\[E201\].*mentions\.tsv, line 2"):
        list(read_corpus(path, "names", strict=True))


cells = st.text(alphabet='abc é"', min_size=1).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.lists(st.tuples(cells, st.sampled_from(["D1", "C0000001", "OMIM:145250"])), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("written") / "mentions.tsv"
    path.write_text("\n".join("\t".join(row) for row in rows), encoding="utf8")
    mentions = [document.mentions[0] for document in read_corpus(path)]
    assert [(mention.text, *mention.ids) for mention in mentions] == rows
