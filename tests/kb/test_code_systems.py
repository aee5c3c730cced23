import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spacy_sapbert
from spacy_sapbert.errors import ChoiceError, SapbertError
from spacy_sapbert.kb import code_systems
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.code_systems import (
    ALTERNATIVE_ID,
    OWN_ID,
    XREF,
    Code,
    CodeSystems,
    parse_predicates,
    parse_systems,
    read_code_mappings,
)
from spacy_sapbert.kb.mapping import EXACT, is_exact, read_mappings
from spacy_sapbert.kb.readers import ReadReport
from spacy_sapbert.types import Link, Name, Record

RECORDS = [
    Record(
        "DOID:1",
        (Name("fever", "preferred", "s"),),
        ("DOID:9", "OMIM:7"),
        xrefs=("ICD10CM:R50", "ICD10CM:R50.9", "C0000001", "D005334"),
        xref_predicates=(("ICD10CM:R50", "skos:broadMatch"), ("D005334", "skos:exactMatch")),
    ),
    Record("DOID:2", (Name("rash", "preferred", "s"),), xrefs=("C0000002",)),
    Record("DOID:3", (Name("cough", "preferred", "s"),)),
]
SSSOM = (
    "subject_id\tpredicate_id\tobject_id\n"
    "MONDO:1\tskos:exactMatch\tDOID:1\n"
    "MONDO:1\tskos:exactMatch\tSNOMEDCT:11\n"
    "MONDO:1\tskos:closeMatch\tSNOMEDCT:12\n"
    "MONDO:2\tskos:exactMatch\tUMLS:C0000002\n"
    "MONDO:2\tskos:closeMatch\tSNOMEDCT:22\n"
    "SNOMEDCT:3\tskos:broadMatch\tDOID:3\n"
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return build_knowledge_base(RECORDS, tmp_path_factory.mktemp("kb") / "a.kb")


@pytest.fixture
def mapping(tmp_path):
    path = tmp_path / "a.sssom.tsv"
    path.write_text(SSSOM)
    return path


def codes(found, concept_id):
    return [code[1:] for code in found.of([concept_id])[concept_id]]


def test_ids_and_cross_references(kb):
    found = CodeSystems(kb, ["umls,Icd10cm", "mesh", "omim", "doid"])
    assert found.systems == ("UMLS", "ICD10CM", "MESH", "OMIM", "DOID")
    assert found.of(["DOID:1"])["DOID:1"] == (
        Code("UMLS", "C0000001", "", XREF),
        Code("ICD10CM", "ICD10CM:R50.9", "", XREF),  # R50 is stated to be broader
        Code("MESH", "D005334", "skos:exactMatch", XREF),
        Code("OMIM", "OMIM:7", "", ALTERNATIVE_ID),
        Code("DOID", "DOID:1", "", OWN_ID),
        Code("DOID", "DOID:9", "", ALTERNATIVE_ID),
    )
    assert codes(CodeSystems(kb, ["UMLS"]), "DOID:3") == []


def test_stated_relations_must_be_asked_for(kb):
    found = CodeSystems(kb, ["ICD10CM", "MESH"], predicates=["broad"])
    assert codes(found, "DOID:1") == [("ICD10CM:R50.9", "", XREF), ("ICD10CM:R50", "skos:broadMatch", XREF)]


def test_mappings_give_codes_by_way_of_another_id(kb, mapping):
    found = CodeSystems(kb, ["snomedct_us"], [mapping])
    assert found.systems == ("SNOMEDCT",)
    assert codes(found, "DOID:1") == [("SNOMEDCT:11", "skos:exactMatch", "a.sssom.tsv, via MONDO:1")]
    assert codes(found, "DOID:2") == codes(found, "DOID:3") == []
    more = CodeSystems(kb, ["SNOMEDCT"], [mapping], predicates=["exact,close", "narrow"])
    assert [code[:2] for code in codes(more, "DOID:1")] == [
        ("SNOMEDCT:11", "skos:exactMatch"),
        ("SNOMEDCT:12", "skos:closeMatch"),
    ]
    assert codes(more, "DOID:3") == [("SNOMEDCT:3", "skos:narrowMatch", "a.sssom.tsv")]


def test_a_mapping_of_a_cross_reference_of_unknown_meaning_states_nothing(kb, mapping):
    assert codes(CodeSystems(kb, ["MONDO"], [mapping]), "DOID:2") == [("MONDO:2", "", "a.sssom.tsv, via C0000002")]
    assert codes(CodeSystems(kb, ["MONDO"], [mapping]), "DOID:1") == [("MONDO:1", "skos:exactMatch", "a.sssom.tsv")]


def test_systems_that_no_concept_has(kb, mapping):
    message = r"E504.*code of LOINC, SNOMEDCT .*has codes of: ICD10CM \(2\), UMLS \(2\), DOID \(1\), MESH \(1\), OMIM"
    with pytest.raises(SapbertError, match=message):
        CodeSystems(kb, ["LOINC,SNOMEDCT,umls"])
    with pytest.raises(SapbertError, match=r"E504.*code of LOINC for"):
        CodeSystems(kb, ["LOINC,SNOMEDCT,umls"], [mapping])
    with pytest.raises(SapbertError, match="E125"):
        CodeSystems(kb, ["UMLS"], predicates=["same"])
    for nothing in ([], [""], [" , "]):
        with pytest.raises(SapbertError, match="E533"):
            parse_systems(nothing)


def test_codes_of_links(kb):
    found = spacy_sapbert.CodeSystems(kb, ["UMLS"])
    assert found.codes_of(Link("rash", "DOID:2", 1.0, "rash")) == (Code("UMLS", "C0000002", "", XREF),)
    assert found.codes_of(Link("rash", None, 0.5, "rash")) == ()
    assert found.codes_of(Link("rash", "OTHER:1", 0.5, "rash")) == ()


def test_all_concepts_with_codes(kb, monkeypatch):
    monkeypatch.setattr(code_systems, "_BLOCK", 2)
    monkeypatch.setattr(code_systems, "MOST_CONCEPTS", 0)
    assert [concept_id for concept_id, _ in CodeSystems(kb, ["UMLS", "MESH"]).all()] == ["DOID:1", "DOID:2"]


ids = st.sampled_from([f"{prefix}:{n}" for prefix in ("A", "B", "C") for n in range(3)])
pairs = st.lists(st.tuples(ids, st.sampled_from(["skos:exactMatch", "skos:broadMatch"]), ids), max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(xrefs=st.lists(st.tuples(ids, ids), max_size=4), rows=pairs)
def test_every_code_is_in_the_vocabulary_or_in_a_mapping(xrefs, rows, tmp_path):
    by_id = {f"X:{n}": (Name(f"name {n}", "exact", "s"),) for n in range(3)}
    records = [
        Record(one, names, xrefs=tuple(dict.fromkeys(other for key, other in xrefs if key[-1] == one[-1])))
        for one, names in by_id.items()
    ]
    kb = build_knowledge_base([*records, Record("A:0", (Name("a", "exact", "s"),), xrefs=("C:0",))], tmp_path / "a.kb")
    lines = ["subject_id\tpredicate_id\tobject_id", *("\t".join(row) for row in rows)]
    (tmp_path / "m.tsv").write_text("\n".join(lines))
    found = CodeSystems(kb, ["C", "A"], [tmp_path / "m.tsv"], predicates=["exact,broad,narrow"])
    edges = {frozenset((one, other)) for one, _, other in rows}
    for record in [*records, Record("A:0", (), xrefs=("C:0",))]:
        for code in found.of([record.concept_id])[record.concept_id]:
            assert code.code.startswith(f"{code.system}:")
            _, _, via = code.origin.partition(", via ")
            if code.origin in (OWN_ID, XREF):
                assert code.code in (record.concept_id, *record.xrefs)
                assert not code.predicate
            else:
                assert frozenset((via or record.concept_id, code.code)) in edges
                assert not via or via in record.xrefs or frozenset((record.concept_id, via)) in edges


HEAD = "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\n"
MAPPINGS = f"# mapping_set_id: a\n{HEAD}" + (
    "MONDO:1\tskos:exactMatch\t\tumls:C0000001\n"
    "MONDO:1\tskos:broadMatch\t\tICD10CM:A1\n"
    "MONDO:1\thttp://www.w3.org/2004/02/skos/core#closeMatch\t\tICD10CM:A2\n"
    "MONDO:1\toboInOwl:hasDbXref\t\tICD10CM:A3\n"
    "MONDO:1\tskos:exactMatch\tNot\tICD10CM:A4\n"
    "MONDO:1\tskos:exactMatch\t\tsssom:NoTermFound\n"
)


def write(path, text):
    path.write_text(text)
    return path


def related(mappings, concept_id):
    return [code[1:3] for code in mappings.get(concept_id, ())]


def test_predicates_have_a_direction(tmp_path):
    report = ReadReport()
    mappings = read_code_mappings([write(tmp_path / "a.sssom.tsv", MAPPINGS)], report)
    assert related(mappings, "MONDO:1") == [
        ("C0000001", "skos:exactMatch"),
        ("ICD10CM:A1", "skos:broadMatch"),
        ("ICD10CM:A2", "skos:closeMatch"),
        ("ICD10CM:A3", "oboInOwl:hasDbXref"),
    ]
    assert related(mappings, "C0000001") == [("MONDO:1", "skos:exactMatch")]
    assert related(mappings, "ICD10CM:A1") == [("MONDO:1", "skos:narrowMatch")]
    assert related(mappings, "ICD10CM:A3") == []  # its inverse is unknown
    assert report.rows_dropped == {"Not skos:exactMatch": 1, "no term found": 1}
    assert {code.origin for code in mappings["MONDO:1"]} == {"a.sssom.tsv"}


def test_names_of_predicates():
    assert parse_predicates(["exact"]) == EXACT
    assert parse_predicates(["Close, broad", "oboInOwl:hasDbXref"]) == {
        "skos:closematch",
        "skos:broadmatch",
        "oboinowl:hasdbxref",
    }
    for text in ("", "nope", ":", "a:"):
        with pytest.raises(ChoiceError, match="not a predicate of a mapping"):
            parse_predicates([text])
    assert [is_exact(predicate) for predicate in ("", "owl:sameAs", "skos:closeMatch")] == [True, True, False]


RF2 = "id effectiveTime active moduleId refsetId referencedComponentId mapGroup mapPriority mapRule mapAdvice mapTarget"
RULE, ADVICE = "IFA 248152002 | Female (finding) |", 'IF "FEMALE" CHOOSE N97.9'
MAP_ROWS = [
    f"a|20250101|1|9|447562003|1|1|1|{RULE.replace('|', '¦')}|{ADVICE}|N97.9",
    "b|20250101|1|9|447562003|1|1|2|OTHERWISE TRUE|ALWAYS N46|N46",
    "c|20250101|0|9|447562003|1|1|3|TRUE|ALWAYS N47|N47",
    "d|20250101|1|9|6011000124106|2|1|1|TRUE||C50.9",
    "e|20250101|1|9|447562003|2|1|1|TRUE|NOT CLASSIFIABLE|",
]


def test_map_reference_sets(tmp_path):
    lines = ["\t".join(RF2.split()), *(row.replace("|", "\t").replace("¦", "|") for row in MAP_ROWS)]
    path = tmp_path / "der2_iisssccRefset_ExtendedMapSnapshot_INT_20250101.txt"
    path.write_text("".join(f"{line}\r\n" for line in lines))
    report = ReadReport()
    mapped = read_code_mappings([path], report)
    origins = [code.origin.removeprefix(f"{path.name}: ") for code in mapped["SNOMEDCT:1"]]
    assert origins == [f"1.1; {RULE}; {ADVICE}", "1.2; OTHERWISE TRUE; ALWAYS N46"]
    assert [code.code for code in mapped["SNOMEDCT:2"]] == ["ICD10CM:C50.9"]
    assert report.rows_dropped == {"inactive": 1, "no target": 1}
    assert "ICD10:N46" not in mapped  # a code of a classification does not lead back to a concept
    kb = build_knowledge_base([Record("SNOMEDCT:1", (Name("sterile", "preferred", "t"),))], tmp_path / "a.kb")
    codes = CodeSystems(kb, ["icd10"], [path]).of(["SNOMEDCT:1"])["SNOMEDCT:1"]
    assert [code.code for code in codes] == ["ICD10:N46", "ICD10:N97.9"]
    with pytest.raises(SapbertError, match="exact match in"):
        read_mappings([path])
