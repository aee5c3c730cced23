"""Tables whose columns are known: of CTD, LOINC, Babelon, the FDA, and of `discover`."""

import csv
import io
import zipfile
from pathlib import Path

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.export import ExportReport, export_lines
from spacy_sapbert.kb.readers import guess_format
from spacy_sapbert.types import Name, Record

# --- CTD

DISEASES = """\
# A vocabulary of diseases, made up
#
# Fields:
# DiseaseName,DiseaseID,AltDiseaseIDs,Definition,ParentIDs,TreeNumbers,ParentTreeNumbers,Synonyms,SlimMappings
#
Diseases,MESH:C,,,,C,,,
"Fever, red",MESH:D000001,DO:DOID:11|OMIM:145250,"A ""red"" fever.",MESH:C|MESH:D000002,C01,C,Red fever|"Red" fever,
Blue fever,OMIM:222,,,MESH:D000001,,,,
"""
CHEMICALS = """\
# ChemicalName\tChemicalID\tCasRN\tInChIKey\tDefinition\tParentIDs\tMESHSynonyms\tCTDCuratedSynonyms
#
"right" acid\tMESH:C000001\t\t\t\tMESH:D\tacid, right|RA\tr-acid
"""


def test_diseases_as_csv(read, tmp_path):
    text = DISEASES.replace('Red fever|"Red" fever', '"Red fever|""Red"" fever"')
    records, report = read(tmp_path / "CTD_diseases.csv", text, source="CTD", types=["Disease"], strict=True)
    assert records == [
        Record(
            "D000001",
            (
                Name("Fever, red", "preferred", "CTD"),
                Name("Red fever", "exact", "CTD"),
                Name('"Red" fever', "exact", "CTD"),
            ),
            ("DOID:11", "OMIM:145250"),
            ("Disease",),
            'A "red" fever.',
            ("D000002",),
        ),
        Record("OMIM:222", (Name("Blue fever", "preferred", "CTD"),), (), ("Disease",), None, ("D000001",)),
    ]
    assert report.rows_dropped == {"root of the tree": 1}
    assert report.rows_read == 3


def test_chemicals_as_tsv_keep_their_quotation_marks(read, tmp_path):
    """Lines count from the start of the file."""
    records, report = read(tmp_path / "CTD_chemicals.tsv", CHEMICALS + "short\trow\n")
    assert [row.line for row in report.problems] == [4]
    assert report.rows_dropped == {"broken": 1}
    assert [name.text for name in records[0].names] == ['"right" acid', "acid, right", "RA", "r-acid"]
    assert records[0].concept_id == "C000001"
    assert records[0].parents == ()


# --- Babelon

BABELON = "source_language\ttranslation_language\tsubject_id\tsource_value\tpredicate_id\ttranslation_value\t"
BABELON += "translation_status\n"


def row(property: str, text: str, subject: str = "F:1", language: str = "es", status: str = "OFFICIAL") -> str:
    return f"en\t{language}\t{subject}\tred fever\t{property}\t{text}\t{status}\n"


def test_labels_and_synonyms_are_names(read, tmp_path):
    text = BABELON + row("rdfs:label", "fiebre roja")
    text += row("oboInOwl:hasBroadSynonym", "fiebre", "http://purl.obolibrary.org/obo/F_2")
    text += row("http://www.w3.org/2004/02/skos/core#altLabel", "rojez")
    records, _ = read(tmp_path / "f-es.babelon.tsv", text, strict=True)
    assert records == [
        Record("F:1", (Name("fiebre roja", "preferred", "f-es", "es"),)),
        Record("F:2", (Name("fiebre", "broad", "f-es", "es"),)),
        Record("F:1", (Name("rojez", "exact", "f-es", "es"),)),
    ]


def test_the_source_tells_the_language(read, tmp_path):
    text = BABELON + row("rdfs:label", "fiebre", language="es") + row("rdfs:label", "fièvre", language="fr")
    records, _ = read(tmp_path / "all.babelon.tsv", text, source="HPO")
    assert [record.names[0].source for record in records] == ["HPO-es", "HPO-fr"]


def test_what_is_no_name_is_counted(read, tmp_path):
    text = BABELON + row("IAO:0000115", "Una fiebre.") + row("rdfs:label", "")
    text += row("rdfs:label", "red fever", status="NOT_TRANSLATED") + row("rdfs:label", "fiebre", status="CANDIDATE")
    records, report = read(tmp_path / "a.babelon.tsv", text)
    assert len(records) == 1
    assert report.rows_read == 4
    assert report.rows_dropped == {"not a name": 1, "not translated": 2}


def test_tables_of_the_disease_ontology(read, tmp_path):
    text = (
        "source_id\tpredicate\tsource_text\ttranslation_text\tsource_lang\ttranslation_lang\tstatus\tnotes\n"
        'DOID:1\toboInOwl:hasRelatedSynonym\tfever\tfiebre\ten\tes\tDONE\t"of\nthree\n""lines"""\n'
        "DOID:2\trdfs:label\tred fever\tfiebre roja\ten\tes\tDONE\t\n"
    )
    records, _ = read(tmp_path / "doid-es.tsv", text, strict=True)
    names = [(record.concept_id, *record.names) for record in records]
    assert names == [
        ("DOID:1", Name("fiebre", "related", "doid-es", "es")),
        ("DOID:2", Name("fiebre roja", "preferred", "doid-es", "es")),
    ]


def test_comments_before_the_table(read, tmp_path):
    text = "# made by hand\n#licence\tCC0\n" + BABELON + row("rdfs:label", "fiebre")
    assert len(read(tmp_path / "a.tsv", text, strict=True)[0]) == 1


def test_broken_translations_are_reported_with_their_line(read, tmp_path):
    text = BABELON + row("rdfs:label", "fiebre") + "en\tes\tF:1\n" + row("rdfs:label", "fiebre", subject=" ")
    text += row("rdfs:label", '"fiebre" roja') + row("rdfs:label", "rojez")
    records, report = read(tmp_path / "a.babelon.tsv", text)
    assert [record.names[0].text for record in records] == ["fiebre", "rojez"]
    assert [row.line for row in report.problems] == [3, 4, 5]
    assert report.rows_dropped == {"broken": 3}
    with pytest.raises(SapbertError, match=r"E127.*line 3: 3 cells instead of 7"):
        read(tmp_path / "a.babelon.tsv", text, strict=True)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("babelon", ""),
        ("babelon", "subject_id\ttranslation_value\ttranslation_language\n"),
        ("ctd", "name\tid\nf\tD1\n"),
    ],
)
def test_tables_without_their_columns(read, tmp_path, format, text):
    with pytest.raises(SapbertError, match=r"E128.*a\.tsv"):
        read(tmp_path / "a.tsv", text, format)


# --- new names

REVIEWED = "id\tkeep\tname\tmatched_name\tsimilarity\tmy notes\n"


def test_marked_rows_are_names_of_their_scope(read, tmp_path):
    marks = ["y", "Yes ", "exact", "narrow", "broad", "related", "", " ", "n", "No"]
    rows = [f'MESH:D{i}\t{mark}\tthe "{i}"\tx\t0.9\t\n' for i, mark in enumerate(marks)]
    records, report = read(tmp_path / "reviewed.tsv", REVIEWED + "".join(rows))
    scopes = ["exact", "exact", "exact", "narrow", "broad", "related"]
    assert records == [Record(f"D{i}", (Name(f'the "{i}"', scope, "reviewed"),)) for i, scope in enumerate(scopes)]
    assert report.rows_dropped == {"not marked to be kept": 4}


def test_a_mark_that_nobody_knows_is_broken(read, tmp_path):
    records, report = read(tmp_path / "a.tsv", REVIEWED + "D1\tmaybe\tb\tx\t0.9\t\nD2\ty\tb\tx\t0.9\t\n")
    assert [record.concept_id for record in records] == ["D2"]
    assert report.problems[0].line == 2
    assert "'maybe' in the column keep is none of: y, " in report.problems[0].reason


def test_without_its_columns_it_is_an_ordinary_table(read, tmp_path):
    text = REVIEWED.replace("keep\t", "") + "D1\tb\tx\t0.9\t\n"
    records, _ = read(tmp_path / "a.tsv", text)
    assert records == [Record("D1", (Name("b", "exact", "a"),))]
    with pytest.raises(SapbertError, match=r"E128.*no column keep"):
        read(tmp_path / "a.tsv", text, format="discovered")
    (tmp_path / "b.tsv").write_text(REVIEWED)
    assert guess_format(tmp_path / "b.tsv") == "discovered"


# --- LOINC

LOINC = ["LOINC_NUM", "COMPONENT", "SYSTEM", "CLASS", "DefinitionDescription", "STATUS", "CONSUMER_NAME"]
LOINC += ["RELATEDNAMES2", "SHORTNAME", "LONG_COMMON_NAME", "DisplayName"]
# invented tests
TERMS = [
    ["1-8", "Redness", "Skin", "SKIN", 'How "red" it is,\nby eye', "ACTIVE", "Red skin", "Colour; Skn", "Red Skn"],
    ["2-6", "Blueness", "Skin", "SKIN", "", "DEPRECATED", "", "Colour", "Blue Skn", "Blueness of skin", ""],
    ["3-4", "Blueness", "Lip", "SKIN", "", "TRIAL", "", "", "", "Blueness of lip", "Blueness of lip"],
    ["4-2", "Blueness", "Skin", "SKIN", "", "DEPRECATED", "", "", "", "Blueness of skin, old", ""],
]
TERMS[0] += ["Redness of skin", "Redness"]


def table(rows, columns=LOINC) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([columns, *rows])
    return file.getvalue()


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "Loinc_2.99" / "LoincTable"
    folder.mkdir(parents=True)
    (folder / "Loinc.csv").write_text(table(TERMS), newline="")
    maps = [["2-6", "3-4", ""], ["4-2", "2-6", "see there"], ["4-2", "1-8", ""]]
    (folder / "MapTo.csv").write_text(table(maps, ["LOINC", "MAP_TO", "COMMENT"]), newline="")
    return tmp_path / "Loinc_2.99"


def test_names_and_deprecated_terms(read, release):
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
    assert [file["file"] for file in report.origins[release]["files"]] == ["Loinc.csv", "MapTo.csv"]


def test_loinc_is_guessed(read, release, tmp_path):
    file = release / "LoincTable" / "Loinc.csv"
    assert guess_format(file) == guess_format(release) == guess_format(file.parent) == "loinc"
    other = tmp_path / "Loinc.csv"
    other.write_text("LOINC_NUM,name\n1-8,a\n")
    assert guess_format(other) == "table"
    assert read(file, source="s")[0] == read(release, source="s")[0]


def test_broken_rows_of_loinc(read, release):
    file = release / "LoincTable" / "Loinc.csv"
    file.write_text(table([TERMS[0][:-1], ["", *TERMS[2][1:]], TERMS[2]]), newline="")
    records, report = read(release)
    assert [record.concept_id for record in records] == ["LOINC:3-4"]
    assert [(problem.path, problem.line) for problem in report.problems] == [(file, 2), (file, 4)]
    with pytest.raises(SapbertError, match=r"E127.*Loinc\.csv, line 2: 10 cells instead of 11"):
        read(release, strict=True)


def test_files_and_columns_of_loinc_that_are_missing(read, release):
    (release / "AccessoryFiles").mkdir()
    with pytest.raises(SapbertError, match=r"E504.*Loinc\.csv.*folder"):
        read(release / "AccessoryFiles", format="loinc")
    file = release / "LoincTable" / "Loinc.csv"
    file.write_text("LOINC_NUM,STATUS\n")
    with pytest.raises(SapbertError, match=r"E128.*LONG_COMMON_NAME.*LOINC_NUM, STATUS"):
        read(file, format="loinc")


# --- UNII

SUBSTANCES = """\
Name\tTYPE\tUNII\tDisplay Name
FEVERMAB [INN]\tcn\tA000000001\tFEVERMAB
FEVERMAB\tof\tA000000001\tFEVERMAB
COOLIRA PEN\tbn\tA000000001\tFEVERMAB
FV-101\tcd\tA000000001\tFEVERMAB
ZINC\tof\tA000000002\tOXIDE OF ZINC, VITAMIN D
ZNOX\tcn\tA000000002\tOXIDE OF ZINC, VITAMIN D
nameless\tcn\t\t
"""
IDS = """\
UNII\tPT\tRN\tEC\tNCIT\tRXCUI\tPUBCHEM
A000000001\tFEVERMAB\t1-00-0\t\tC1\t22\t333
"""


def substances(records):
    return {record.concept_id: [(name.text, name.scope) for name in record.names] for record in records}


def test_substances(read, tmp_path):
    records, report = read(tmp_path / "UNII_Names_1Jan2026.txt", SUBSTANCES)
    assert substances(records) == {
        "UNII:A000000001": [("fevermab", "preferred"), ("Coolira Pen", "narrow"), ("FV-101", "exact")],
        "UNII:A000000002": [("oxide of zinc, vitamin D", "preferred"), ("zinc", "exact"), ("ZNOX", "exact")],
    }
    assert report.rows_dropped == {"broken": 1}


def test_ids_of_substances(read, tmp_path):
    (record,), _ = read(tmp_path / "UNII_Records_1Jan2026.txt", IDS)
    assert record.names == (Name("fevermab", "preferred", "UNII_Records_1Jan2026"),)
    assert record.xrefs == ("CAS:1-00-0", "NCIT:C1", "RXNORM:22", "PUBCHEM.COMPOUND:333")


def test_substances_in_a_zip_file(read, tmp_path):
    archive = tmp_path / "UNIIs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("READ ME.txt", "1 file")
        file.writestr("UNII_Names_1Jan2026.txt", SUBSTANCES)
    records, report = read(archive)
    assert len(substances(records)) == 2
    assert report.origins[archive]["release"] == "1Jan2026"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("READ ME.txt", "1 file")
    with pytest.raises(SapbertError, match=r"E504.*UNII_Names"):
        read(archive, format="unii")


# --- SSSLM

SSSLM = Path(__file__).parents[2] / "fuzz/seeds/vocabularies/ssslm/1/a.ssslm.tsv"  # invented fevers
FEVERS = [
    Record("FEV:1", (Name("red fever", "preferred", "fevers", "en"),)),
    Record("FEV:1", (Name("red fever", "preferred", "fevers"), Name("febris rubra", "exact", "fevers", "la"))),
    Record("FEV:1", (Name("red fever", "preferred", "f"), Name('"hot" fever', "broad", "f"))),
    Record("FEV:2", (Name("blue fever", "preferred", "f"), Name("blue", "related", "f"))),
]


def test_literal_mappings(read):
    assert guess_format(SSSLM) == "ssslm"
    assert read(SSSLM, None, None, source="f", strict=True)[0] == FEVERS


def test_literal_mappings_of_the_library(read, tmp_path):
    ssslm = pytest.importorskip("ssslm")
    mappings = ssslm.read_literal_mappings(SSSLM)
    for writer in ("csv", "pandas"):
        ssslm.write_literal_mappings(mappings, tmp_path / "b.tsv", writer=writer)
        assert read(tmp_path / "b.tsv", None, None, source="f", strict=True)[0] == FEVERS
    kb = build_knowledge_base(FEVERS, tmp_path / "a.kb")
    report = ExportReport()
    (tmp_path / "c.tsv").write_text("".join(export_lines(kb, "ssslm", report)))
    exported = ssslm.read_literal_mappings(tmp_path / "c.tsv")
    assert {item.text for item in exported} == {"red fever", "febris rubra", '"hot" fever', "blue fever", "blue"}
    assert {item.reference.curie for item in exported} == {"FEV:1", "FEV:2"}
    records, _ = read(tmp_path / "c.tsv", None, None)
    names = {name for record in records for name in record.names}
    assert {*FEVERS[1].names, *FEVERS[2].names} <= names
