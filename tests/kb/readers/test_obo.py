import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Name, Record

FORMAT = "obo"

HEADER = "format-version: 1.2\ndefault-namespace: fevers\n\n"
TERM = r"""[Term]
id: F:1 ! red fever
name: red fever\, scarlet {source="a ! b", x="{y}"} ! comment
namespace: fever
alt_id: F:3
alt_id: F:4 {source="old"}
def: "A \"red\" fever.\nIt is red: [sic]." [PMID:1, "x"] {source="z"}
synonym: "fever (red)" EXACT ABBREVIATION [PMID:1]
synonym: "fever" BROAD []
synonym: "fever" BROAD [again:1]
synonym: "scarlet [fever]" NARROW [] {source="a"} ! comment
synonym: "reddening" RELATED []
exact_synonym: "febris rubra" []
is_a: F:0 {source="x"} ! fever
is_a: F:9
relationship: part_of F:8 ! illness
xref: UMLS:C1 "red fever" {source="x"} ! comment
xref: SNOMEDCT_US_2018_03_01:2
xref: UMLS_CUI:C1
xref: url:http\://example.org/a\,b
"""


def texts(record: Record, scope: str) -> list[str]:
    return [name.text for name in record.names if name.scope == scope]


def test_a_term_with_everything(read, tmp_path):
    records, report = read(tmp_path / "f.obo", HEADER + TERM, strict=True)
    (record,) = records
    assert record.concept_id == "F:1"
    assert record.names[0] == Name("red fever, scarlet", "preferred", "f")
    assert texts(record, "exact") == ["fever (red)", "febris rubra"]
    assert texts(record, "broad") == ["fever"]
    assert texts(record, "narrow") == ["scarlet [fever]"]
    assert texts(record, "related") == ["reddening"]
    assert record.alternative_ids == ("F:3", "F:4")
    assert record.definition == 'A "red" fever. It is red: [sic].'
    assert record.parents == ("F:0", "F:9")
    assert record.types == ("fever",)
    assert record.xrefs == ("C1", "SNOMEDCT:2", "URL:http://example.org/a,b")
    assert report.names_dropped == {"duplicate": 1}


def test_stanzas_that_give_no_record_are_counted(read, tmp_path):
    text = (
        HEADER
        + "[Term]\nid: F:1\nname: a\nis_obsolete: true\n\n[Typedef]\nid: part_of\nname: part of\n\n"
        + '[Term]\nid: F:2\nsynonym: "b" EXACT []\n\n[Instance]\nid: x\nname: x\n\n'
        + "[Term]\nname: c\n\n[Term]\nid: F:4\nname: d\n"
    )
    records, report = read(tmp_path / "f.obo", text)
    assert [record.concept_id for record in records] == ["F:4"]
    assert report.rows_read == 6
    assert report.rows_dropped == {"obsolete": 1, "Typedef": 1, "no name": 1, "Instance": 1, "broken": 1}
    assert [(row.line, row.reason) for row in report.problems] == [(13, "a term without a name"), (21, "no id")]
    with pytest.raises(SapbertError, match=r"E127.*line 13: a term without a name"):
        read(tmp_path / "f.obo", text, strict=True)


def test_ids_that_were_replaced_are_alternative_ids(read, tmp_path):
    def obsolete(number: int, *lines: str) -> str:
        return "\n".join(["[Term]", f"id: F:{number}", f"name: {number}", "is_obsolete: true", *lines]) + "\n\n"

    text = HEADER
    text += obsolete(1, "replaced_by: F:9 ! good", "alt_id: F:0")
    text += "[Term]\nid: F:9\nname: good\nalt_id: F:8\n\n[Term]\nid: F:10\nname: also good\n\n"
    text += obsolete(2, "replaced_by: F:1")
    text += obsolete(3, "replaced_by: F:4") + obsolete(4, "replaced_by: F:3")
    text += obsolete(5, "replaced_by: F:9", "replaced_by: F:10")
    text += obsolete(6, "consider: F:9") + obsolete(7, "replaced_by: X:1")
    records, report = read(tmp_path / "f.obo", text, strict=True)
    ids = [(record.concept_id, record.alternative_ids) for record in records]
    assert ids == [("F:9", ("F:8", "F:1", "F:0", "F:2")), ("F:10", ())]
    assert report.rows_dropped == {"obsolete": 7}


def test_prefixes(read, tmp_path):
    text = HEADER + "[Term]\nid: F:1\nname: a\n\n[Term]\nid: GO:1\nname: b\n\n[Term]\nname: c\n"
    records, report = read(tmp_path / "f.obo", text, prefixes=["f"])
    assert [record.concept_id for record in records] == ["F:1"]
    assert report.rows_dropped == {"other prefix": 1, "broken": 1}


def test_ids_may_be_iris(read, tmp_path):
    text = HEADER + "[Term]\nid: http\\://www.orpha.net/ORDO/Orphanet_1\nname: a\n"
    text += "is_a: http://www.orpha.net/ORDO/Orphanet_2 ! b\n"
    (record,) = read(tmp_path / "f.obo", text)[0]
    assert (record.concept_id, record.parents) == ("Orphanet:1", ("Orphanet:2",))


def test_types(read, tmp_path):
    text = HEADER + "[Term]\nid: F:1\nname: a\n\n[Term]\nid: F:2\nname: b\nnamespace: other\n"
    assert [record.types for record in read(tmp_path / "f.obo", text)[0]] == [("fevers",), ("other",)]
    given_types = read(tmp_path / "f.obo", text, types=["Disease"])[0]
    assert [record.types for record in given_types] == [("Disease",), ("other",)]


def test_scope_that_is_not_written(read, tmp_path):
    text = HEADER + '[Term]\nid: gard:1\nname: a\nsynonym: "b" []\nsynonym: "c"\n'
    assert texts(read(tmp_path / "f.obo", text)[0][0], "related") == ["b", "c"]
    (record,) = read(tmp_path / "f.obo", text, default_scope="exact")[0]
    assert texts(record, "exact") == ["b", "c"]
    assert record.concept_id == "GARD:1"


def test_names_that_look_like_syntax(read, tmp_path):
    text = (
        HEADER
        + "[Term]\nid: F:1\nname: 5-{2-[x]}-acid! {(a=b)}\n"
        + 'synonym: "{[4-({[x]}" EXACT []\nsynonym: "c\\\\\\"" EXACT []\n'
    )
    (record,) = read(tmp_path / "f.obo", text, strict=True)[0]
    assert [name.text for name in record.names] == ["5-{2-[x]}-acid! {(a=b)}", "{[4-({[x]}", 'c\\"']


def test_comments_blank_lines_and_continued_lines(read, tmp_path):
    text = "! a comment\n" + HEADER + "[Term]\n! another\n\nid: F:1\nname: a \\\nb\\\\\nnamespace: c\n\n"
    (record,) = read(tmp_path / "f.obo", text, strict=True)[0]
    assert record.names[0].text == "a b\\"
    assert record.types == ("c",)


def test_broken_lines_cost_no_more_than_themselves(read, tmp_path):
    text = (
        HEADER
        + '[Term]\nid: F:1\nname: a\nsynonym: b EXACT []\nsynonym: "c "d" e" EXACT []\n'
        + 'nonsense\nsynonym: "f" EXACT []\n'
    )
    records, report = read(tmp_path / "f.obo", text)
    assert texts(records[0], "exact") == ["f"]
    assert sorted(row.line for row in report.problems) == [7, 8, 9]
    assert report.rows_kept == 1
    with pytest.raises(SapbertError, match=r"E127.*f\.obo, line 9"):
        read(tmp_path / "f.obo", text, strict=True)


def escape(text: str) -> str:
    special = {"\n": "\\n", "\t": "\\t", " ": "\\W"}
    return "".join(special.get(char, f"\\{char}" if char in '\\"{}[](),:!' else char) for char in text)


TEXTS = st.text(st.sampled_from('ab\\"{}[](),:! =\n\t') | st.characters(blacklist_categories=["Cc", "Cs"]), min_size=1)


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(["EXACT", "NARROW", "BROAD", "RELATED"]))
@example("\xa0", "0", "0", "EXACT")
def test_escapes_round_trip(read, tmp_path_factory, name, synonym, definition, scope):
    path = tmp_path_factory.mktemp("obo") / "f.obo"
    text = f"""{HEADER}[Term]\nid: F:1\nname: {escape(name)} {{a="b"}} ! c\nsynonym: "{escape(synonym)}" {scope} [d:1]
synonym: "last" EXACT []\ndef: "{escape(definition)}" [e:1]\n"""
    records, report = read(path, text)
    assert not report.problems
    wanted = [Name(" ".join(name.split()), "preferred", "f"), Name(" ".join(synonym.split()), scope.lower(), "f")]
    wanted = list(dict.fromkeys([*wanted, Name("last", "exact", "f")]))
    assert sorted(records[0].names) == sorted(name for name in wanted if name.text)
    assert records[0].definition == (" ".join(definition.split()) or None)
