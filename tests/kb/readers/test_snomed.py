import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import guess_format
from spacy_sapbert.types import Name, Record

FSN, SYNONYM, DEFINITION = "900000000000003001", "900000000000013009", "900000000000550004"
US, GB = "900000000000509007", "900000000000508004"
PREFERRED, ACCEPTABLE = "900000000000548007", "900000000000549004"
SAME_AS, POSSIBLY = "900000000000527005", "900000000000523009"
IS_A, SITE = "116680003", "363698007"
CASE, INFERRED = "900000000000448009", "900000000000011006"
MODIFIER, MODULE = "900000000000451002", "900000000000207008"

HEADERS = {
    "Concept": "id effectiveTime active moduleId definitionStatusId",
    "Description": "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId",
    "Relationship": "id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId "
    "characteristicTypeId modifierId",
    "Language": "id effectiveTime active moduleId refsetId referencedComponentId acceptabilityId",
    "Association": "id effectiveTime active moduleId refsetId referencedComponentId targetComponentId",
}
HEADERS["TextDefinition"] = HEADERS["Description"]
NAMES = {
    "Concept": "Terminology/sct2_Concept_{view}_INT_20990101.txt",
    "Description": "Terminology/sct2_Description_{view}-en_INT_20990101.txt",
    "TextDefinition": "Terminology/sct2_TextDefinition_{view}-en_INT_20990101.txt",
    "Relationship": "Terminology/sct2_Relationship_{view}_INT_20990101.txt",
    "Language": "Refset/Language/der2_cRefset_Language{view}-en_INT_20990101.txt",
    "Association": "Refset/Content/der2_cRefset_Association{view}_INT_20990101.txt",
}


def concept(number, active=1, time="20990101"):
    return [number, time, active, MODULE, "x"]


def description(number, of, kind, term, language="en", active=1, time="20990101"):
    return [number, time, active, MODULE, of, language, kind, term, CASE]


def relation(number, child, parent, kind=IS_A, active=1):
    return [number, "20990101", active, MODULE, child, parent, 0, kind, INFERRED, MODIFIER]


def member(number, refset, component, last, active=1):
    return [f"{number}-uuid", "20990101", active, MODULE, refset, component, last]


# invented diseases
CONCEPTS = [concept(100), concept(101), concept(102, active=0), concept(103), concept(104, active=0)]
DESCRIPTIONS = [
    description(1, 100, FSN, "Fever of colour (disorder)"),
    description(2, 100, SYNONYM, "Coloured fever"),
    description(3, 100, SYNONYM, "Colored fever"),
    description(4, 100, SYNONYM, "Paint fever", active=0),
    description(5, 100, SYNONYM, "Fiebre de color", "es"),
    description(6, 101, FSN, "Red (blood) fever (disorder)"),
    description(7, 101, SYNONYM, '"Red" fever'),
    description(8, 103, FSN, "Skin structure (body structure)"),
    description(9, 102, SYNONYM, "Scarlet fever"),
]
DEFINITIONS = [description(20, 101, DEFINITION, "A fever that is red.")]
RELATIONS = [relation(30, 101, 100), relation(31, 101, 103, SITE), relation(32, 103, 100, active=0)]
LANGUAGE = [
    member(1, US, 3, PREFERRED),
    member(2, GB, 2, PREFERRED),
    member(3, US, 2, ACCEPTABLE),
    member(4, US, 7, PREFERRED, active=0),
]
ASSOCIATIONS = [member(5, SAME_AS, 102, 101), member(6, POSSIBLY, 104, 100)]
RELEASE = {"Concept": CONCEPTS, "Description": DESCRIPTIONS, "TextDefinition": DEFINITIONS, "Relationship": RELATIONS}
RELEASE |= {"Language": LANGUAGE, "Association": ASSOCIATIONS}


def rf2(kind, rows) -> str:
    lines = [HEADERS[kind].split(), *rows]
    return "".join("\t".join(map(str, line)) + "\r\n" for line in lines)


def write(folder, release=None, view="Snapshot"):
    for kind, rows in (release or RELEASE).items():
        path = folder / view / NAMES[kind].format(view=view)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rf2(kind, rows).encode())
    return folder


def test_concepts(read, tmp_path):
    records, report = read(write(tmp_path), source="SNOMED", strict=True)
    texts = ("Colored fever", "Coloured fever", "Fever of colour")
    names = tuple(Name(text, "exact" if row else "preferred", "SNOMED", "en") for row, text in enumerate(texts))
    assert records[0] == Record("SNOMEDCT:100", names, types=("disorder",))
    assert records[1] == Record(
        "SNOMEDCT:101",
        (Name('"Red" fever', "preferred", "SNOMED", "en"), Name("Red (blood) fever", "exact", "SNOMED", "en")),
        ("SNOMEDCT:102",),
        ("disorder",),
        "A fever that is red.",
        ("SNOMEDCT:100",),
    )
    # a concept without a synonym has its fully specified name; an inactive relation gives no parent
    assert records[2] == Record(
        "SNOMEDCT:103", (Name("Skin structure", "preferred", "SNOMED", "en"),), types=("body structure",)
    )
    assert (report.rows_read, report.rows_dropped) == (5, {"inactive": 2})
    assert report.names_dropped == {"inactive": 1, "language": 1}
    assert report.bytes_read == report.bytes_total > 0
    origin = report.origins[tmp_path]
    assert (origin["release"], len(origin["files"])) == ("20990101", 6)


def test_reference_sets_and_languages(read, tmp_path):
    write(tmp_path)
    assert read(tmp_path, language_refset=GB)[0][0].names[0].text == "Coloured fever"
    (first, *_), _ = read(tmp_path, languages=("es", "en"))
    assert first.names[0] == Name("Fiebre de color", "preferred", first.names[0].source, "es")
    assert first.names[1] == Name("Colored fever", "preferred", first.names[0].source, "en")
    assert read(tmp_path, languages=())[0][0].names[0].text == "Colored fever"
    with pytest.raises(SapbertError, match=rf"E125.*.7. is not a language reference set.*{GB}, {US}"):
        read(tmp_path, language_refset="7")


def test_the_type_is_that_of_a_fully_specified_name_in_any_language(read, tmp_path):
    spanish = [
        description(1, 100, FSN, "Fiebre de color (trastorno)", "es"),
        description(2, 100, FSN, "Fever of colour (disorder)"),
        description(3, 100, SYNONYM, "Fiebre", "es"),
        description(4, 101, FSN, "Fiebre roja (trastorno)", "es"),
        description(5, 103, SYNONYM, "Piel", "es"),
        description(6, 103, FSN, "Skin (body structure)"),
    ]
    write(tmp_path, RELEASE | {"Description": spanish})
    records, _ = read(tmp_path, languages=("es",), source="S")
    assert [record.types for record in records] == [("disorder",), ("trastorno",), ("body structure",)]
    names = [[name.text for name in record.names] for record in records]
    assert names == [["Fiebre", "Fiebre de color"], ["Fiebre roja"], ["Piel"]]
    records, _ = read(tmp_path, languages=())
    names = [(name.text, name.scope, name.language) for name in records[0].names]
    texts = [("Fiebre", "preferred", "es"), ("Fever of colour", "preferred", "en"), ("Fiebre de color", "exact", "es")]
    assert names == texts


def test_an_extension_is_read_with_the_international_edition(read, tmp_path):
    write(tmp_path / "international")
    extension = {
        "Description": [description(40, 100, SYNONYM, "Fiebre pintada", "es")],
        "Language": [member(9, 450828004, 40, PREFERRED)],
        "Relationship": [relation(41, 103, 100)],
    }
    folder = write(tmp_path / "spanish", extension) / "Snapshot"
    for kind, name in (("Description", "Description_{}-es"), ("Language", "Language{}WithPrecomputedDefaults-es")):
        path = folder / NAMES[kind].format(view="Snapshot")
        stem = "sct2_" if kind == "Description" else "der2_cRefset_"
        path.rename(path.with_name(f"{stem}{name.format('SpanishExtensionSnapshot')}_INT_20990701.txt"))
    # other tables with similar names
    (folder / "Terminology" / "sct2_RelationshipConcreteValues_Snapshot_INT_20990101.txt").write_text("id\n")
    (folder / "Terminology" / "sct2_StatedRelationship_Snapshot_INT_20990101.txt").write_text("id\n")
    assert guess_format(tmp_path) == "snomed"
    records, report = read(tmp_path, languages=("es",))
    assert [record.names[0].text for record in records] == ["Fiebre pintada"]
    assert report.rows_dropped == {"inactive": 2, "no name": 2}
    records, report = read(tmp_path)
    assert records[2].parents == ("SNOMEDCT:100",)
    assert report.origins[tmp_path]["release"] == "20990701"


def test_a_zip_file_gives_the_same(read, tmp_path):
    folder = write(tmp_path / "folder")
    packed = tmp_path / "SnomedCT.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*.txt")):
            archive.write(file, f"SnomedCT/{file.relative_to(folder)}")
    assert guess_format(packed) == guess_format(folder) == "snomed"
    assert read(packed, source="s")[0] == read(folder, source="s")[0]


def test_the_latest_row_of_a_component_counts(read, tmp_path):
    release = {
        "Concept": [concept(100, 0, "20980101"), concept(100), concept(101), concept(101, 0, "20990701")],
        "Description": [
            description(1, 100, SYNONYM, "New fever", time="20990101"),
            description(1, 100, SYNONYM, "Old fever", time="20980101"),
        ],
    }
    records, report = read(write(tmp_path, release))
    assert [(record.concept_id, [name.text for name in record.names]) for record in records] == [
        ("SNOMEDCT:100", ["New fever"])
    ]
    assert report.rows_read == 2


def test_broken_rows_are_counted(read, tmp_path):
    write(tmp_path, {**RELEASE, "Relationship": [relation(30, 101, 100)[:-1], relation(31, "x", 100)]})
    path = tmp_path / "Snapshot" / NAMES["Description"].format(view="Snapshot")
    path.write_bytes(path.read_bytes().replace(b"Colored", b"Colo\xffred"))
    records, report = read(tmp_path)
    assert [(problem.line, problem.reason) for problem in report.problems] == [
        (4, "this is not utf-8 (invalid start byte)"),
        (2, "9 cells instead of 10"),
        (3, "'x' in the column sourceId is not an id"),
    ]
    assert records[1].parents == ()
    with pytest.raises(SapbertError, match=r"E127.*sct2_Description_Snapshot.*line 4"):
        read(tmp_path, strict=True)


def test_releases_that_are_incomplete(read, tmp_path):
    with pytest.raises(SapbertError, match="E120"):
        read(tmp_path / "missing", format="snomed")
    with pytest.raises(SapbertError, match=r"E504.*sct2_Concept_Snapshot file"):
        read(tmp_path, format="snomed")
    write(tmp_path, {"Concept": CONCEPTS}, "Delta")
    with pytest.raises(SapbertError, match=r"E504.*sct2_Concept_Snapshot file"):
        read(tmp_path, format="snomed")
    write(tmp_path, {"Concept": CONCEPTS})
    with pytest.raises(SapbertError, match=r"E504.*sct2_Description_Snapshot"):
        read(tmp_path)
    write(tmp_path, {**RELEASE, "Description": []})
    path = tmp_path / "Snapshot" / NAMES["Description"].format(view="Snapshot")
    path.write_text("id\teffectiveTime\tactive\n")
    with pytest.raises(SapbertError, match=r"E128.*conceptId.*id, effectiveTime, active"):
        read(tmp_path)
    broken = tmp_path / "a.zip"
    broken.write_bytes(b"PK\x03\x04")
    with pytest.raises(SapbertError, match="E121"):
        guess_format(broken)
    with pytest.raises(SapbertError, match="E121"):
        read(broken, format="snomed")


terms = st.text(st.sampled_from("aé \"'()"), min_size=1).filter(lambda text: text.strip())


@given(st.lists(st.lists(terms, min_size=1, max_size=3, unique_by=lambda text: " ".join(text.split())), max_size=4))
def test_what_is_written_is_read(read, tmp_path_factory, concepts):
    descriptions = [
        description(1000 * row + column, row, SYNONYM, term)
        for row, of in enumerate(concepts)
        for column, term in enumerate(of)
    ]
    release = {"Concept": [concept(row) for row, _ in enumerate(concepts)], "Description": descriptions}
    records, _ = read(write(tmp_path_factory.mktemp("rf2"), release), strict=True)
    found = [[name.text for name in record.names] for record in records]
    assert found == [[" ".join(term.split()) for term in of] for of in concepts]
