import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb import export
from spacy_sapbert.kb.build import build_knowledge_base, new_knowledge_base
from spacy_sapbert.kb.export import FORMATS, ExportReport, export_lines, stream_records
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Name, Record

SUFFIXES = {"scispacy": ".jsonl", "table": ".tsv", "biosyn": ".txt", "ssslm": ".tsv"}


def exported(kb, format, path):
    """Export a knowledge base. RETURNS: what is left out, but for zeros, and the report."""
    report = ExportReport()
    path.write_text("".join(export_lines(kb, format, report)), encoding="utf8", newline="")
    return {kind: count for kind, count in report.left_out.items() if count}, report


def read_back(path, format):
    """Build a knowledge base from an exported file; no row of the file may be broken."""
    records = list(read_vocabulary(path, format, report=ReadReport(), source="MEDIC", strict=True))
    return build_knowledge_base(records, path.with_suffix(".kb"))


def round_trip(kb, format, folder):
    path = folder / f"exported{SUFFIXES[format]}"
    left_out, report = exported(kb, format, path)
    return read_back(path, format), left_out, report


def texts(kb):
    """The names of each concept, the preferred one apart."""
    return {concept.concept_id: (concept.canonical_name, {*concept.aliases}) for concept in all_concepts(kb)}


def all_concepts(kb):
    return [kb.get(concept_id) for concept_id in kb.concept_ids()]


# --- records


def test_the_records_of_a_knowledge_base_make_the_same_knowledge_base(small_kb, tmp_path):
    assert build_knowledge_base(stream_records(small_kb), tmp_path / "a.kb").fingerprint == small_kb.fingerprint


def test_blocks_leave_nothing_out(small_kb, monkeypatch):
    whole = list(stream_records(small_kb))
    monkeypatch.setattr(export, "_BLOCK", 4)
    assert list(stream_records(small_kb)) == whole
    assert len(whole) == 15


@pytest.fixture
def rich_kb(tmp_path):
    """What the formats hold and what some of them cannot."""
    records = [
        Record(
            "D1",
            (
                Name("one", "preferred", "MEDIC"),
                Name("uno", "exact", "MEDIC", "es"),
                Name("a|b", "exact", "MEDIC"),
                Name("ein", "related", "other"),
                Name("uno", "exact", "other", "it"),
                Name("uno", "exact", "other", "es"),
            ),
            ("OMIM:1", "X:1"),
            ("Disease", "Finding"),
            "The first.",
            ("D2",),
            ("C0000001",),
            (("C0000001", "skos:closeMatch"),),
        ),
        Record("D2", (Name("two", "preferred", "MEDIC"), Name("a||b", "exact", "MEDIC")), ("X:1",)),
    ]
    with new_knowledge_base(tmp_path / "rich.kb") as builder:
        for record in records:
            builder.add(record)
        builder.add_mention("D2", Name("deux", "mention", "corpus"))
        builder.finish({})
    return KnowledgeBase(tmp_path / "rich.kb")


# --- scispaCy


def test_scispacy_round_trip(rich_kb, tmp_path):
    back, left_out, report = round_trip(rich_kb, "scispacy", tmp_path)
    assert texts(back) == texts(rich_kb)
    assert [concept[3:5] for concept in all_concepts(back)] == [concept[3:5] for concept in all_concepts(rich_kb)]
    assert (report.concepts, report.names) == (2, 7)
    assert left_out == {
        "alternative ids": 3,
        "parents": 1,
        "cross-references": 1,
        "sources of names, but one": 2,
        "languages of names": 3,
        "annotation counts of names": 1,
        "narrow, broad and related scopes of names": 1,
    }


def test_scispacy_loads_its_format(small_kb, tmp_path):
    linking_utils = pytest.importorskip("scispacy.linking_utils")
    path = tmp_path / "kb.jsonl"
    exported(small_kb, "scispacy", path)
    kb = linking_utils.KnowledgeBase(str(path))
    assert kb.alias_to_cuis["cold"] == {"D003080", "D003139"}
    entity = kb.cui_to_entity["D001241"]
    assert entity.canonical_name == "Aspirin"
    assert entity.types == ["Chemical", "Drug"]


# --- tables


def test_table_round_trip(rich_kb, tmp_path):
    back, left_out, _ = round_trip(rich_kb, "table", tmp_path)
    assert [{**back.get(one)._asdict(), "aliases": ()} for one in back.concept_ids()] == [
        {**rich_kb.get(one)._asdict(), "aliases": ()} for one in rich_kb.concept_ids()
    ]
    assert texts(back) == texts(rich_kb)
    assert back.xrefs("D1") == ("C0000001",)
    for concept_id in ("D1", "D2"):
        of_back, of_kb = ({(name.text, *name[2:]) for name in kb.names_of(concept_id)} for kb in (back, rich_kb))
        assert of_back == of_kb
    assert left_out == {
        "annotation counts of names": 1,
        "predicates of cross-references": 1,
        "narrow, broad and related scopes of names": 1,
    }


def test_a_table_of_one_source_has_a_row_a_concept(small_kb, tmp_path):
    left_out, report = exported(small_kb, "table", tmp_path / "a.tsv")
    assert len((tmp_path / "a.tsv").read_text().splitlines()) == 1 + len(small_kb)
    assert left_out == {}
    assert read_back(tmp_path / "a.tsv", "table").fingerprint == small_kb.fingerprint
    assert (report.concepts, report.names) == (15, 36)


def test_values_that_would_be_split_are_counted(tmp_path):
    names = (Name("one", "preferred", "MEDIC"),)
    kb = build_knowledge_base([Record("D1", names, ("A|B",), ("T|U", "V\tW"), "de\nfin", ("P|",))], tmp_path / "a.kb")
    back, left_out, _ = round_trip(kb, "table", tmp_path)
    assert left_out == {"alternative ids that hold |": 1, "types that hold |": 1, "parents that hold |": 1}
    assert all_concepts(back)[0][2:] == ((), ("V W",), "de fin", (), ())


# --- BioSyn


def test_biosyn_lines(rich_kb, tmp_path):
    left_out, report = exported(rich_kb, "biosyn", tmp_path / "d.txt")
    assert (tmp_path / "d.txt").read_text().splitlines() == [
        "D1|OMIM:1||one",
        "D1|OMIM:1||uno",
        "D1|OMIM:1||a|b",
        "D1|OMIM:1||ein",
        "D2||two",
        "D2||deux",
    ]
    assert (report.concepts, report.names) == (2, 6)
    assert left_out == {
        "types": 2,
        "definitions": 1,
        "parents": 1,
        "cross-references": 1,
        "alternative ids of several concepts": 2,
        "names that hold ||": 1,
        "sources of names, but one": 2,
        "languages of names": 3,
        "annotation counts of names": 1,
        "narrow, broad and related scopes of names": 1,
    }


def test_ids_that_a_dictionary_cannot_hold(tmp_path):
    names = (Name("one", "exact", "MEDIC"),)
    records = [Record("A,B", names), Record("C", names, ("D+E", "F")), Record("G", (Name("||", "exact", "MEDIC"),))]
    left_out, report = exported(build_knowledge_base(records, tmp_path / "a.kb"), "biosyn", tmp_path / "d.txt")
    assert (tmp_path / "d.txt").read_text() == "C|F||one\n"
    assert report.concepts == 1
    assert left_out == {
        "concepts whose id or names cannot be written": 2,
        "alternative ids that cannot be written": 1,
        "names that hold ||": 1,
    }


# --- whatever the names


NAMES = st.lists(st.text("aB1|+,;\t\n \"'<>?\\\x0b\x1c\x85\u2028é漢", min_size=1, max_size=8), min_size=1, max_size=4)
VOCABULARIES = st.dictionaries(
    st.sampled_from(["D000001", "D000002", "OMIM:3", "DOID:4"]), NAMES, min_size=1, max_size=4
)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(vocabulary=VOCABULARIES)
def test_every_name_comes_back_or_is_counted(format, vocabulary, tmp_path):
    records = [Record(one, tuple(Name(text, "exact", "MEDIC") for text in names)) for one, names in vocabulary.items()]
    wanted = {(one, folded(text)) for one, names in vocabulary.items() for text in names if text.strip()}
    if not wanted:
        return
    kb = build_knowledge_base(records, tmp_path / "a.kb")
    if format == "biosyn":
        wanted = {(one, text) for one, text in wanted if "||" not in text}
        if not wanted:
            return
    back, left_out, report = round_trip(kb, format, tmp_path)
    assert {(one, name.text) for one in back.concept_ids() for name in back.names_of(one)} == wanted
    matching_entries = sum(len(set(filter(str.strip, names))) for names in vocabulary.values())
    assert report.names + left_out.get("names that hold ||", 0) == matching_entries


ANY_NAMES = st.lists(
    st.builds(
        Name,
        st.sampled_from("abc"),
        st.sampled_from(["preferred", "exact", "broad"]),
        st.sampled_from("st"),
        st.sampled_from(["", "en", "es"]),
    ),
    min_size=1,
    max_size=5,
)
ANY_XREFS = st.lists(
    st.tuples(st.sampled_from(["X:1", "X:2"]), st.sampled_from(["skos:exactMatch", "a:b"])), max_size=3
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(ANY_NAMES, min_size=1, max_size=3), xrefs=ANY_XREFS)
def test_languages_and_predicates_come_back(names, xrefs, tmp_path):
    ids = tuple(dict.fromkeys(xref for xref, _ in xrefs))
    records = [
        Record(f"D{i}", tuple(of), xrefs=(*ids, "Y:1"), xref_predicates=tuple(xrefs)) for i, of in enumerate(names)
    ]
    kb = build_knowledge_base(records, tmp_path / "a.kb")
    for record in records:
        assert {name[:1] + name[2:] for name in kb.names_of(record.concept_id)} == {
            name[:1] + name[2:] for name in record.names
        }
        assert kb.xrefs_of([record.concept_id])[record.concept_id] == tuple(sorted({*xrefs, ("Y:1", "")}))
    again = build_knowledge_base(stream_records(kb), tmp_path / "b.kb")
    assert list(stream_records(again)) == list(stream_records(kb))


def folded(text):
    return " ".join(text.split())


# --- all formats


def test_unknown_format(small_kb):
    with pytest.raises(SapbertError, match=r"\[E125\] 'rdf'.*scispacy, table, ssslm, biosyn"):
        export_lines(small_kb, "rdf", ExportReport())


def test_json_lines_are_ascii(tmp_path):
    kb = build_knowledge_base([Record("D1", (Name("Sjögren\u2028x", "exact", "t"),))], tmp_path / "a.kb")
    (line,) = export_lines(kb, "scispacy", ExportReport())
    assert line.isascii()
    assert json.loads(line)["canonical_name"] == "Sjögren\u2028x"
