import zipfile

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import guess_format
from spacy_sapbert.kb.readers.umls import UmlsSettings
from spacy_sapbert.types import Name, Record

FORMAT = "rxnorm"


def atom(rxcui, rxaui, sab, tty, text, suppress="N", lat="ENG"):
    return f"{rxcui}|{lat}||||||{rxaui}||||{sab}|{tty}|c{rxaui}|{text}||{suppress}||"


def relation(one, rela, other, sab="RXNORM", suppress=""):
    return f"{one}||CUI|RO|{other}||CUI|{rela}|1||{sab}|{sab}|||{suppress}||"


# invented drugs; the rows are not sorted as text
CONSO = [
    atom(9, 1, "MTHSPL", "SU", "RUBRINE"),
    atom(9, 2, "RXNORM", "SY", "rubrin acid"),
    atom(9, 3, "RXNORM", "IN", "rubrin"),
    atom(10, 4, "RXNORM", "BN", "Redex"),
    atom(10, 5, "RXNORM", "BN", "Old Redex", "O"),
    atom(11, 6, "MMSL", "CD", "rubrin pill"),
    atom(12, 7, "RXNORM", "IN", "Azurin", "O"),
    atom(100, 8, "RXNORM", "PSN", "rubrin 5 MG Pill"),
    atom(100, 9, "RXNORM", "SCD", "rubrin 5 MG Oral Tablet"),
]
STY = ["9|T121|A1|Pharmacologic Substance|AT1||", "10|T121|A1|Pharmacologic Substance|AT2||"]
REL = [relation(9, "tradename_of", 10), relation(9, "isa", 100), relation("", "isa", 9)]
CUI = ["7|01JAN2090|02JAN2098|1|9|", "8|01JAN2090|02JAN2098|2|9|", "8|01JAN2090|02JAN2098|2|10|", "9|x|y|1|9|"]
TABLES = {"RXNCONSO": CONSO, "RXNSTY": STY, "RXNREL": REL, "RXNCUI": CUI}


def write(folder, tables=None):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (tables or TABLES).items():
        (folder / f"{name}.RRF").write_text("".join(f"{row}\n" for row in rows))
    return folder


def test_drugs(read, tmp_path):
    records, report = read(write(tmp_path), strict=True)
    by_id = {record.concept_id: record for record in records}
    assert by_id.keys() == {"RXNORM:9", "RXNORM:10", "RXNORM:11", "RXNORM:100"}
    names = (
        Name("rubrin", "preferred", "RXNORM", "en"),
        Name("RUBRINE", "exact", "MTHSPL", "en"),
        Name("rubrin acid", "exact", "RXNORM", "en"),
        Name("Redex", "exact", "RXNORM", "en"),
    )
    assert by_id["RXNORM:9"] == Record("RXNORM:9", names, ("RXNORM:7",), ("T121",))
    assert by_id["RXNORM:100"].names[0].text == "rubrin 5 MG Oral Tablet"
    assert report.rows_dropped == {"suppressed O": 2}
    assert report.notes == {
        "trade names added": 1,
        "concepts of which no name was taken": 1,
        "concepts named by another than the release prefers": 1,
    }
    origin = report.origins[tmp_path]
    assert origin["rows"] == {"RXNCONSO": 9, "RXNSTY": 2, "RXNREL": 3, "RXNCUI": 4}
    assert origin["absent"] == []


def test_settings(read, tmp_path):
    settings = UmlsSettings(parents=True, trade_names=False, term_types=("IN", "SCD"), drop_suppressed="")
    records, report = read(write(tmp_path), umls=settings)
    assert [(record.concept_id, [name.text for name in record.names]) for record in records] == [
        ("RXNORM:100", ["rubrin 5 MG Oral Tablet"]),
        ("RXNORM:12", ["Azurin"]),
        ("RXNORM:9", ["rubrin"]),
    ]
    assert records[0].parents == ("RXNORM:9",)
    assert report.notes["RXNREL rows left out: no CUI"] == 1
    typed, _ = read(tmp_path, umls=UmlsSettings(semantic_types=("T121",)))
    assert {record.concept_id for record in typed} == {"RXNORM:9", "RXNORM:10"}


def test_the_whole_release_takes_precedence_over_its_subset(read, tmp_path):
    release = tmp_path / "RxNorm_full_01022099"
    write(release / "rrf")
    write(release / "prescribe" / "rrf", {"RXNCONSO": CONSO[:3]})
    records, report = read(release)
    assert len(records) == 4
    assert report.origins[release]["release"] == "01022099"
    assert read(release / "rrf" / "RXNCONSO.RRF")[0] == records
    packed = tmp_path / "RxNorm_full_01022099.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in sorted(release.rglob("*.RRF")):
            archive.write(file, str(file.relative_to(release)))
    assert read(packed)[0] == records
    assert {guess_format(path) for path in (release, release / "rrf", packed)} == {"rxnorm"}
    assert len(read(release / "prescribe")[0]) == 1


def test_broken_rows(read, tmp_path):
    records, report = read(write(tmp_path, {"RXNCONSO": ["9|ENG|cut", *CONSO], "RXNSTY": ["9|T121|"]}))
    assert len(records) == 4
    assert report.rows_dropped["broken"] == 1
    assert report.notes["RXNSTY rows broken"] == 1
    assert {(problem.path.name, problem.line) for problem in report.problems} == {
        ("RXNCONSO.RRF", 1),
        ("RXNSTY.RRF", 1),
    }
    assert report.origins[tmp_path]["absent"] == ["RXNREL", "RXNCUI"]
    with pytest.raises(SapbertError, match=r"E127.*RXN.*\.RRF, line 1"):
        read(tmp_path, strict=True)


def test_files_that_are_missing(read, tmp_path):
    with pytest.raises(SapbertError, match=r"E504.*RXNCONSO.*rrf folder"):
        read(tmp_path)
    write(tmp_path, {"RXNCONSO": CONSO})
    with pytest.raises(SapbertError, match=r"E504"):
        read(tmp_path, umls=UmlsSettings(semantic_types=("T121",)))
