import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import EmptyError, SapbertError
from spacy_sapbert.kb.ids import vocabulary_of
from spacy_sapbert.kb.mapping import (
    Equivalents,
    MappedIds,
    merge,
    one_to_one,
    read_mapping_rows,
    read_mappings,
    vocabulary,
)
from spacy_sapbert.kb.readers import ReadReport
from spacy_sapbert.kb.readers.context import ReaderContext

SSSOM = """\
# mapping_set_id: https://example.org/a.sssom.tsv
# curie_map:
#   MONDO: http://purl.obolibrary.org/obo/MONDO_
subject_id	subject_label	predicate_id	object_id	mapping_justification
MONDO:1	"a ""quoted"" label"	skos:exactMatch	UMLS:C0000001	semapv:ManualMappingCuration
MONDO:1	one	skos:closeMatch	UMLS:C0000009	semapv:ManualMappingCuration
MONDO:1	one	owl:equivalentClass	omim:5	semapv:ManualMappingCuration
MONDO:2	two	owl:sameAs	MESH:D000001	semapv:ManualMappingCuration
MONDO:3	three	skos:exactMatch	sssom:NoTermFound	semapv:ManualMappingCuration
"""


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def classes(equivalents, *ids):
    """The ids in sets of those that are equivalent."""
    found: dict[str, set[str]] = {}
    for concept_id in ids:
        found.setdefault(equivalents.find(concept_id), set()).add(concept_id)
    return sorted(map(sorted, found.values()))


# --- equivalents


ids = st.sampled_from("ABCDEFGH")


@given(st.lists(st.tuples(ids, ids), max_size=12))
def test_equivalence_is_closed(pairs):
    equivalents = Equivalents(pairs)
    expected = {concept_id: {concept_id} for concept_id in "ABCDEFGH"}
    for one, other in pairs:
        joined = expected[one] | expected[other]
        expected |= dict.fromkeys(joined, joined)
    assert classes(equivalents, *expected) == [list(c) for c in sorted({"".join(sorted(c)) for c in expected.values()})]
    assert len(equivalents) == len({one for pair in pairs for one in pair})


def test_a_long_chain():
    n = 20_000
    equivalents = Equivalents((str(i), str(i + 1)) for i in reversed(range(n)))
    assert {equivalents.find(str(i)) for i in range(n + 1)} == {equivalents.find("0")}


def test_a_copy_goes_its_own_way():
    equivalents = Equivalents([("A", "B")])
    copied = equivalents.copy()
    copied.join("B", "C")
    assert classes(copied, "A", "C") == [["A", "C"]]
    assert classes(equivalents, "A", "C") == [["A"], ["C"]]
    assert "C" not in equivalents


# --- mapping files


def test_sssom(write):
    report = ReadReport()
    equivalents = read_mappings([write("a.sssom.tsv", SSSOM)], report=report)
    ids = ("MONDO:1", "C0000001", "C0000009", "OMIM:5", "MONDO:2", "D000001", "MONDO:3")
    joined = [["C0000001", "MONDO:1", "OMIM:5"], ["C0000009"], ["D000001", "MONDO:2"], ["MONDO:3"]]
    assert classes(equivalents, *ids) == joined
    assert report.rows_read == 5
    assert report.rows_dropped == {"skos:closeMatch": 1, "no term found": 1}


def test_sssom_in_other_clothes(write, tmp_path):
    packed = tmp_path / "packed.sssom.tsv.gz"
    packed.write_bytes(gzip.compress(SSSOM.encode()))
    comma = write("comma.csv", "object_id,predicate_id,subject_id\nMONDO:2,skos:exactMatch,X:1\n")
    equivalents = read_mappings([packed, comma])
    assert classes(equivalents, "X:1", "D000001") == [["D000001", "X:1"]]


@pytest.mark.parametrize(("name", "separator"), [("a.tsv", "\t"), ("a.csv", ","), ("a.txt", "\t")])
def test_two_columns(write, name, separator):
    rows = ["# made by hand", "MSH:D000001 DOID:1", "", "DOID:1 umls:C0000001"]
    equivalents = read_mappings([write(name, "\n".join(rows[:1] + [row.replace(" ", separator) for row in rows[1:]]))])
    assert classes(equivalents, "D000001", "DOID:1", "C0000001") == [["C0000001", "D000001", "DOID:1"]]


def test_files_are_closed_together(write):
    equivalents = read_mappings([write("a.tsv", "A:1\tB:1\n"), write("b.tsv", "B:1\tC:1\n")])
    assert classes(equivalents, "A:1", "C:1") == [["A:1", "C:1"]]


def test_broken_rows_are_counted_with_their_lines(write):
    rows = ["A:1\tB:1", "A:2\t", "\tB:3", "A:4", "A:5\tB:5\tC:5", "-\tB:6", "A:7\tB:7"]
    path = write("a.tsv", "\n".join(rows))
    report = ReadReport()
    equivalents = read_mappings([path], report=report)
    assert len(equivalents) == 4
    assert [(row.path, row.line, row.reason) for row in report.problems] == [
        (path, 2, "no object_id"),
        (path, 3, "no subject_id"),
        (path, 4, "1 cells instead of 2"),
        (path, 5, "3 cells instead of 2"),
        (path, 6, "no subject_id"),
    ]
    assert report.rows_dropped == {"broken": 5}
    with pytest.raises(SapbertError, match=r"E127.*a\.tsv, line 2: no object_id"):
        read_mappings([path], strict=True)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a.tsv", "subject_id\tobject_id"),
        ("a.sssom.tsv", "from\tpredicate_id\tto"),
        ("a.sssom.tsv", "MONDO:1\tskos:exactMatch\tUMLS:C0000001"),
    ],
)
def test_sssom_without_its_columns(write, name, header):
    with pytest.raises(SapbertError, match=rf"E128.*{name}.*has no column (subject_id|predicate_id|object_id)"):
        read_mappings([write(name, f"{header}\nA:1\tB:1\tC:1\n")])


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "a,b,c\n", SSSOM.replace("exactMatch", "broadMatch").replace("owl:", "x:")]
)
def test_files_without_an_exact_match(write, text):
    with pytest.raises(EmptyError, match=r".*a\.tsv"):
        read_mappings([write("a.tsv", text)])


# --- cross-references


@pytest.mark.parametrize(
    ("expected", "ids", "prefixes"),
    [
        ("UMLS", ["C0012634"], ["umls", "UMLS_CUI"]),
        ("MESH", ["D009369", "D000086382", "C565588", "C000604007"], ["MSH", "Mesh"]),
        ("OMIM", ["OMIM:145250"], ["omim"]),
        ("Orphanet", ["Orphanet:5"], ["ORPHANET"]),
        ("", ["C12", "D0012345", "custom"], []),
    ],
)
def test_the_vocabulary_of_ids_and_prefixes(expected, ids, prefixes):
    assert {*map(vocabulary_of, ids), *map(vocabulary, prefixes)} == {expected}


def test_links_that_are_one_to_one():
    kept = [MappedIds(0, "A:1", "U:1"), MappedIds(0, "A:1", "M:1"), MappedIds(2, "B:1", "U:1")]
    others = [MappedIds(3, "A:2", "U:2"), MappedIds(3, "A:2", "U:3"), MappedIds(4, "A:3", "U:3")]
    assert one_to_one([*kept, *others, MappedIds(9, "A:1", "U:1")]) == (kept, 3)


def test_merged_records():
    firsts = [("A:1", 4), ("B:1", 1), ("C:1", 2), ("D:1", 3), ("E:1", 5)]
    links = [MappedIds(4, "A:1", "B:1"), MappedIds(4, "A:1", "C:1"), MappedIds(4, "A:1", "X:1")]
    assert merge(firsts, Equivalents(), links) == ({4: 1, 1: 1, 2: 1}, 1)
    assert merge(firsts, Equivalents([("D:1", "Y:1"), ("Y:1", "C:1")]), []) == ({2: 2, 3: 2}, 0)


# --- rows

ROWS = """\
# license: CC0
subject_id\tsubject_type\tpredicate_id\tpredicate_modifier\tobject_id
DOID:1\t\tskos:exactMatch\t\tUMLS_CUI:C0000001
DOID:2\t\thttp://www.w3.org/2004/02/skos/core#broadMatch\t\tmesh:D000001
DOID:3\t\tskos:closeMatch\tNot\tMESH:D000002
a text\trdfs literal\tskos:exactMatch\t\tMESH:D000003
DOID:4\t\tskos:exactMatch\t\tsssom:NoTermFound
DOID:5\t\t\t\tMESH:D000004
DOID:6\t\tskos:exactMatch\t\t-
"""


def rows_of(path, text, **kwargs):
    path.write_text(text)
    report = ReadReport()
    return list(read_mapping_rows(ReaderContext(path, report), **kwargs)), report


def test_rows_of_sssom(tmp_path):
    rows, report = rows_of(tmp_path / "a.tsv", ROWS)
    assert rows == [("DOID:1", "skos:exactMatch", "C0000001"), ("DOID:2", "skos:broadMatch", "D000001")]
    assert report.rows_dropped == {"Not skos:closeMatch": 1, "a text without an id": 1, "no term found": 1, "broken": 2}
    assert [(line, reason) for _, line, reason, _ in report.problems] == [(8, "no predicate_id"), (9, "no object_id")]


def test_chosen_predicates(tmp_path):
    rows, report = rows_of(tmp_path / "a.tsv", ROWS, accepts=lambda predicate: predicate == "skos:exactMatch")
    assert rows == [("DOID:1", "skos:exactMatch", "C0000001")]
    assert report.rows_dropped["skos:broadMatch"] == 1
