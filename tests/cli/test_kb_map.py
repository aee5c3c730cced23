"""`kb map`, and `link --also`: codes of other vocabularies."""

import csv
import json
from pathlib import Path

import pytest
import spacy

import spacy_sapbert
from spacy_sapbert.kb.code_systems import CodeOptions
from spacy_sapbert.outputs.tables import COLUMNS

OBO = """\
[Term]
id: DOID:1
name: breast cancer
synonym: "Brustkrebs" EXACT []
xref: ICD10CM:C50
xref: ICD10CM:C50.9
xref: UMLS_CUI:C0006142

[Term]
id: DOID:2
name: ovarian cancer
alt_id: OMIM:7
xref: MESH:D010051 {source="MONDO:equivalentTo"}
xref: ICD10CM:C57 {source="MONDO:mondoIsNarrowerThanSource"}

[Term]
id: DOID:3
name: =cough
"""
SSSOM = "subject_id\tpredicate_id\tobject_id\nDOID:2\tskos:exactMatch\tICD10CM:C56\nDOID:3\t\tICD10CM:R05\n"
TEXT = "A breast and ovarian cancer, and a zebra."


@pytest.fixture
def kb(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("a.obo").write_text(OBO)
    Path("m.sssom.tsv").write_text(SSSOM)
    assert command("kb", "build", "a.obo", "-o", "a.kb").status == 0
    return "a.kb"


@pytest.fixture
def folder(kb):
    nlp = spacy.blank("en")
    patterns = [{"label": "X", "pattern": name} for name in ("breast and ovarian cancer", "zebra")]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none"})
    nlp.to_disk("pipeline")
    Path("a.jsonl").write_text(json.dumps({"id": "7", "text": TEXT}))
    return "pipeline"


def rows(path, delimiter="\t"):
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def test_a_table_of_codes(kb, command):
    finished = command("kb", "map", kb, "--to", "icd10cm,mesh", "--to", "omim", "-o", "codes.tsv")
    assert finished.status == 0, finished.err
    assert [tuple(row.values()) for row in rows("codes.tsv")] == [
        ("DOID:1", "breast cancer", "ICD10CM", "ICD10CM:C50", "", "cross-reference"),
        ("DOID:1", "breast cancer", "ICD10CM", "ICD10CM:C50.9", "", "cross-reference"),
        ("DOID:2", "ovarian cancer", "MESH", "D010051", "skos:exactMatch", "cross-reference"),
        ("DOID:2", "ovarian cancer", "OMIM", "OMIM:7", "", "alternative id"),
    ]
    assert json.loads(finished.out) == {
        "file": "codes.tsv",
        "concepts": 3,
        "systems": {
            "ICD10CM": {"concepts": 1, "rows": 2},
            "MESH": {"concepts": 1, "rows": 1},
            "OMIM": {"concepts": 1, "rows": 1},
        },
    }


def test_mappings_and_predicates(kb, command):
    given = ("--to", "ICD10CM", "--mapping", "m.sssom.tsv", "--predicates", "exact,broad", "-o", "codes.csv")
    finished = command("kb", "map", kb, *given)
    assert finished.status == 0, finished.err
    found = [
        (row["code"], row["predicate"], row["origin"])
        for row in rows("codes.csv", ",")
        if row["concept_id"] == "DOID:2"
    ]
    assert found == [
        ("ICD10CM:C56", "skos:exactMatch", "m.sssom.tsv"),
        ("ICD10CM:C57", "skos:broadMatch", "cross-reference"),
    ]
    assert "mappings: 1 of 2 rows; 1 broken" in finished.err
    assert "m.sssom.tsv, line 3: no predicate_id" in finished.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--to", "LOINC"), "[E504] There is no code of LOINC for"),
        (("--to", ""), "[E533]"),
        (("--to", "MESH", "--predicates", "same"), "[E125] 'same' is not a predicate"),
        (("--to", "MESH", "--mapping", "none.tsv"), "[E120]"),
        (("--to", "MESH", "--display-language", "es"), "[E125]"),
    ],
)
def test_bad_options(kb, command, options, message):
    finished = command("kb", "map", kb, *options, "-o", "codes.tsv")
    assert finished.status
    assert message in " ".join(finished.err.split())
    assert not Path("codes.tsv").exists()


def also(command, folder, output, *options):
    finished = command("link", folder, "a.jsonl", "-o", output, "--also", "icd10cm,UMLS", *options)
    assert finished.status == 0, finished.err
    return output


def test_json_lines(folder, command):
    record = json.loads(Path(also(command, folder, "links.jsonl", "--mapping", "m.sssom.tsv")).read_text())
    assert record["code_systems"] == ["ICD10CM", "UMLS"]
    (breast, ovarian), (nothing,) = (entity["links"] for entity in record["entities"])
    assert [(code["system"], code["code"], code["predicate"]) for code in breast["codes"]] == [
        ("ICD10CM", "ICD10CM:C50", None),
        ("ICD10CM", "ICD10CM:C50.9", None),
        ("UMLS", "C0006142", None),
    ]
    assert ovarian["codes"] == [
        {"system": "ICD10CM", "code": "ICD10CM:C56", "predicate": "skos:exactMatch", "origin": "m.sssom.tsv"}
    ]
    assert nothing["concept_id"] is None
    assert nothing["codes"] == []


WANTED = [("ICD10CM:C50|ICD10CM:C50.9", "C0006142"), ("", ""), ("", "")]


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t")])
def test_tables(folder, command, name, delimiter):
    found = rows(also(command, folder, name), delimiter)
    assert list(found[0]) == [*COLUMNS, "codes_ICD10CM", "codes_UMLS"]
    assert [(row["codes_ICD10CM"], row["codes_UMLS"]) for row in found] == WANTED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--also", "LOINC"), "[E504]"),
        (("--also", ","), "[E533]"),
        (("--mapping", "m.sssom.tsv"), "it needs --also"),
        (("--display-language", "german"), "[E193]"),
        (("--display-language", "de"), "[E125]"),
    ],
)
def test_bad_options_of_link(folder, command, options, message):
    finished = command("link", folder, "a.jsonl", "-o", "a.csv", *options)
    assert finished.status
    assert message in finished.err
    assert not Path("a.csv").exists()


def test_a_run_depends_on_the_codes(kb):
    def identity(systems, mappings, predicates=None):
        return CodeOptions.of(systems, mappings, predicates=predicates).identity()

    mapping = [Path("m.sssom.tsv")]
    first = identity(["umls"], mapping)
    assert identity(["UMLS"], mapping, ["exact"]) == first
    others = [identity(["MESH"], mapping), identity(["UMLS"], None), identity(["UMLS"], mapping, ["close"])]
    mapping[0].write_text("DOID:1\tMESH:D1\n")
    others.append(identity(["UMLS"], mapping))
    assert first not in others


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(folder, library):
    pytest.importorskip(library)
    nlp = spacy.load(folder)
    codes = spacy_sapbert.CodeSystems(nlp.get_pipe("sapbert_linker").kb, ["UMLS"])
    frame = spacy_sapbert.to_dataframe(nlp(TEXT), library=library, codes=codes)
    assert list(frame.columns) == [*COLUMNS, "codes_UMLS"]
    assert frame["codes_UMLS"].to_list() == ["C0006142", None, None]
    assert len(spacy_sapbert.to_dataframe(nlp("nothing"), library=library, codes=codes).columns) == len(COLUMNS) + 1
