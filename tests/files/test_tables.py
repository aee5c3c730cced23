"""Excel workbooks as tables. Without openpyxl, only its absence is tested."""

import builtins
import datetime
import gzip
import io
import zipfile

import pytest
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.errors import CannotReadError, CannotWriteError, DamagedError, LimitError, MissingExtraError
from spacy_sapbert.files import tables
from spacy_sapbert.files.opening import open_file, open_text
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary

ROWS = [
    ["id", "name", None],
    [1.0, 'gout, "acute"', True],
    [None, None, None],
    [0.5, "a\nb", datetime.date(2026, 1, 2)],
]


@pytest.fixture
def sheet(tmp_path):
    """A function that writes rows to a workbook, and returns its path."""
    openpyxl = pytest.importorskip("openpyxl")

    def write(rows, name="table.xlsx"):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.create_sheet("other").append(["not read"])
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def content(path):
    with open_text(path, newline="") as lines:
        return "".join(lines)


def changed(path, part, old, new):
    """Replace a text in a part of a workbook."""
    parts = dict(_parts(path))
    parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def _parts(path):
    with zipfile.ZipFile(path) as archive:
        yield from [(name, archive.read(name)) for name in archive.namelist()]


SHEET = "xl/worksheets/sheet1.xml"


def test_the_first_sheet_is_csv(sheet):
    assert content(sheet(ROWS)) == 'id,name\n1,"gout, ""acute""",True\n\n0.5,"a\nb",2026-01-02 00:00:00\n'


def test_short_rows_are_filled(sheet):
    assert content(sheet([["a", "b", "c"], ["1"]])) == "a,b,c\n1,,\n"


def test_formulas_are_their_values(sheet):
    assert content(sheet([["id"], ["=1+1"], ["x"]])) == "id\n\nx\n"  # nobody has calculated it


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        (SHEET, b"</row>", b"<row>"),
        (SHEET, b'r="A1"', b'r="AAAAAAAAAA1"'),
        (SHEET, b't="n"', b't="s"'),
        (SHEET, b'r="1"', b'r="x"'),
        ("xl/workbook.xml", b"sheetId", b"sheetid"),
        ("xl/workbook.xml", b"<sheets>", b"<sheets><!--"),
        ("[Content_Types].xml", b"sheet", b"sheep"),
    ],
)
def test_damaged(sheet, part, old, new):
    path = changed(sheet([[1, 2], [3, 4]]), part, old, new)
    with pytest.raises(DamagedError, match="cannot be read as a workbook"):
        content(path)


@pytest.mark.parametrize("data", [b"", b"id,name\n", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
def test_other_files(tmp_path, data):
    pytest.importorskip("openpyxl")
    path = tmp_path / "other.xlsx"
    path.write_bytes(data)
    with pytest.raises(DamagedError):
        content(path)


def test_rows_far_below_are_not_made(sheet, monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 1000)
    path = changed(sheet([[1], [2]]), SHEET, b'<row r="2">', b'<row r="99999999999">')
    with pytest.raises(LimitError, match="too many cells"):
        content(path)


def test_cells_far_to_the_right_are_bounded(sheet, monkeypatch):
    monkeypatch.setattr(tables, "MOST_CELLS", 40_000)
    path = changed(sheet([[1], [2], [3]]), SHEET, b'r="A', b'r="XFD')
    with pytest.raises(LimitError, match="too many cells"):
        content(path)


def test_many_cells_far_to_the_right_are_few_that_are_read(sheet, monkeypatch):
    monkeypatch.setattr(tables, "_FREE", 40_000)
    read = []
    monkeypatch.setattr(tables, "_text", lambda value: read.append(value) or str(value or ""))
    path = changed(sheet([[1], [2], [3], [4], [5]]), SHEET, b'r="A', b'r="XFD')
    with pytest.raises(LimitError, match="too many cells"):
        content(path)
    assert len(read) < 40_000


def test_empty_rows_keep_the_numbers_of_lines(sheet):
    path = changed(sheet([["text"], ["flu"], ["end"]]), SHEET, b'<row r="2">', b'<row r="1000">')
    path = changed(path, SHEET, b'r="A2"', b'r="A1000"')
    path = changed(path, SHEET, b'<row r="3">', b'<row r="1001">')
    path = changed(path, SHEET, b'r="A3"', b'r="A1001"')
    assert content(path).splitlines() == ["text", *[""] * 998, "flu", "end"]


def test_bombs(sheet, monkeypatch):
    path = sheet([["a" * 20_000]])
    with monkeypatch.context() as patch:
        patch.setattr("spacy_sapbert.files.opening.LONGEST_LINE", 15_000)
        with pytest.raises(LimitError, match="held in memory"):
            content(path)
    monkeypatch.setattr("spacy_sapbert.files.opening.LARGEST_RATIO", 2)
    monkeypatch.setattr("spacy_sapbert.files.opening.FREE", 0)
    with pytest.raises(LimitError, match="2 times"):
        content(path)


def test_entities_do_not_expand(sheet):
    declared = b'<?xml version="1.0"?><!DOCTYPE x [' + b"".join(
        b'<!ENTITY e%d "%s">' % (n, b"&e%d;" % (n - 1) * 10 if n else b"ha") for n in range(12)
    )
    path = changed(sheet([["q"]]), SHEET, b"<worksheet", declared + b"]><worksheet")
    path = changed(path, SHEET, b"<t>q", b"<t>&e11;")
    with pytest.raises(DamagedError):
        content(path)


def test_a_table_is_written_and_read_again(sheet, tmp_path):
    path = tmp_path / "new.xlsx"
    tables.write_sheet([["text", "n", "b"], ["=1+1", -1, True], ["a\x01b", None, False]], path)
    assert content(path) == "text,n,b\n'=1+1,-1,True\na b,,False\n"


def test_a_text_that_is_too_long_shows_it(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "new.xlsx"
    tables.write_sheet([["a" * 32_767, "b" * 32_768]], path)
    whole, cut = content(path).strip().split(",")
    assert len(whole) == len(cut) == 32_767
    assert (whole[-1], cut[-1]) == ("a", "…")


def test_a_table_that_is_too_long(sheet, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 1)
    with pytest.raises(CannotWriteError, match="at most 1 rows"):
        tables.write_sheet([["a"], ["b"]], tmp_path / "new.xlsx")
    assert not (tmp_path / "new.xlsx").exists()


def test_a_vocabulary(sheet):
    rows = [["Code", "name; or term", "Notes"], ["X:1", "gout, acute", ""], ["X:2", "flu", None], ["X:3", "N/A", None]]
    report = ReadReport()
    columns = {"id": "code", "name": "name; or term"}
    records = list(read_vocabulary(sheet(rows), report=report, columns=columns))
    assert [(record.concept_id, record.names[0].text) for record in records] == [("X:1", "gout, acute"), ("X:2", "flu")]


def test_reviewed_names(sheet):
    rows = [
        ["keep", "name", "id", "matched_name", "similarity"],
        ["y", "flu", "X:1", "", 0.5],
        ["n", "cold", "X:2", "", 0.5],
    ]
    report = ReadReport()
    assert [record.concept_id for record in read_vocabulary(sheet(rows), report=report)] == ["X:1"]


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (ReadOptions(text_column="note"), ["flu; cold", "gout"]),
        (ReadOptions("names", text_column="note"), ["flu; cold", "gout"]),
        (ReadOptions("names", id_column="2"), ["no;te", "1", "2"]),
        (ReadOptions("names", text_column="2"), ["note", "flu; cold", "gout"]),
    ],
)
def test_documents(sheet, options, texts):
    path = sheet([["no;te", "note"], [1, "flu; cold"], [2, "gout"]])
    documents = list(read_documents(path, options, Problems(Console(quiet=True))))
    assert [document.text for document in documents] == texts
    assert {len(document.mentions) for document in documents} == {int(options.format == "names")}


def test_the_extra_is_named(tmp_path, monkeypatch):
    given = builtins.__import__

    def refuse(name, *others):
        if name == "openpyxl":
            raise ImportError(name=name)
        return given(name, *others)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"spacy-sapbert\[records\]"):
        list(tables.sheet_lines(tmp_path / "a.xlsx", io.BytesIO()))


def test_a_gzipped_workbook_is_not_read(tmp_path):
    path = tmp_path / "a.xlsx.gz"
    path.write_bytes(gzip.compress(b"PK"))
    with pytest.raises(CannotReadError, match="Unpack it first"), open_file(path):
        pass
