import hashlib

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Name, Record

# invented terms, in the columns of the MedDRA Distribution File Format Document
LLT = """\
10000001$Red fever$10000001$$$$$$$Y$$
10000002$Fever, red$10000001$$$$$$$Y$$
10000003$Febris rubra$10000001$$$$$$$N$$
10000004$Blue fever$10000004$$$$$$$Y$$
"""
PT = """\
10000001$Red fever$$10000009$$$$$$$$
10000004$Blue fever$$10000009$$$$$$$$
"""
HLT = "10000007$Coloured fevers$$$$$$$$\n10000008$Childhood fevers$$$$$$$$\n"
HLGT = "10000010$Fevers$$$$$$$$\n"
SOC = "10000009$General ills$Gen$$$$$$$$\n"
MDHIER = """\
10000001$10000007$10000010$10000009$Red fever$Coloured fevers$Fevers$General ills$Gen$$10000009$Y$
10000001$10000008$10000010$10000009$Red fever$Childhood fevers$Fevers$General ills$Gen$$10000009$N$
10000004$10000007$10000010$10000009$Blue fever$Coloured fevers$Fevers$General ills$Gen$$10000009$Y$
"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "MedAscii"
    folder.mkdir()
    files = {"llt": LLT, "pt": PT, "hlt": HLT, "hlgt": HLGT, "soc": SOC, "mdhier": MDHIER}
    for name, text in files.items():
        (folder / f"{name}.asc").write_text(text)
    return folder


def test_preferred_terms_are_concepts_and_lowest_level_terms_their_names(read, folder):
    records, report = read(folder, source="MedDRA", strict=True)
    names = (Name("Red fever", "preferred", "MedDRA"), Name("Fever, red", "exact", "MedDRA"))
    ids = ("MEDDRA:10000002", "MEDDRA:10000003")
    parents = ("MEDDRA:10000007", "MEDDRA:10000008")
    assert records[0] == Record("MEDDRA:10000001", names, ids, ("PT",), None, parents)
    assert (report.rows_read, report.rows_kept, report.records, report.names) == (6, 6, 6, 7)
    assert report.names_dropped == {"not current": 1}


def test_terms_that_are_not_current(read, folder):
    records, report = read(folder, non_current=True)
    assert [name.text for name in records[0].names] == ["Red fever", "Fever, red", "Febris rubra"]
    assert not report.names_dropped


def test_the_hierarchy(read, folder):
    parents = {record.concept_id[-2:]: (record.types, record.parents) for record in read(folder)[0]}
    assert parents == {
        "01": (("PT",), ("MEDDRA:10000007", "MEDDRA:10000008")),
        "04": (("PT",), ("MEDDRA:10000007",)),
        "07": (("HLT",), ("MEDDRA:10000010",)),
        "08": (("HLT",), ("MEDDRA:10000010",)),
        "10": (("HLGT",), ("MEDDRA:10000009",)),
        "09": (("SOC",), ()),
    }


def test_a_file_of_the_folder_stands_for_it(read, folder):
    assert read(folder / "pt.asc", source="x")[0] == read(folder, source="x")[0]


def test_names_of_files_in_capitals(read, folder):
    for file in folder.iterdir():
        file.rename(file.with_name(file.name.upper()))
    assert len(read(folder, strict=True)[0]) == 6


@pytest.mark.parametrize(
    ("file", "line", "reason"),
    [
        ("llt.asc", "10000005$Short", "2 cells instead of 10"),
        ("llt.asc", "10000005$Lost$10000099$$$$$$$Y$$", "no PT 10000099"),
        ("mdhier.asc", "10000001$10000007$", "3 cells instead of 4"),
        ("pt.asc", "10000005", "no \\$"),
        ("pt.asc", "$No code$$", "no id"),
    ],
)
def test_broken_lines_are_reported_with_file_and_line(read, folder, file, line, reason):
    lines = (folder / file).read_text().splitlines(keepends=True)
    (folder / file).write_text("".join([lines[0], line + "\n", *lines[1:]]))
    records, report = read(folder)
    assert len(records) == 6
    assert [(row.path, row.line) for row in report.problems] == [(folder / file, 2)]
    assert report.rows_read == 6 + report.rows_dropped["broken"]
    with pytest.raises(SapbertError, match=rf"E127.*{file}, line 2: .*{reason}"):
        read(folder, strict=True)


def test_the_report_tells_the_files(read, folder):
    _, report = read(folder)
    files = report.origins[folder]["files"]
    assert [file["file"] for file in files] == [f"{n}.asc" for n in ("llt", "pt", "hlt", "hlgt", "soc", "mdhier")]
    assert files[0]["sha256"] == hashlib.sha256(LLT.encode()).hexdigest()
