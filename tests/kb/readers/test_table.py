from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Name, Record


def read(path, text=None, **kwargs) -> tuple[list[Record], ReadReport]:
    if text is not None:
        path.write_bytes(text.encode())
    report = ReadReport()
    return list(read_vocabulary(path, "table", report=report, **kwargs)), report


def test_columns_by_their_default_names(tmp_path):
    text = (
        "name\tid\tsynonyms\talternative_ids\ttypes\tdefinition\tparents\tnote\n"
        'red "fever"\tMESH:D1\tfever, red | febris\tOMIM:1|DOID:2\tDisease|Sign\tA fever.\tD2\tx\n'
        "blue fever\tD3\t\t\t\t\t\t\n"
    )
    records, _ = read(tmp_path / "t.tsv", text, types=["Finding"], strict=True)
    names = (Name('red "fever"', "preferred", "t"), Name("fever, red", "exact", "t"), Name("febris", "exact", "t"))
    assert records[0] == Record("D1", names, ("OMIM:1", "DOID:2"), ("Disease", "Sign"), "A fever.", ("D2",))
    assert records[1] == Record("D3", (Name("blue fever", "preferred", "t"),), (), ("Finding",))


def test_one_row_a_name_tells_no_preferred_name(tmp_path):
    records, report = read(tmp_path / "t.csv", "id,name\nD1,fever\nD1,febris\n")
    assert [record.names for record in records] == [(Name("fever", "exact", "t"),), (Name("febris", "exact", "t"),)]
    assert (report.rows_read, report.records) == (2, 2)


def test_mapped_columns_and_separator(tmp_path):
    text = 'Gene,Symbol,Full name,Also\n5,A1BG,"glycoprotein, alpha","ABG, GAB"\n6,A2M,,\n'
    columns = {"id": "Gene", "name": ["Symbol", "Full name"], "synonyms": "Also"}
    records, _ = read(tmp_path / "t.csv", text, columns=columns, separator=", ", id_prefix="HGNC")
    assert [name.text for name in records[0].names] == ["A1BG", "glycoprotein, alpha", "ABG", "GAB"]
    assert [name.scope for name in records[0].names] == ["preferred", "exact", "exact", "exact"]
    assert [record.concept_id for record in records] == ["HGNC:5", "HGNC:6"]
    assert len(records[1].names) == 1


def test_without_a_separator_cells_are_whole(tmp_path):
    records, _ = read(tmp_path / "t.csv", "id,name,synonyms\n1,a,b|c\n", separator="")
    assert records[0].names[1].text == "b|c"


def test_files_without_a_header(tmp_path):
    records, _ = read(tmp_path / "t.tsv", "#1 acid\tX:1\nacid\tX:1\n", header=["name", "id"])
    assert [record.names[0].text for record in records] == ["#1 acid", "acid"]


def test_rows_are_selected(tmp_path):
    text = "id,name,status\n1,a,good\n2,b,bad\n"
    records, report = read(tmp_path / "t.csv", text, where={"status": "good"})
    assert [record.concept_id for record in records] == ["1"]
    assert report.rows_dropped == {"not selected": 1}


def test_broken_rows_are_reported_with_their_line(tmp_path):
    text = 'id,name\n1,"two\nlines"\n2\n3,a,b\n,no id\n4,\n5,"open" c\n\n6,good\n'
    records, report = read(tmp_path / "t.csv", text)
    assert [record.names[0].text for record in records] == ["two lines", "good"]
    assert [row.line for row in report.broken] == [4, 5, 6, 8]
    assert report.rows_dropped == {"broken": 4, "no name": 1}
    assert report.rows_read == 7
    with pytest.raises(SapbertError, match=r"E127.*line 4: 1 cells where 2 are wanted"):
        read(tmp_path / "t.csv", strict=True)


def test_a_quotation_mark_that_is_never_closed_is_reported(tmp_path):
    _, report = read(tmp_path / "t.csv", 'id,name\n1,a\n2,"b\n3,c\n')
    assert [row.line for row in report.broken] == [3]


@pytest.mark.parametrize(
    ("name", "text", "options", "code"),
    [
        ("t.csv", "id,label\n", {}, r"E128.*t\.csv has no column name.*id, label"),
        ("t.csv", "", {}, "E128"),
        ("t.csv", "id,name\n", {"columns": {"synonyms": "other"}}, r"E128.*no column other for the field synonyms"),
        ("t.csv", "id,name\n", {"where": {"status": "good"}}, r"E128.*no column status"),
        ("t.csv", "id,name\n", {"columns": {"label": "name"}}, r"E129.*no field label"),
        ("t.txt", "id,name\n", {}, "E130"),
        ("t.txt", "id,name\n", {"delimiter": "\\t"}, "E132"),
        ("t.csv", "id,name\n", {"colums": {}}, r"E126.*no option colums.*columns"),
    ],
)
def test_errors(tmp_path, name, text, options, code):
    with pytest.raises(SapbertError, match=code):
        read(tmp_path / name, text, **options)


CELLS = st.text(st.characters(blacklist_categories=["Cc", "Cs"], blacklist_characters="|"), min_size=1)
NAMES = CELLS.map(lambda text: " ".join(text.split())).filter(bool)
ROWS = st.lists(st.lists(NAMES, min_size=1, max_size=4, unique=True), min_size=1)


@given(ROWS, st.sampled_from([",", ";", "\t"]))
def test_round_trip(tmp_path_factory, concepts, delimiter):
    path = tmp_path_factory.mktemp("table") / "t.txt"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["id", "name", "synonyms"])
        writer.writerows([f"X:{number}", names[0], "|".join(names[1:])] for number, names in enumerate(concepts))
    records, report = read(path, delimiter=delimiter, quoted=True, strict=True)
    assert [[name.text for name in record.names] for record in records] == concepts
    assert report.rows_read == len(concepts)


def test_drugbank(data_dir):
    columns = {"id": "DrugBank ID", "name": "Common name", "synonyms": "Synonyms"}
    path = data_dir / "vocabularies/drugbank_open/drugbank_vocabulary.csv.gz"
    records, report = read(path, columns=columns, strict=True)
    assert report.records == 19842
    assert report.names - report.records == 52154
    assert sum(len(record.names) > 1 for record in records) == 18160


def test_hgnc(data_dir):
    columns = {"id": "HGNC ID", "name": ["Approved Symbol", "Approved Name"], "synonyms": "Synonyms"}
    path = data_dir / "vocabularies/hgnc/hgnc_entries.tsv.gz"
    _, report = read(path, columns=columns, separator=", ", where={"Status": "Approved"}, strict=True)
    assert (report.rows_read, report.records) == (45406, 40988)
    assert report.names + report.names_dropped["duplicate"] == 122358


@pytest.mark.parametrize(
    ("file", "header", "names", "concepts"),
    [
        pytest.param("chebi/chebi_names_2016.tsv.gz", ["name", "id"], 206870, 55510, marks=pytest.mark.slow),
        ("cellosaurus/Cellosaurus.tsv.gz", ["name", "id", "species"], 92932, 64234),
        ("mesh/mesh-disease.tsv.gz", ["name", "id"], 34916, 4816),
        ("famplex/famplex.tsv", ["name", "id"], 2156, 622),
    ],
)
def test_tables_without_a_header(data_dir, file, header, names, concepts):
    records, report = read(data_dir / "vocabularies" / file, header=header, strict=True)
    assert report.names == names
    assert len({record.concept_id for record in records}) == concepts
