"""What is read of the rows of a release; where its files may lie is in test_rrf.py. All content is invented."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.kb.readers.umls import UmlsSettings
from spacy_sapbert.types import Name

ALL = {"languages": ()}


def atom(cui, text, *, lat="ENG", ts="S", stt="VO", ispref="N", aui="A1", sab="ABC", tty="SY", suppress="N"):
    """A row of MRCONSO."""
    return f"{cui}|{lat}|{ts}|L1|{stt}|S1|{ispref}|{aui}||||{sab}|{tty}|X1|{text}|0|{suppress}||\n"


def preferred(cui, text, **columns):
    return atom(cui, text, **{"ts": "P", "stt": "PF", "ispref": "Y", "tty": "PT", **columns})


def typed(cui, tui):
    return f"{cui}|{tui}|A1|a type|AT1||\n"


def definition(cui, text, *, aui="A1", sab="ABC", suppress="N"):
    return f"{cui}|{aui}|AT1||{sab}|{text}|{suppress}||\n"


def relation(first, rel, second, rela="", *, sab="ABC", suppress="N"):
    """A row of MRREL: what the second concept is to the first."""
    return f"{first}|A1|AUI|{rel}|{second}|A2|AUI|{rela}|R1||{sab}|{sab}|||{suppress}||\n"


@pytest.fixture
def read(tmp_path):
    """A function that writes tables and reads them: gives the concepts by id, and the report."""

    def run(names, *, types="", defined="", relations="", ranks="", retired="", strict=False, **settings):
        tables = {"CONSO": names, "STY": types, "DEF": defined, "REL": relations, "RANK": ranks, "CUI": retired}
        for table, rows in tables.items():
            if rows:
                (tmp_path / f"MR{table}.RRF").write_bytes(rows if isinstance(rows, bytes) else rows.encode())
        report = ReadReport()
        umls = UmlsSettings(**settings)
        records = list(read_vocabulary(tmp_path, "umls", report=report, strict=strict, umls=umls))
        assert report.records == len(records) == len({record.concept_id for record in records})
        return {record.concept_id: record for record in records}, report

    return run


def texts(record):
    return [name.text for name in record.names]


# --- concepts and names


def test_a_concept_with_everything(read):
    records, report = read(
        atom("C9000001", "grey fever", sab="XYZ") + preferred("C9000001", "Fever, grey") + atom("C9000001", "GF"),
        types=typed("C9000001", "T047") + typed("C9000001", "T184"),
        defined=definition("C9000001", "A fever that is grey."),
        relations=relation("C9000001", "PAR", "C9000009"),
        parents=True,
        strict=True,
    )
    record = records["C9000001"]
    assert record.names == (
        Name("Fever, grey", "preferred", "ABC", "en"),
        Name("grey fever", "exact", "XYZ", "en"),
        Name("GF", "exact", "ABC", "en"),
    )
    assert record.types == ("T047", "T184")
    assert record.definition == "A fever that is grey."
    assert record.parents == ("C9000009",)
    assert (record.alternative_ids, record.xrefs) == ((), ())
    assert (report.rows_read, report.rows_kept, report.names) == (3, 3, 3)
    assert not +report.notes


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([{"ts": "S", "stt": "PF", "ispref": "Y"}, {"ts": "P", "stt": "VO"}], 1),
        ([{"ts": "P", "stt": "VO", "ispref": "Y"}, {"ts": "P", "stt": "PF"}], 1),
        ([{"ts": "P", "stt": "PF"}, {"ts": "P", "stt": "PF", "ispref": "Y"}], 1),
        ([{"sab": "LOW", "tty": "PT"}, {"sab": "HIGH", "tty": "SY"}, {"sab": "HIGH", "tty": "PT"}], 2),
        ([{"sab": "UNRANKED"}, {"sab": "LOW", "tty": "PT"}], 1),
        ([{"sab": "UNRANKED"}, {"sab": "UNRANKED"}], 0),
    ],
)
def test_the_preferred_name(read, rows, wanted):
    names = "".join(atom("C9000001", f"name {number}", **columns) for number, columns in enumerate(rows))
    records, _ = read(names, ranks="0100|LOW|PT|N|\n0200|HIGH|SY|N|\n0300|HIGH|PT|N|\n")
    first, *others = records["C9000001"].names
    assert (first.text, first.scope) == (f"name {wanted}", "preferred")
    assert {name.scope for name in others} == {"exact"}


def test_without_ranks_the_first_of_the_file_is_preferred(read):
    records, _ = read(atom("C9000001", "b", sab="LOW") + atom("C9000001", "a", sab="HIGH"))
    assert records["C9000001"].names[0].text == "b"


def test_concepts_whose_preferred_name_is_left_out_are_counted(read):
    names = preferred("C9000001", "a", suppress="O") + atom("C9000001", "b") + preferred("C9000002", "c")
    records, report = read(names)
    assert records["C9000001"].names == (Name("b", "preferred", "ABC", "en"),)
    assert report.notes["concepts named by another than the release prefers"] == 1


def test_the_same_name_of_several_sources(read):
    names = preferred("C9000001", "a") + atom("C9000001", "a", sab="XYZ") + atom("C9000001", "a ", tty="ET")
    records, report = read(names + atom("C9000001", " "))
    assert records["C9000001"].names == (Name("a", "preferred", "ABC", "en"), Name("a", "exact", "XYZ", "en"))
    assert report.names_dropped == {"duplicate": 1, "empty": 1}


def test_the_preferred_name_is_in_the_first_language(read):
    names = preferred("C9000001", "fever") + preferred("C9000001", "fiebre", lat="SPA") + preferred("C9000002", "dolor")
    assert texts(read(names)[0]["C9000001"]) == ["fever"]
    assert texts(read(names, languages=("SPA", "ENG"))[0]["C9000001"]) == ["fiebre", "fever"]
    assert texts(read(names, **ALL)[0]["C9000001"]) == ["fever", "fiebre"]
    foreign_first = preferred("C9000001", "fiebre", lat="SPA") + preferred("C9000001", "fever")
    assert texts(read(foreign_first, **ALL)[0]["C9000001"]) == ["fever", "fiebre"]


# --- what is left out


def test_rows_left_out_are_counted_by_reason(read):
    columns = [{"suppress": flag} for flag in "OEY"] + [{"lat": "SPA", "suppress": "O"}]
    columns += [{"sab": "XYZ"}, {"sab": "OUT"}, {"tty": "AB"}]
    names = preferred("C9000001", "a") + "".join(atom("C9000001", "b", **values) for values in columns)
    names += preferred("C9000002", "i", lat="SPA") + preferred("C9000003", "j")
    settings = {"sources": ["ABC", "OUT"], "without_sources": ["OUT"], "term_types": ["PT", "SY"]}
    records, report = read(
        names, types=typed("C9000001", "T047") + typed("C9000003", "T001"), semantic_types=["T047"], **settings
    )
    assert {cui: texts(record) for cui, record in records.items()} == {"C9000001": ["a"]}
    assert report.rows_dropped == {
        "language": 2,
        "source": 2,
        "term type": 1,
        "semantic type": 1,
        **{f"suppressed {flag}": 1 for flag in "OEY"},
    }
    assert (report.rows_read, report.rows_kept) == (10, 1)
    assert report.notes["concepts of which no name was taken"] == 1
    assert report.notes["sources without a name: OUT"] == 1


@pytest.mark.parametrize(("flags", "wanted"), [("", "NOEY"), ("O", "NEY"), ("EY", "NO"), ("OEY", "N")])
def test_suppressed_rows(read, flags, wanted):
    records, _ = read("".join(atom("C9000001", flag, suppress=flag) for flag in "NOEY"), drop_suppressed=flags)
    assert texts(records["C9000001"]) == list(wanted)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, "1234"),
        ({"semantic_types": ["T047"]}, "12"),
        ({"semantic_types": ["disease or syndrome", "Finding"]}, "123"),
        ({"semantic_groups": ["DISO"]}, "123"),
        ({"semantic_groups": ["anatomy"]}, "2"),
        ({"semantic_groups": ["ANAT"], "semantic_types": ["T033"]}, "23"),
    ],
)
def test_semantic_types(read, settings, wanted):
    names = "".join(preferred(f"C900000{number}", "a") for number in "1234")
    types = "".join(typed(f"C900000{n}", f"T0{t}") for n, t in [(1, 47), (2, 23), (2, 47), (3, 33)])
    assert [cui[-1] for cui in read(names, types=types, **settings)[0]] == list(wanted)


def test_concepts_without_a_semantic_type_get_the_given_one(tmp_path):
    (tmp_path / "MRCONSO.RRF").write_text(preferred("C9000001", "a") + preferred("C9000002", "a"))
    (tmp_path / "MRSTY.RRF").write_text(typed("C9000001", "T047"))
    records = read_vocabulary(tmp_path, "umls", report=ReadReport(), types=["Thing"])
    assert [record.types for record in records] == [("T047",), ("Thing",)]


def test_settings_that_cannot_be(read):
    with pytest.raises(SapbertError, match="E504"):  # the table of semantic types is not there
        read(preferred("C9000001", "a"), semantic_groups=["DISO"])
    with pytest.raises(SapbertError, match=r"E125.*semantic type.*disease or syndrome"):
        UmlsSettings(semantic_types=["Diseases"])
    with pytest.raises(SapbertError, match=r"E125.*'DISOX' is not a semantic group"):
        UmlsSettings(semantic_groups=["DISOX"])
    with pytest.raises(SapbertError, match=r"E125.*'ON'"):
        UmlsSettings(drop_suppressed="ON")


# --- trade names


DRUGS = preferred("C9000001", "curamine") + preferred("C9000002", "Curax") + atom("C9000002", "Curax Forte", sab="XYZ")


@pytest.mark.parametrize(
    "row",
    [relation("C9000001", "RO", "C9000002", "tradename_of"), relation("C9000002", "RO", "C9000001", "has_tradename")],
)
def test_the_names_of_a_brand_become_names_of_the_drug(read, row):
    records, report = read(DRUGS, relations=row)
    assert records["C9000001"].names == (
        Name("curamine", "preferred", "ABC", "en"),
        Name("Curax", "exact", "ABC", "en"),
        Name("Curax Forte", "exact", "XYZ", "en"),
    )
    assert texts(records["C9000002"]) == ["Curax", "Curax Forte"]
    assert report.notes == {"trade names added": 2}
    assert texts(read(DRUGS, relations=row, trade_names=False)[0]["C9000001"]) == ["curamine"]


def test_trade_names_pass_through_the_settings_once(read):
    names = DRUGS + atom("C9000002", "Curax", lat="SPA") + atom("C9000002", "Curax Old", suppress="O")
    both = relation("C9000001", "RO", "C9000002", "tradename_of") + relation(
        "C9000002", "RO", "C9000001", "has_tradename"
    )
    records, report = read(names, relations=both, sources=["ABC"])
    assert texts(records["C9000001"]) == ["curamine", "Curax"]
    assert report.rows_dropped == {"language": 1, "suppressed O": 1, "source": 1}
    assert report.rows_read == 5


def test_a_brand_of_several_drugs_is_a_name_of_none(read):
    names = DRUGS + preferred("C9000003", "doloril")
    rows = "".join(relation(drug, "RO", "C9000002", "tradename_of") for drug in ("C9000001", "C9000003"))
    records, report = read(names, relations=rows)
    assert [texts(record) for record in records.values()] == [["curamine"], ["Curax", "Curax Forte"], ["doloril"]]
    assert report.notes["brands of several drugs, not taken as trade names"] == 1


def test_relations_left_out(read):
    brand = ("C9000001", "RO", "C9000002", "tradename_of")
    rows = relation(*brand, suppress="O") + relation(*brand, sab="OUT") + relation("", *brand[1:])
    rows += relation("C9000001", "PAR", "é") + relation("C9000001", "RO", "C9000001", "tradename_of")
    rows += relation("C9000001", "RO", "C9000002", "ingredient_of")
    records, report = read(DRUGS, relations=rows, without_sources=["OUT"], parents=True)
    assert texts(records["C9000001"]) == ["curamine"]
    reasons = {note: count for note, count in report.notes.items() if note.startswith("MRREL") and count}
    wanted = {"suppressed O": 1, "source": 1, "no CUI": 2}
    assert reasons == {f"MRREL rows left out: {reason}": count for reason, count in wanted.items()}


# --- parents and definitions


@pytest.mark.parametrize(
    "row",
    [
        relation("C9000001", "PAR", "C9000002"),
        relation("C9000002", "CHD", "C9000001"),
        relation("C9000001", "RB", "C9000002", "inverse_isa"),
        relation("C9000001", "PAR", "C9000002", "inverse_isa"),
        relation("C9000002", "RN", "C9000001", "isa"),
    ],
)
def test_the_second_concept_is_the_parent_or_the_child_of_the_first(read, row):
    names = preferred("C9000001", "grey fever") + preferred("C9000002", "fever")
    records, _ = read(names, relations=row, parents=True)
    assert [record.parents for record in records.values()] == [("C9000002",), ()]
    assert read(names, relations=row)[0]["C9000001"].parents == ()


def test_several_parents(read):
    rows = "".join(relation("C9000002", "PAR", f"C900000{n}") for n in "413214")
    rows += relation("C9000002", "PAR", "C9000005", "part_of") + relation("C9000008", "PAR", "C9000009")
    records, report = read(preferred("C9000002", "a"), relations=rows, parents=True)
    assert records["C9000002"].parents == ("C9000001", "C9000003", "C9000004")
    assert report.notes["MRREL rows of concepts that MRCONSO does not have"] == 1


def test_the_definition_of_the_best_source(read):
    names = preferred("C9000001", "a", aui="A1") + preferred("C9000001", "x", aui="A2", lat="SPA")
    definitions = "".join(definition("C9000001", text, sab=sab) for text, sab in (("low", "LOW"), ("best", "HIGH")))
    definitions += definition("C9000001", "obsolete", sab="TOP", suppress="O")
    definitions += definition("C9000001", "alto", sab="TOP", aui="A2") + definition("C9000001", "out", sab="OUT")
    ranks = "0100|LOW|PT|N|\n0200|HIGH|PT|N|\n0050|HIGH|SY|N|\n0300|TOP|PT|N|\n0400|OUT|PT|N|\n"
    records, report = read(names, defined=definitions, ranks=ranks, without_sources=["OUT"])
    assert records["C9000001"].definition == "best"
    reasons = ("suppressed O", "language", "source")
    assert dict(+report.notes) == {f"MRDEF rows left out: {reason}": 1 for reason in reasons}
    assert read(names, defined=definitions, ranks=ranks, **ALL)[0]["C9000001"].definition == "out"
    assert read(names, defined=definitions, definitions=False)[0]["C9000001"].definition is None


def test_rows_of_unknown_concepts_are_counted(read):
    cuis = [f"C900000{number}" for number in range(1, 7)]
    names = preferred(cuis[1], "a") + preferred(cuis[3], "b", lat="SPA") + preferred(cuis[4], "c")
    records, report = read(
        names,
        types="".join(typed(cui, "T047") for cui in cuis),
        defined="".join(definition(cui, f"That is {cui}.") for cui in cuis[1:]),
    )
    known = [cuis[1], cuis[4]]
    assert {cui: record.definition for cui, record in records.items()} == {cui: f"That is {cui}." for cui in known}
    assert all(record.types == ("T047",) for record in records.values())
    assert report.notes["MRSTY rows of concepts that MRCONSO does not have"] == 3
    assert report.notes["MRDEF rows of concepts that MRCONSO does not have"] == 2


SHUFFLED = [preferred(f"C900000{n}", f"name {n}") + atom(f"C900000{n}", f"other {n}") for n in "3142"]


def test_rows_need_not_be_sorted(read):
    types = "".join(typed(f"C900000{n}", f"T04{n}") for n in "4213")
    records, _ = read("".join(SHUFFLED), types=types)
    assert {cui: record.types for cui, record in records.items()} == {f"C900000{n}": (f"T04{n}",) for n in "1234"}
    assert [texts(record)[0] for record in records.values()] == [f"name {n}" for n in "1234"]


# --- broken rows


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"C9000001|ENG|P|too short\n", "3 columns instead of 18"),
        (b"C9000001|ENG|P|cut off", "3 columns instead of 18, and the file ends there"),
        (preferred("C9000001", "one | more").encode(), "19 columns instead of 18"),
        (preferred("C9000001", "caf\xe9").encode("latin-1"), r"this is not utf-8 \(.*\)"),
        (preferred("", "a").encode(), "no CUI"),
        (preferred("C900 001", "a").encode(), "no CUI"),
    ],
)
def test_broken_rows(read, row, reason):
    names = preferred("C9000001", "a").encode() + row
    records, report = read(names)
    assert texts(records["C9000001"]) == ["a"]
    assert (report.rows_read, report.rows_dropped) == (2, {"broken": 1})
    assert [(broken.path.name, broken.line) for broken in report.problems] == [("MRCONSO.RRF", 2)]
    with pytest.raises(SapbertError, match=rf"E127.*MRCONSO.RRF, line 2: {reason}"):
        read(names, strict=True)


def test_cuis_that_were_merged_are_other_ids(read):
    """Those that became broader or narrower, and those that were deleted, are not."""
    rows = "C8000001|2098AA|SY|||C9000001|Y|\nC8000002|2098AA|RB|||C9000001|Y|\nC8000003|2098AA|DEL|||||\n"
    records, _ = read(preferred("C9000001", "a"), retired=rows, strict=True)
    assert records["C9000001"].alternative_ids == ("C8000001",)


def test_a_first_row_without_a_cui_is_broken(read):
    records, report = read(preferred("", "a") + preferred("", "b") + preferred("C9000001", "c"))
    assert list(records) == ["C9000001"]
    assert [row.line for row in report.problems] == [1, 2]


def test_broken_rows_of_other_tables(read):
    names = preferred("C9000001", "a") + preferred("C9000002", "b")
    broken = {
        "types": typed("C9000001", "T047") + "C9000002|T047|\n" + typed("C9000002", "T048"),
        "defined": b"C9000001|A1|AT1||ABC|caf\xe9|N||\n",
        "relations": relation("C9000001", "RO", "C9000002", "tradename_of")[:-5] + "\n",
        "ranks": "high|ABC|PT|N|\n0100|ABC|SY|N|\n",
    }
    records, report = read(names, **broken)
    assert [(record.types, record.definition) for record in records.values()] == [(("T047",), None), (("T048",), None)]
    assert (report.rows_read, report.rows_kept) == (2, 2)
    lines = {"MRDEF": 1, "MRRANK": 1, "MRREL": 1, "MRSTY": 2}
    assert {row.path.stem: row.line for row in report.problems} == lines
    assert (+report.notes).keys() == {f"{table} rows broken" for table in lines}
    for table, rows in broken.items():
        with pytest.raises(SapbertError, match=r"E127.*, line"):
            read(names, **{**dict.fromkeys(broken, "\n"), table: rows}, strict=True)


# --- properties


CELLS = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Z"], blacklist_characters="|"), min_size=1)


@given(st.lists(st.tuples(st.integers(1, 5), CELLS, st.sampled_from(["ENG", "SPA"])), max_size=30))
def test_sorted_and_unsorted_files_give_the_same(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("umls")
    lines = [atom(f"C900000{number}", text, lat=language) for number, text, language in rows]

    def read_lines(lines):
        (folder / "MRCONSO.RRF").write_bytes("".join(lines).encode())
        report = ReadReport()
        return list(read_vocabulary(folder, "umls", report=report, strict=True)), report

    records, report = read_lines(sorted(lines, key=lambda line: line[:8]))
    assert records == read_lines(lines)[0]
    assert report.rows_dropped["language"] == sum(language == "SPA" for *_, language in rows)
    wanted = {(f"C900000{number}", text) for number, text, language in rows if language == "ENG"}
    assert {(record.concept_id, text) for record in records for text in texts(record)} == wanted


# --- languages and codes


def test_each_language_has_a_preferred_name(read):
    names = (
        atom("C9000001", "calentura", lat="SPA", sab="MSHSPA")
        + preferred("C9000001", "fever")
        + preferred("C9000001", "fiebre", lat="SPA", sab="MSHSPA")
        + preferred("C9000001", "fever", lat="DUT")
    )
    (record,) = read(names, **ALL)[0].values()
    assert set(record.names[1:]) == {
        Name("fiebre", "preferred", "MSHSPA", "es"),
        Name("fever", "preferred", "ABC", "nl"),
        Name("calentura", "exact", "MSHSPA", "es"),
    }
    assert record.names[0] == Name("fever", "preferred", "ABC", "en")


def test_codes_of_sources(read):
    def coded(code, sab, **columns):
        return atom("C9000001", "fever", sab=sab, **columns).replace("|X1|", f"|{code}|")

    names = preferred("C9000001", "fever") + coded("386661006", "SNOMEDCT_US") + coded("R50.9", "ICD10CM")
    names += coded("R50.9", "ICD10CM", tty="AB") + coded("R50.8", "ICD10CM", suppress="O")
    names += coded("HP:0001945", "HPO") + coded("D005334", "MSH", lat="SPA") + coded("NOCODE", "MTH")
    sources = ("ICD10CM", "SNOMEDCT_US", "HPO", "MSH", "MTH")
    (record,) = read(names, codes=sources, sources=["ABC"], strict=True)[0].values()
    assert record.xrefs == ("SNOMEDCT:386661006", "ICD10CM:R50.9", "HP:0001945", "D005334")
    assert texts(record) == ["fever"]
    assert read(names)[0]["C9000001"].xrefs == ()
