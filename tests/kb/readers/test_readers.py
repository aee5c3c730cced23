import gzip
import html
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import READERS, ReaderContext, ReadReport, guess_format, read_vocabulary

from ...cases import cases

EMPTY_ZIP = b"PK\x05\x06" + bytes(18)


@pytest.mark.parametrize(*cases(__file__, "format_is_guessed_where_it_is_plain"))
def test_format_is_guessed_where_it_is_plain(format, names):
    assert [guess_format(Path(name)) for name in names] == [format] * len(names)


@pytest.mark.parametrize(*cases(__file__, "format_is_guessed_by_the_beginning"))
def test_format_is_guessed_by_the_beginning(tmp_path, name, text, format):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    assert guess_format(path) == format
    if path.suffix != ".asc":
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert guess_format(packed) == format


def test_format_of_a_folder(tmp_path):
    with pytest.raises(SapbertError, match="E124"):
        guess_format(tmp_path)
    (tmp_path / "PT.ASC").touch()
    assert guess_format(tmp_path) == "meddra"


def test_what_is_not_a_vocabulary(tmp_path):
    path = tmp_path / "a.sssom.tsv"
    path.write_text("# licence: CC0\nsubject_id\tpredicate_id\tobject_id\n")
    with pytest.raises(SapbertError, match=r"E164.*a\.sssom\.tsv.*mapping"):
        guess_format(path)
    with pytest.raises(SapbertError, match="E164"):
        guess_format(Path("a.sssom.tsv.gz"))
    with pytest.raises(SapbertError, match=r"E163.*doid\.ofn.*functional syntax.*robot convert"):
        guess_format(Path("doid.ofn.gz"))
    with pytest.raises(SapbertError, match=r"E120.*Loinc_2\.80 \(No such file or directory\)"):
        guess_format(tmp_path / "Loinc_2.80")
    for name, text in {"a.json": '"text"', "a.xml": "<collection>"}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(SapbertError, match="E124"):
            guess_format(tmp_path / name)


@pytest.mark.parametrize("name", ["medic.txt", "dictionary", "a.json.zip", "obo.gz"])
def test_format_is_not_guessed_elsewhere(tmp_path, name):
    (tmp_path / name).write_bytes(EMPTY_ZIP if name.endswith(".zip") else b"")
    with pytest.raises(SapbertError, match=r"E124.*biosyn, claml, ctd, discovered, fhir, huner"):
        guess_format(tmp_path / name)


def test_errors_come_at_once(tmp_path):
    with pytest.raises(SapbertError, match=r"E125.*.owl. is not a vocabulary format"):
        read_vocabulary(tmp_path / "a.obo", "owl", report=ReadReport())
    with pytest.raises(SapbertError, match=r"E533.*option columns.*medic.*none"):
        read_vocabulary(tmp_path / "a.txt", "medic", report=ReadReport(), columns={})


@pytest.mark.parametrize("format", sorted(READERS.keys() - {"discovered", "table", "umls"}))
def test_every_reader_names_a_missing_file(tmp_path, format):
    assert format in READERS
    with pytest.raises(SapbertError, match=r"E120.*(missing|llt\.asc)"):
        list(read_vocabulary(tmp_path / "missing", format, report=ReadReport()))


def test_one_report_counts_several_files(tmp_path):
    report = ReadReport()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("D1||x\nbroken\n")
        list(read_vocabulary(tmp_path / name, "medic", report=report))
    assert (report.rows_read, report.rows_kept, report.broken) == (4, 2, 2)
    assert [row.path.name for row in report.problems] == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Crohn&apos;s", "Crohn's"),
        ("M&#252;ller M&#xFC;ller", "Müller Müller"),
        ("(1-&gt;4)", "(1->4)"),
        ("a&nbsp;&nbsp;b", "a b"),
        ("&amp;lt;", "&lt;"),  # once
        ("a&#1;b", "ab"),
        *((same, same) for same in ("AT&T", "R&D;", "a &lt b", "&notin", "&notanentity;", "A & B; C", "&;&#;&#x;")),
        ("&" * 50_000, "&" * 50_000),
    ],
)
def test_entities(text, expected):
    assert ReaderContext(Path("a.txt")).clean(text) == expected


@given(st.text(st.characters(blacklist_categories=["Cc", "Cs"])).map(lambda text: " ".join(text.split())))
def test_what_html_escapes_is_read_as_it_was(text):
    assert ReaderContext(Path("a.txt")).clean(html.escape(text)) == text


@pytest.mark.parametrize(*cases(__file__, "every_reader_decodes_entities_and_names_its_source"))
def test_every_reader_decodes_entities_and_names_its_source(read, tmp_path, format, content):
    path = tmp_path / ("hp-2015.01.csv" if format == "table" else "hp-2015.01.txt.gz")
    options = {"columns": {"id": "id", "name": "name"}} if format == "table" else {}
    (record,), _ = read(path, content, format, **options)
    assert (record.names[0].text, record.names[0].source) == ("a's b", "hp-2015.01")
