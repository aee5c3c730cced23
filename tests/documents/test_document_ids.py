import gzip
import warnings

import pytest

from spacy_sapbert.documents.reader import DocumentIds, read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError


@pytest.fixture
def listed(tmp_path):
    def write(text, pack=bytes):
        path = tmp_path / "pmids.txt"
        path.write_bytes(pack(text.encode()))
        return DocumentIds(path)

    return write


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_ids_stand_one_a_line(listed, pack):
    ids = listed("\ufeff12\r\n\r\n 7 \r\n12\r\n", pack)
    assert [ids.takes(doc_id) for doc_id in ("7", "1", "12", "12", "")] == [True, False, True, True, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ids.check() == 0


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_list_is_an_error(listed, text):
    with pytest.raises(SapbertError, match=r"\[E105\].*pmids\.txt"):
        listed(text)


def test_ids_that_no_document_has_are_told(listed):
    ids = listed("1\n2\n3\n")
    assert ids.takes("2")
    with pytest.warns(UserWarning, match=r"\[W203\] 2 of the 3 ids of .*pmids\.txt .*'1'"):
        assert ids.check() == 2


def test_a_list_of_another_corpus_is_an_error(listed):
    ids = listed("1\n2\n")
    assert not any(ids.takes(doc_id) for doc_id in ("a", "b", "c"))
    with pytest.raises(SapbertError, match=r"\[E214\].* 2 ids in .*pmids\.txt .* 3 documents with other ids.*'a'"):
        ids.check()


def test_a_corpus_gives_only_the_documents_of_the_list(listed, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("1|t|flu\n1\t0\t3\tflu\tT047\tC1\n\n2|t|cold\n2\t0\t4\tcold\tT047\tC2\n")
    report = Report()
    documents = list(read_corpus(path, ids=listed("2\n"), report=report))
    assert [document.doc_id for document in documents] == ["2"]
    assert (report.documents, report.unlisted, report.mentions) == (1, 1, 1)
