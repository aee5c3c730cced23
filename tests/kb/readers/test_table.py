import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

FORMAT = "table"


def test_columns_by_their_default_names(read, tmp_path):
    text = (
        "name\tid\tsynonyms\talternative_ids\ttypes\tdefinition\tparents\tnote\n"
        'red "fever"\tMESH:D1\tfever, red | febris\tOMIM:1|DOID:2\tDisease|Sign\tA fever.\tD2\tx\n'
        "blue fever\tD3\t\t\t\t\t\t\n"
    )
    records, _ = read(tmp_path / "t.tsv", text, types=["Finding"], strict=True)
    names = (Name('red "fever"', "preferred", "t"), Name("fever, red", "exact", "t"), Name("febris", "exact", "t"))
    assert records[0] == Record("D1", names, ("OMIM:1", "DOID:2"), ("Disease", "Sign"), "A fever.", ("D2",))
    assert records[1] == Record("D3", (Name("blue fever", "preferred", "t"),), (), ("Finding",))


def test_the_rest_of_a_line_of_an_obo_file_is_no_name(read, tmp_path):
    text = (
        "id\tname\tsynonyms\n"
        'D1\tMuscular hypotonia\tHypotonia" BROAD [HPO:skoehler]|"Floppy" EXACT layperson []|5" EXACT cut|a "b" [1]\n'
    )
    (record,), report = read(tmp_path / "t.tsv", text, strict=True)
    names = [("Hypotonia", "broad"), ("Floppy", "exact"), ('5" EXACT cut', "exact"), ('a "b" [1]', "exact")]
    assert [name[:2] for name in record.names[1:]] == names
    assert report.notes == {"names without the rest of a line of OBO": 2}


@pytest.mark.parametrize("columns", ["type,status", "Type,Synonym", "Types,type"])
def test_a_column_may_be_named_in_the_singular(read, tmp_path, columns):
    records, _ = read(tmp_path / "t.csv", f"id,name,{columns}\nD1,fever,Sign,febris\n")
    assert records[0].types == ("Sign",)
    assert len(records[0].names) == 1 + ("Synonym" in columns)


@pytest.mark.parametrize("column", ["preferred", "is_main"])
def test_a_flag_tells_the_preferred_name(read, tmp_path, column):
    text = f"id,name,{column}\nD1,febris,N\nD1,fever, Yes \nD2,rash,\n"
    records, _ = read(tmp_path / "t.csv", text, columns={"preferred": column}, strict=True)
    assert [record.names[0].scope for record in records] == ["exact", "preferred", "exact"]
    other = Record("D2", (Name("later", "preferred", "other source"),))
    kb = build_knowledge_base([*records, other], tmp_path / "a.kb")
    assert {id: kb.names_of(id)[0].text for id in kb.concept_ids()} == {"D1": "fever", "D2": "rash"}


def test_ids_that_a_spreadsheet_spoilt(read, tmp_path):
    text = "id,name,xrefs\n111101007.0,a,9.0E+17|D1\n9.0E+17,b,\nnan,c,\nHPO:HP_0001945,d,EFO_0004274\n"
    records, report = read(tmp_path / "t.csv", text, id_prefix="SNOMEDCT")
    assert {record.concept_id: record.xrefs for record in records} == {
        "SNOMEDCT:111101007": ("D1",),
        "HP:0001945": ("EFO:0004274",),
    }
    assert [problem.reason for problem in report.problems] == ["a spreadsheet rounded the id", "no id"]
    assert dict(+report.notes) == {
        "ids that a spreadsheet rounded, left out": 2,
        "ids to which a spreadsheet added .0, mended": 1,
    }


def test_one_row_a_name_tells_no_preferred_name(read, tmp_path):
    records, report = read(tmp_path / "t.csv", "id,name\nD1,fever\nD1,febris\n")
    assert [record.names for record in records] == [(Name("fever", "exact", "t"),), (Name("febris", "exact", "t"),)]
    assert (report.rows_read, report.records) == (2, 2)


@pytest.mark.parametrize(
    ("name", "text", "options", "names"),
    [
        ("t.csv", "id,name,synonyms\n1,a,b|c\n", {"separator": ""}, ["a", "b|c"]),
        ("t.tsv", "X:1\ta\tb|c\n", {"columns": {"id": "1", "name": "2", "synonyms": "3"}}, ["a", "b", "c"]),
        ("t.txt", "id\tname\n1\ta,b\n", {"delimiter": "\\t"}, ["a,b"]),
        ("t.tsv", "id\tname\tsynonyms\n1\t'+a\t''+b\n", {}, ["+a", "'+b"]),  # an apostrophe hides a formula
        ("t.csv", "id,name,status\n1,a,good\n2,b,bad\n", {"where": {"status": "good"}}, ["a"]),
    ],
)
def test_the_cells_that_are_names(read, tmp_path, name, text, options, names):
    (record,), report = read(tmp_path / name, text, **options)
    assert [name.text for name in record.names] == names
    assert report.rows_dropped == ({"not selected": 1} if "where" in options else {})


@pytest.mark.parametrize(
    ("text", "skip", "line"), [("made by me\n\nid,name\n1,a\n2\n", 2, 5), ('id,name\n1,a\n2,"b\n3,c\n', 0, 3)]
)
def test_lines_of_broken_rows(read, tmp_path, text, skip, line):
    """They count before the table, and a quotation mark may never be closed."""
    assert [row.line for row in read(tmp_path / "t.csv", text, skip=skip)[1].problems] == [line]


def test_rows_with_an_id_and_a_name_are_kept(read, tmp_path):
    text = 'id,name,note\n1,a\n2,b,,,\n3\n4,c,"x,\n5,d,x\n'
    records, report = read(tmp_path / "t.csv", text)
    assert [record.concept_id for record in records] == ["1", "2"]
    unclosed = "its quotation mark is not closed, so lines 5 to 6 are lost; close or double it"
    assert [problem.reason for problem in report.problems] == ["1 cells instead of 3", unclosed]


def test_fields_in_the_singular(read, tmp_path):
    columns = {"type": "kind", "types": "other", "xref:UniProt": "protein"}
    (record,), _ = read(tmp_path / "t.csv", "id,name,kind,other,protein\n1,a,Sign,Symptom,P1\n", columns=columns)
    assert (record.types, record.xrefs) == (("Sign", "Symptom"), ("UNIPROT:P1",))


def test_mapped_columns_and_separator(read, tmp_path):
    text = 'Gene,Symbol,Full name,Also\n5,A1BG,"glycoprotein, alpha","ABG, GAB"\n6,A2M,,\n'
    columns = {"id": "Gene", "name": ["Symbol", "Full name"], "synonyms": "Also"}
    records, _ = read(tmp_path / "t.csv", text, columns=columns, separator=", ", id_prefix="HGNC")
    assert [name.text for name in records[0].names] == ["A1BG", "glycoprotein, alpha", "ABG", "GAB"]
    assert [name.scope for name in records[0].names] == ["preferred", "exact", "exact", "exact"]
    assert [record.concept_id for record in records] == ["HGNC:5", "HGNC:6"]
    assert len(records[1].names) == 1


def test_columns_by_number(read, tmp_path):
    text = "id\tname\tspecies\nfever\tX:1\tman\n#2 acid\tX:1\tmouse\n"
    columns = {"id": "2", "name": "1"}
    records, report = read(tmp_path / "t.tsv", text, columns=columns, where={"3": "man"}, skip=1, strict=True)
    assert records == [Record("X:1", (Name("fever", "exact", "t"),))]
    assert report.rows_dropped == {"not selected": 1}


def test_sparql_results(read, tmp_path):
    text = (
        "?term\t?label\t?synonym\n"
        '<http://purl.obolibrary.org/obo/HP_0000001>\t"red \\"fever\\""@en\t"a\\tb"^^<http://www.w3.org/x#string>\n'
        '<http://www.orpha.net/ORDO/Orphanet_2>\t"blue fever"\t\n'
    )
    columns = {"id": "term", "name": "label", "synonyms": "synonym"}
    records, _ = read(tmp_path / "t.tsv", text, columns=columns, strict=True)
    names = (Name('red "fever"', "preferred", "t"), Name("a b", "exact", "t"))
    assert records == [Record("HP:0000001", names), Record("Orphanet:2", (Name("blue fever", "preferred", "t"),))]


def test_ids_may_be_iris(read, tmp_path):
    text = (
        "id,name,alternative_ids,parents,xrefs\n"
        "http://purl.obolibrary.org/obo/DOID_1,a,http://omim.org/entry/2,http://id.nlm.nih.gov/mesh/D3,"
        "UMLS_CUI:C4|SNOMEDCT_US_2018_03_01:5|6\n"
    )
    (record,) = read(tmp_path / "t.csv", text, id_prefix="X")[0]
    assert record[:1] + record[2:3] + record[5:7] == ("DOID:1", ("OMIM:2",), ("D3",), ("C4", "SNOMEDCT:5", "6"))


def test_ids_of_a_column_get_its_prefix(read, tmp_path):
    text = "id,name,entrez,uniprot,other\nHGNC:5,A1BG,1,P04217|Q9,UniProt:P1|D3\n"
    columns = {"alternative_ids:NCBIGene": "entrez", "xrefs:UniProt": ["uniprot", "other"], "xrefs": "other"}
    records, _ = read(tmp_path / "t.csv", text, columns=columns, id_prefix="X")
    xrefs = ("UNIPROT:P04217", "UNIPROT:Q9", "UNIPROT:P1", "UNIPROT:D3", "D3")
    assert (records[0].alternative_ids, records[0].xrefs) == (("NCBIGene:1",), xrefs)


def test_broken_rows_are_reported_with_their_line(read, tmp_path):
    text = 'id,name\n1,"two\nlines"\n2\n3,a,b\n,no id\n4,\n5,"open" c\n\n6,good\n'
    records, report = read(tmp_path / "t.csv", text)
    assert [record.names[0].text for record in records] == ["two lines", "good"]
    assert [row.line for row in report.problems] == [4, 5, 6, 8]
    assert report.rows_dropped == {"broken": 4, "no name": 1}
    assert report.rows_read == 7
    with pytest.raises(SapbertError, match=r"E127.*line 4: 1 cells instead of 2"):
        read(tmp_path / "t.csv", strict=True)


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("t.csv", 'ID;Name;Synonyms\nD1;"flu; mild";grippe\n', {}),  # a spreadsheet of a country with decimal commas
        ("t.csv", 'ID;Name;Synonyms\nD1;"flu; mild";grippe\n', {"delimiter": ";"}),
        ("t.csv", "id\tname\tsynonyms\nD1\tflu; mild\tgrippe\n", {}),
        ("t.tsv", "Id,\tNAME \tSynonyms\nD1\tflu; mild\tgrippe\n", {"columns": {"id": "id,"}}),
        (
            "t.tsv",
            "id\tname (a, b, c, d)\tsynonyms\nD1\tflu; mild\tgrippe\n",
            {"columns": {"name": "name (a, b, c, d)"}},
        ),
        ("t.csv", "code,term,Synonyms\nD1,flu; mild,grippe\n", {"columns": {"id": "Code", "name": "TERM"}}),
        ("t.csv", "id,name,synonyms\nD1,flu; mild,N/A|grippe|null\n#N/A,none,None\n", {}),
    ],
)
def test_tables_of_spreadsheets(read, tmp_path, name, text, options):
    records, report = read(tmp_path / name, text, **options)
    assert [(record[0], [name.text for name in record.names]) for record in records] == [
        ("D1", ["flu; mild", "grippe"])
    ]
    left_out = report.notes["placeholders such as N/A left out"]
    assert left_out == (5 if "N/A" in text else 0)


def test_tables_in_utf_16(read, tmp_path):
    (tmp_path / "t.csv").write_bytes("id,name\nD1,Grippe aiguë\n".encode("utf-16"))
    records, _ = read(tmp_path / "t.csv")
    assert records[0].names[0].text == "Grippe aiguë"


def test_a_likely_column_is_named(read, tmp_path):
    with pytest.raises(SapbertError, match="--column 'id=Concept ID'"):
        read(tmp_path / "t.csv", "Concept ID,Term\n1,a\n")


def test_columns_that_differ_by_case_alone_are_told_apart(read, tmp_path):
    records, _ = read(tmp_path / "t.csv", "id,Name,name\n1,a,b\n")
    assert records[0].names[0].text == "b"
    with pytest.raises(SapbertError, match=r"E128.*no column NAME.*--column name=name"):
        read(tmp_path / "t.csv", "id,Name,name\n1,a,b\n", columns={"name": "NAME"})


@pytest.mark.parametrize(
    ("name", "text", "options", "code"),
    [
        ("t.csv", "id,label\n", {}, r"E128.*t\.csv has no column name.*id, label"),
        ("t.csv", "", {}, "E128"),
        ("t.csv", "id,name\n", {"columns": {"synonyms": "other"}}, r"E128.*no column other.*synonyms"),
        ("t.csv", "id,name\n", {"where": {"status": "good"}}, r"E128.*no column status"),
        ("t.csv", "id,name\n", {"columns": {"label": "name"}}, r"E125.*.label. is not a field"),
        ("t.csv", "id,name\n", {"columns": {"id:HGNC": "id"}}, r"E125.*.id:HGNC. is not a field.*Only alternative_ids"),
        ("t.csv", "id,name\n", {"columns": {"xrefs:": "id"}}, r"E125.*.xrefs:. is not a field"),
        ("t.txt", "id,name\n", {}, r"E120.*--delimiter '\\t' for a tab"),
        ("t.txt", "id,name\n", {"delimiter": "||"}, "E533"),
        ("t.tsv", "a\tb\n", {"columns": {"id": "1", "name": "3"}}, r"E128.*no column 3.*1, 2"),
        ("t.tsv", "a\tb\n", {"columns": {"id": "1", "name": "b"}}, r"E128.*no column 1.*a, b"),
        ("t.tsv", "a\tb\n", {"columns": {"id": "1", "name": "2"}, "where": {"status": "x"}}, "E128"),
        ("t.tsv", "", {"columns": {"id": "1", "name": "2"}}, "E128"),
        ("t.csv", "id,name\n", {"colums": {}}, r"E533.*option colums.*columns"),
    ],
)
def test_errors(read, tmp_path, name, text, options, code):
    with pytest.raises(SapbertError, match=code):
        read(tmp_path / name, text, **options)


CELLS = st.text(st.characters(blacklist_categories=["Cc", "Cs"], blacklist_characters="|"), min_size=1)
NAMES = CELLS.map(lambda text: " ".join(text.split())).filter(bool)
ROWS = st.lists(st.lists(NAMES, min_size=1, max_size=4, unique=True), min_size=1)


@given(ROWS, st.sampled_from([",", ";", "\t"]))
def test_round_trip(read, tmp_path_factory, concepts, delimiter):
    path = tmp_path_factory.mktemp("table") / "t.txt"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["id", "name", "synonyms"])
        writer.writerows([f"X:{number}", names[0], "|".join(names[1:])] for number, names in enumerate(concepts))
    records, report = read(path, delimiter=delimiter, quoted=True, strict=True)
    assert [[name.text for name in record.names] for record in records] == concepts
    assert report.rows_read == len(concepts)


def test_the_language_and_the_source_of_each_name(read, tmp_path):
    text = "id,name,synonyms,language,source\nD1,fever,hot,,MeSH\nD1,fiebre,,SPA,\n"
    records = read(tmp_path / "t.csv", text, language="en-GB")[0]
    assert [name for record in records for name in record.names] == [
        Name("fever", "preferred", "MeSH", "en"),
        Name("hot", "exact", "MeSH", "en"),
        Name("fiebre", "preferred", "t", "es"),
    ]
    with pytest.raises(SapbertError, match="E193"):
        read(tmp_path / "t.csv", text, language="any language")


# --- codes of an ICD-10


ICD10 = """code,title
J18,"Pneumonia, organism unspecified"
J18.0,"Bronchopneumonia, unspecified"
J18.9,"Pneumonia, unspecified"
K74,Fibrosis and cirrhosis of liver
K74.6,Other and unspecified cirrhosis of liver
D60-D64,Anaemias
D64,Other anaemias
D64.9,"Anaemia, unspecified"
I10,Essential (primary) hypertension
"""


def test_codes_of_an_icd_10_have_names_without_neutral_words(read, tmp_path):
    records, _ = read(tmp_path / "t.csv", ICD10, columns={"id": "code", "name": "title"})
    names = {record.concept_id: [name.text for name in record.names] for record in records}
    assert list(names) == [line.split(",")[0] for line in ICD10.splitlines()[1:]]
    assert "Pneumonia" in names["J18"]
    assert "Bronchopneumonia" in names["J18.0"]
    assert "Anaemia" in names["D64.9"]
    assert names["D64"] == ["Other anaemias"]
    assert "Essential hypertension" in names["I10"]
    assert {record.concept_id: record.parents for record in records}["J18.9"] == ("J18",)


def test_other_tables_stay_as_they_are(read, tmp_path):
    text = f"{ICD10}Z1,Pain unspecified\n"
    records, _ = read(tmp_path / "t.csv", text, columns={"id": "code", "name": "title"})
    assert [len(record.names) for record in records] == [1] * len(records)
    assert records[0].parents == ()
