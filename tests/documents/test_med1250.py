from pathlib import Path

import pytest

from spacy_sapbert.documents.pubtator import read_med1250
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError

# a third column is left out
RECORDS = (
    "101\n"
    "A title about \u201ccystic fibrosis\u201d (CF). \n"
    "First line.\r Second line of the abstract.\r\n"
    "  CF|cystic fibrosis|0.99\n"
    "//!ord\n"
    "  x|a longer  form \n"
    "//*  whelk|Buccinum undatum \n"
    "//!syn\n"
    "//  RT-2| only a comment\n"
    "\n"
    "102\n"
    "No abbreviations.\n"
)


@pytest.fixture
def write(tmp_path: Path):
    def _write(content: str, encoding: str = "cp1252") -> Path:
        path = tmp_path / "records.txt"
        path.write_bytes(content.encode(encoding))
        return path

    return _write


def test_records(write):
    first, second = read_med1250(write(RECORDS), strict=True)
    assert first.pmid == "101"
    assert first.text == "A title about \u201ccystic fibrosis\u201d (CF).\nFirst line. Second line of the abstract."
    assert first.pairs == (("CF", "cystic fibrosis"), ("x", "a longer  form"))
    assert first.synonyms == (("whelk", "Buccinum undatum"),)
    assert second == ("102", "No abbreviations.", (), ())


@pytest.mark.parametrize("break_", ["\n", "\n101\n"])
def test_record_that_is_split_in_two_is_one(write, break_):
    path = write(f"101\nTitle.\n{break_}Abstract.\n  CF|cystic fibrosis\n\n102\nOther.\n")
    first, second = read_med1250(path, strict=True)
    assert first == ("101", "Title.\nAbstract.", (("CF", "cystic fibrosis"),), ())
    assert second.pmid == "102"


BROKEN = "Title without PMID.\n\n101\nTitle.\n  CF cystic fibrosis\n\n102\nOther.\n  |form\n\n103\nRight.\n"


def test_broken_records_are_counted_and_the_rest_goes_on(write):
    report = Report()
    assert [record.pmid for record in read_med1250(write(BROKEN), report=report)] == ["103"]
    assert (report.documents, report.broken) == (1, 3)
    assert [problem.line for problem in report.problems] == [1, 3, 7]
    assert "line 5" in report.problems[1].reason
    with pytest.warns(UserWarning, match=r"W201.*3 broken.*line 1"):
        list(read_med1250(write(BROKEN)))
    with pytest.raises(SapbertError, match=r"E127.*line 1: .*PMID"):
        list(read_med1250(write(BROKEN), strict=True))


def test_development_records(data_dir):
    records = list(read_med1250(data_dir / "corpora" / "med1250" / "MED1250_labeled_dev.txt", strict=True))
    assert len(records) == 625
    assert sum(len(record.pairs) for record in records) == 632
    assert sum(len(record.synonyms) for record in records) == 25
    assert not any("\r" in record.text for record in records)
