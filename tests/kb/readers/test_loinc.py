from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, guess_format, read_vocabulary
from spacy_sapbert.types import Name, Record

COLUMNS = ["LOINC_NUM", "COMPONENT", "SYSTEM", "CLASS", "DefinitionDescription", "STATUS", "CONSUMER_NAME"]
COLUMNS += ["RELATEDNAMES2", "SHORTNAME", "LONG_COMMON_NAME", "DisplayName"]
# invented tests
ROWS = [
    [
        "1-8",
        "Redness",
        "Skin",
        "SKIN",
        'How "red" it is,\nby eye',
        "ACTIVE",
        "Red skin",
        "Colour; Skn",
        "Red Skn",
        "Redness of skin",
        "Redness",
    ],
    ["2-6", "Blueness", "Skin", "SKIN", "", "DEPRECATED", "", "Colour", "Blue Skn", "Blueness of skin", ""],
    ["3-4", "Blueness", "Lip", "SKIN", "", "TRIAL", "", "", "", "Blueness of lip", "Blueness of lip"],
    ["4-2", "Blueness", "Skin", "SKIN", "", "DEPRECATED", "", "", "", "Blueness of skin, old", ""],
]


def table(rows, columns=COLUMNS) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([columns, *rows])
    return file.getvalue()


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "Loinc_2.99" / "LoincTable"
    folder.mkdir(parents=True)
    (folder / "Loinc.csv").write_text(table(ROWS), newline="")
    maps = [["2-6", "3-4", ""], ["4-2", "2-6", "see there"], ["4-2", "1-8", ""]]
    (folder / "MapTo.csv").write_text(table(maps, ["LOINC", "MAP_TO", "COMMENT"]), newline="")
    return tmp_path / "Loinc_2.99"


def read(path, **kwargs) -> tuple[list[Record], ReadReport]:
    report = ReadReport()
    return list(read_vocabulary(path, report=report, **kwargs)), report


def test_names_and_deprecated_terms(release):
    records, report = read(release, source="LOINC", strict=True)
    names = [
        Name(text, "exact" if row else "preferred", "LOINC")
        for row, text in enumerate(["Redness of skin", "Redness", "Red skin", "Red Skn"])
    ]
    assert records[0] == Record("LOINC:1-8", tuple(names), (), ("SKIN",), 'How "red" it is, by eye')
    # 4-2 has two replacements, so neither gets its number
    assert (records[1].concept_id, records[1].alternative_ids) == ("LOINC:3-4", ("LOINC:2-6",))
    assert [name.text for name in records[1].names] == ["Blueness of lip"]
    assert report.rows_read == 4
    assert report.rows_dropped == {"deprecated": 2}
    assert report.notes == {"related names that are not read": 2}
    assert [file["file"] for file in report.origins[release]["files"]] == ["Loinc.csv", "MapTo.csv"]


def test_related_names(release):
    records, report = read(release, related_names=True)
    assert [name.text for name in records[0].names if name.scope == "related"] == ["Colour", "Skn"]
    assert not report.notes


def test_the_format_is_guessed(release, tmp_path):
    file = release / "LoincTable" / "Loinc.csv"
    assert guess_format(file) == guess_format(release) == guess_format(file.parent) == "loinc"
    other = tmp_path / "Loinc.csv"
    other.write_text("LOINC_NUM,name\n1-8,a\n")
    assert guess_format(other) == "table"
    assert read(file, source="s")[0] == read(release, source="s")[0]


def test_broken_rows(release):
    file = release / "LoincTable" / "Loinc.csv"
    file.write_text(table([ROWS[0][:-1], ["", *ROWS[2][1:]], ROWS[2]]), newline="")
    records, report = read(release)
    assert [record.concept_id for record in records] == ["LOINC:3-4"]
    assert [(problem.path, problem.line) for problem in report.problems] == [(file, 2), (file, 4)]
    with pytest.raises(SapbertError, match=r"E127.*Loinc\.csv, line 2: 10 cells instead of 11"):
        read(release, strict=True)


def test_files_and_columns_that_are_missing(release):
    (release / "AccessoryFiles").mkdir()
    with pytest.raises(SapbertError, match=r"E504.*Loinc\.csv.*folder"):
        read(release / "AccessoryFiles", format="loinc")
    file = release / "LoincTable" / "Loinc.csv"
    file.write_text("LOINC_NUM,STATUS\n")
    with pytest.raises(SapbertError, match=r"E128.*LONG_COMMON_NAME.*LOINC_NUM, STATUS"):
        read(file, format="loinc")


cells = st.text(st.sampled_from('aé",;\n'), min_size=1).filter(lambda text: text.strip())


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=5))
def test_what_is_written_is_read(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("loinc")
    lines = [
        [f"{row}-0", "c", "s", "C", definition, "ACTIVE", "", "", short, long, ""]
        for row, (long, short, definition) in enumerate(rows)
    ]
    (folder / "Loinc.csv").write_text(table(lines), newline="", encoding="utf-8")
    records, _ = read(folder, strict=True)
    for record, (long, short, definition) in zip(records, rows, strict=True):
        texts = dict.fromkeys(" ".join(text.split()) for text in (long, short))
        assert list(dict.fromkeys(name.text for name in record.names)) == list(texts)
        assert record.definition == " ".join(definition.split())
