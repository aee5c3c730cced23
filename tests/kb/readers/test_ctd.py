from __future__ import annotations

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Name, Record

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


def read(path, text, **kwargs) -> tuple[list[Record], ReadReport]:
    path.write_text(text)
    report = ReadReport()
    return list(read_vocabulary(path, report=report, **kwargs)), report


def test_diseases_as_csv(tmp_path):
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


def test_chemicals_as_tsv_keep_their_quotation_marks(tmp_path):
    records, _ = read(tmp_path / "CTD_chemicals.tsv", CHEMICALS, strict=True)
    assert [name.text for name in records[0].names] == ['"right" acid', "acid, right", "RA", "r-acid"]
    assert records[0].concept_id == "C000001"
    assert records[0].parents == ()


def test_lines_count_from_the_start_of_the_file(tmp_path):
    _, report = read(tmp_path / "CTD_chemicals.tsv", CHEMICALS + "short\trow\n")
    assert [row.line for row in report.problems] == [4]
    assert report.rows_dropped == {"broken": 1}


def test_a_file_without_the_columns(tmp_path):
    with pytest.raises(SapbertError, match="E128"):
        read(tmp_path / "a.tsv", "name\tid\nfever\tD1\n", format="ctd")
