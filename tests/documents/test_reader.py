import gzip
import warnings

import pytest
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.documents.reader import DocumentIds, guess_format, read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary


def read_table(path):
    return read_vocabulary(path, "table", report=ReadReport())


def read_with_problems(path):
    return read_documents(path, ReadOptions(), Problems(Console(quiet=True)))


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("\n\n12|t|A title\n12|a|An abstract\n", "pubtator"),
        ("12|t|" + "A long title " * 1000, "pubtator"),
        ("\ufeff<?xml version='1.0'?>\n<collection/>", "bioc"),
        ("<collection/>", "bioc"),
        ("flu\tD1\ncold\tD2", "names"),
        ("flu\tD1\n" * 1000, "names"),
        ("mention\tid\tsentence\n12\tD1\tx\n", "names"),
        ("id\tmention\n", "names"),
        ("flu\tD1\tA bad flu.\nCold\tD2\ta cold\n", "names"),
        ('{"documents": []}', "bioc"),
        ('[\n{"documents": []}]', "bioc"),
        ("C0000001\tPain\tache\n", "askapatient"),
        ("[18F]FDG\tD1\n", "names"),
    ],
)
def test_plain_formats_are_guessed_also_when_gzipped(tmp_path, text, format):
    path = tmp_path / "corpus"
    path.write_text(text, encoding="utf8")
    assert guess_format(path) == format
    path.write_bytes(gzip.compress(text.encode()))
    assert guess_format(path) == format


# the ids of PubMed are numbers such as those of SNOMED CT
@pytest.mark.parametrize(
    "text",
    [
        *("", "flu, cold", "a\tb\tc\n", "flu\tD1\ncold\n", "31000001\n31000002\n"),
        "31000001\tOn flu\n31000002\tOn colds\n",
        "31000001\tflu\tC0021400\n31000002\tcold\tC0009443\n",
        "31415926\tOn flu\tFlu is bad.\n",
    ],
)
def test_other_formats_must_be_given(tmp_path, text):
    path = tmp_path / "corpus.txt"
    path.write_text(text)
    with pytest.raises(SapbertError, match=r"\[E124\].*pubtator, bioc, spacy, names"):
        list(read_corpus(path))


def test_unknown_format_is_an_error(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E125\].*conll"):
        list(read_corpus(tmp_path / "corpus.conll", "conll"))


@pytest.mark.parametrize("path", ["missing.txt", "a" * 5000 + ".txt", "a\0.txt"])
@pytest.mark.parametrize("read", [read_corpus, read_table, read_with_problems])
def test_a_path_that_cannot_be_read(tmp_path, read, path):
    with pytest.raises(SapbertError, match="E120"):
        list(read(tmp_path / path))


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


def test_an_empty_list_is_an_error(listed):
    for text in ("", "\n \n"):
        with pytest.raises(SapbertError, match=r"\[E105\].*pmids\.txt"):
            listed(text)


def test_ids_that_no_document_has_are_reported(listed):
    ids = listed("1\n2\n3\n")
    assert ids.takes("2")
    with pytest.warns(UserWarning, match=r"\[W203\] 2 of the 3 ids of .*pmids\.txt .*'1'"):
        assert ids.check() == 2


def test_a_list_of_another_corpus_is_an_error(listed):
    ids = listed("1\n2\n")
    assert not any(ids.takes(doc_id) for doc_id in ("a", "b", "c"))
    with pytest.raises(SapbertError, match=r"E305.*pmids\.txt .*none of its 2 ids, such as '1'"):
        ids.check()


def test_a_corpus_gives_only_the_documents_of_the_list(listed, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("1|t|flu\n1\t0\t3\tflu\tT047\tC1\n\n2|t|cold\n2\t0\t4\tcold\tT047\tC2\n")
    report = Report()
    documents = list(read_corpus(path, ids=listed("2\n"), report=report))
    assert [document.doc_id for document in documents] == ["2"]
    assert (report.documents, report.unlisted, report.mentions) == (1, 1, 1)
