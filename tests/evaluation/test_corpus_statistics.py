from __future__ import annotations

import math
import random
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import combinations, islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.corpus_statistics import CorpusSettings, measure_corpus
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.hierarchy import ancestors
from spacy_sapbert.outputs.tables import COLUMNS
from spacy_sapbert.types import NIL, Name, Record

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")

TYPES = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
PLAIN = pyarrow.schema([(name, TYPES[kind]) for name, kind in COLUMNS.items()])
WHOLE = PLAIN.append(pyarrow.field("year", pyarrow.int64())).append(pyarrow.field("failure", pyarrow.string()))
# A is above B and C; C is above D; X and Y are above each other, and both above Z
PARENTS = {"K:A": (), "K:B": ("K:A",), "K:C": ("K:A",), "K:D": ("K:C", "K:B")}
PARENTS |= {"K:X": ("K:Y",), "K:Y": ("K:X",), "K:Z": ("K:X",)}
HOSTILE = "x'); DROP TABLE raw; --\"=1+1<script>\t\n$nil"


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    records = [
        Record(one, (Name(f"{one[-1].lower()} disease", "preferred", "K"),), types=("T",), parents=parents)
        for one, parents in PARENTS.items()
    ]
    return build_knowledge_base(records, tmp_path_factory.mktemp("kb") / "k.kb")


def link(doc_id, concept_id, year=None, text="it", start=0, **others):
    row = {"doc_id": doc_id, "year": year, "start": start, "end": start + 2, "text": text, "concept_id": concept_id}
    known = {} if concept_id == NIL else {"preferred_name": f"name of {concept_id}", "types": "T", "score": 0.9}
    return row | known | {"linked_text": text, "matched_name": "a name", "split": False, "snippet": "…"} | others


def empty(doc_id, year=None, failure=None):
    return {"doc_id": doc_id, "year": year, "failure": failure}


def write(path, rows, schema=WHOLE):
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema), path)
    return path


def measure(path, kb=None, **chosen):
    return measure_corpus(path, CorpusSettings(**{"min_documents": 1, "memory": 0.5} | chosen), kb)


def column(table, *names):
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


ROWS = [
    *(link("1", "K:B", 2001), link("1", "K:B", 2001, start=5), link("1", "K:X", 2001)),
    *(link("2", "K:B", 2001), link("2", "K:X", 2001), link("3", "K:D", 2002), link("4", NIL, 2003)),
    *(empty("5", 2003), empty("6", failure="E1"), link("7", "K:B")),
]


def test_documents_of_concepts(tmp_path):
    found = measure(write(tmp_path / "a.parquet", ROWS))
    names = ("concept_id", "documents", "share", "mentions", "first_year", "last_year", "preferred_name")
    assert column(found.tables["concepts"], *names) == [
        ("K:B", 3, 0.5, 4, 2001, 2001, "name of K:B"),
        ("K:X", 2, 0.333333, 2, 2001, 2001, "name of K:X"),
        ("K:D", 1, 0.166667, 1, 2002, 2002, "name of K:D"),
    ]
    wanted = {"documents": 6, "documents_with_links": 4, "failed_documents": 1, "documents_without_year": 1}
    wanted |= {"links": 7, "mentions_without_link": 1, "concepts": 3, "all_documents_known": True}
    assert {name: found.summary[name] for name in wanted} == wanted
    assert found.new_names is None
    assert "rollup" not in found.tables


def test_a_document_that_was_linked_in_a_second_run_did_not_fail(tmp_path):
    write(tmp_path / "1.parquet", [empty("a", failure="E1")])
    write(tmp_path / "2.parquet", [link("a", "K:B", 2000)])
    found = measure(tmp_path)
    assert (found.summary["documents"], found.summary["failed_documents"]) == (1, 0)


def test_measures_of_a_pair(tmp_path):
    """Of 6 documents, 3 have B, 2 have X, and 2 have both."""
    found = measure(write(tmp_path / "a.parquet", ROWS)).tables["pairs"]
    assert column(found, "concept_a", "concept_b", "documents_a", "documents_b", "both_documents") == [
        ("K:B", "K:X", 3, 2, 2)
    ]
    # both: 2 of 1 expected; only B: 1 of 2; only X: 0; none: 3 of 2
    g2 = 2 * (2 * math.log(2) + 1 * math.log(1 / 2) + 3 * math.log(3 / 2))
    (measures,) = column(found, "expected", "lift", "pmi", "log_likelihood")
    assert measures == pytest.approx((1, 2, 1, g2), abs=1e-4)


def test_pairs_are_only_of_the_concepts_in_most_documents(tmp_path):
    rows = [link(str(n), f"K:{one}") for n, of in enumerate(["ABC", "ABC", "AB", "A"]) for one in of]
    path = write(tmp_path / "a.parquet", rows)
    found = measure(path, pair_concepts=2)
    assert column(found.tables["pairs"], "concept_a", "concept_b") == [("K:A", "K:B")]
    assert any("2 concepts" in note for note in found.notes)
    assert column(measure(path, min_documents=3).tables["pairs"], "concept_a", "concept_b") == [("K:A", "K:B")]
    assert measure(path, limit=1).tables["pairs"].num_rows == 1


def test_a_rarer_pair_than_expected_comes_last(tmp_path):
    documents = ["AB", "AB", "AB", "C", "C", "AC", "A", "A", "A", "A"]
    rows = [link(str(n), f"K:{one}") for n, of in enumerate(documents) for one in of]
    found = measure(write(tmp_path / "a.parquet", rows)).tables["pairs"]
    assert [lift > 1 for lift in found["lift"].to_pylist()] == [True, False]


def test_roll_up_counts_each_document_once(tmp_path, kb):
    rows = [link("1", "K:B"), link("1", "K:C"), link("2", "K:D"), link("3", "K:A"), link("4", "K:Z")]
    found = measure(write(tmp_path / "a.parquet", rows), kb)
    rolled = {row[0]: row[1:] for row in column(found.tables["rollup"], "concept_id", "documents", "documents_itself")}
    wanted = {"K:A": (3, 1), "K:B": (2, 1), "K:C": (2, 1), "K:D": (1, 1), "K:X": (1, 0), "K:Y": (1, 0), "K:Z": (1, 1)}
    assert rolled == wanted
    names = dict(column(found.tables["rollup"], "concept_id", "preferred_name"))
    assert (names["K:X"], names["K:A"]) == ("x disease", "name of K:A")


def test_a_concept_has_no_pair_with_its_ancestor(tmp_path, kb):
    rows = [link("1", one) for one in ("K:A", "K:B", "K:C", "K:D", "K:X", "K:Y")]
    found = measure(write(tmp_path / "a.parquet", rows), kb)
    pairs = set(column(found.tables["pairs"], "concept_a", "concept_b"))
    assert ("K:B", "K:C") in pairs
    assert not pairs & {("K:A", "K:B"), ("K:A", "K:D"), ("K:C", "K:D"), ("K:X", "K:Y")}
    common = {
        row[:2]: row[2] for row in column(found.tables["rollup_pairs"], "concept_a", "concept_b", "common_descendants")
    }
    assert common["K:B", "K:C"] == 1  # D is below both
    assert common["K:A", "K:X"] == 0


def test_an_alternative_id_and_an_unknown_one(tmp_path, tmp_path_factory):
    record = Record("K:1", (Name("one", "preferred", "K"),), alternative_ids=("K:old",), parents=("K:0",))
    records = [record, Record("K:0", (Name("zero", "preferred", "K"),))]
    small = build_knowledge_base(records, tmp_path / "small.kb")
    found = measure(write(tmp_path / "a.parquet", [link("1", "K:old"), link("2", "Q:1")]), small)
    rolled = dict(column(found.tables["rollup"], "concept_id", "documents"))
    assert rolled == {"K:old": 1, "K:1": 1, "K:0": 1, "Q:1": 1}
    assert found.summary["concepts_not_in_kb"] == 1


def test_years(tmp_path):
    found = measure(write(tmp_path / "a.parquet", ROWS), top=1, last_years=1)
    assert column(found.tables["years"], "year", "documents", "documents_with_links") == [
        *((2001, 2, 2), (2002, 1, 1), (2003, 2, 0)),
    ]
    wanted = [("K:B", 2001, 2, 2, 1.0), ("K:B", 2002, 0, 1, 0.0), ("K:B", 2003, 0, 2, 0.0)]
    assert (
        column(found.tables["concept_years"], "concept_id", "year", "documents", "documents_of_year", "share") == wanted
    )


def test_rising_concepts(tmp_path):
    """In 4 documents before and 2 since: A in 1 and 2, B in 3 and 0."""
    documents = [(2000, "AB"), (2000, "B"), (2001, "B"), (2001, ""), (2002, "A"), (2003, "A")]
    rows = [link(str(n), f"K:{one}", year) for n, (year, of) in enumerate(documents) for one in of]
    rows += [empty("3", 2001), link("no year", "K:A")]
    found = measure(write(tmp_path / "a.parquet", rows), last_years=2, min_documents=3).tables["rising"]
    names = ("concept_id", "documents_before", "documents_recent", "share_before", "share_recent", "log_ratio")
    ratios = [math.log2((2.5 / 3) / (1.5 / 5)), math.log2((0.5 / 3) / (3.5 / 5))]
    assert column(found, *names) == [
        ("K:A", 1, 2, 0.25, 1.0, round(ratios[0], 4)),
        ("K:B", 3, 0, 0.75, 0.0, round(ratios[1], 4)),
    ]


def test_filters(tmp_path):
    rows = [
        link("1", "K:A", probability=0.9, types="T|U"),
        link("2", "K:A", probability=0.5, assertion="family|negated"),
        link("3", "K:B", probability=None, assertion="uncertain"),
    ]
    path = write(tmp_path / "a.parquet", rows)

    def documents(**chosen):
        return dict(column(measure(path, **chosen).tables["concepts"], "concept_id", "documents"))

    assert documents() == {"K:A": 2, "K:B": 1}
    assert documents(types=("U", "V")) == {"K:A": 1}
    assert documents(min_probability=0.5) == {"K:A": 2}
    assert documents(min_probability=0.51) == {"K:A": 1}
    assert documents(without_negated=True) == {"K:A": 1, "K:B": 1}
    assert documents(limit=1) == {"K:A": 2}
    with pytest.raises(SapbertError, match=r"E594.*2 of 3 links have a probability"):
        measure(path, types=("V",))


def test_tables_of_plain_link_do_not_know_all_documents(tmp_path):
    rows = [{name: value for name, value in link("1", "K:A").items() if name in COLUMNS}]
    write(tmp_path / "plain.parquet", rows, PLAIN)
    found = measure(tmp_path)
    assert not found.summary["all_documents_known"]
    assert "years" not in found.tables
    assert any("documents with mentions" in note for note in found.notes)
    assert any("No document has a year" in note for note in found.notes)
    write(tmp_path / "whole.parquet", [link("2", "K:A", 2000)])
    both = measure(tmp_path)
    assert not both.summary["all_documents_known"]
    assert column(both.tables["years"], "year", "documents") == [(2000, 1)]


def test_new_names(tmp_path, kb):
    rows = [
        link("2", "K:A", text="aa illness", score=0.7, snippet="second"),
        link("1", "K:A", text="aa illnesses", start=9, score=0.8, snippet="first"),
        link("2", "K:A", text="aa illnesses", score=0.8, snippet="third", start=20),
        link("1", "K:A", text="A diseases"),
        link("3", "Q:1", text="quite unknown"),
        link("3", "K:B", text="of the"),
        link("3", "K:B", text="bb", long_form=None, linked_text="bee illness"),
    ]
    found = measure(write(tmp_path / "a.parquet", rows), kb)
    header, *lines = (line.rstrip("\n").split("\t") for line in found.new_names)
    shown = [dict(zip(header, line, strict=True)) for line in lines]
    names = ("name", "id", "similarity", "occurrences", "documents", "doc_id", "example", "corrected_from")
    assert [tuple(row[name] for name in names) for row in shown] == [
        ("bee illness", "K:B", "0.9000", "1", "1", "3", "…", "bb"),
        ("aa illnesses", "K:A", "0.8000", "3", "2", "1", "first", ""),
    ]
    wanted = {"known_names": 1, "without_words": 1, "of_unknown_concepts": 1, "occurrences": 4, "candidates": 2}
    assert found.summary["new_names"] == wanted | {"in_too_few_documents": 0, "written": 2}
    fewer = measure(tmp_path / "a.parquet", kb, min_documents=2)
    assert [line.split("\t")[1] for line in fewer.new_names] == ["name", "aa illnesses"]


def counted(documents, kb):
    """What Python counts: documents of concepts, with descendants, and of pairs."""
    above = {one: {one, *ancestors(one, kb)} for one in kb.concept_ids()}
    plain, rolled, pairs, rolled_pairs = Counter(), Counter(), Counter(), Counter()
    for concepts in documents.values():
        up = set().union(*(above[one] for one in concepts))
        plain.update(concepts)
        rolled.update(up)
        pairs.update(combinations(sorted(concepts), 2))
        rolled_pairs.update(combinations(sorted(up), 2))

    def unrelated(pairs):
        return {(a, b): n for (a, b), n in pairs.items() if a not in above[b] and b not in above[a]}

    return plain, rolled, unrelated(pairs), unrelated(rolled_pairs)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(sorted(PARENTS))), min_size=1, max_size=25))
def test_counts_are_those_of_python(tmp_path, kb, links):
    documents = defaultdict(set)
    for doc_id, concept_id in links:
        documents[doc_id].add(concept_id)
    found = measure(write(tmp_path / "a.parquet", [link(*one) for one in links]), kb).tables
    plain, rolled, pairs, rolled_pairs = counted(documents, kb)
    assert dict(column(found["concepts"], "concept_id", "documents")) == plain
    together = ("concept_a", "concept_b", "both_documents")
    assert {(a, b): n for a, b, n in column(found["pairs"], *together)} == pairs
    if "rollup" in found:
        assert dict(column(found["rollup"], "concept_id", "documents")) == rolled
        assert {(a, b): n for a, b, n in column(found["rollup_pairs"], *together)} == rolled_pairs
    else:
        assert set(plain) == {"K:A"}


def test_files_rows_steps_and_threads_change_nothing(tmp_path, kb, monkeypatch):
    chance = random.Random(1)
    years = [chance.randint(2000, 2005) for _ in range(200)]
    names = ["one name", "other name", None]
    rows = [
        link(f"d{n}", chance.choice(sorted(PARENTS)), years[n], text=chance.choice(["this", "that thing"]), start=i)
        | {"preferred_name": chance.choice(names), "score": chance.choice([0.5, 0.7]), "snippet": str(i)}
        for n in range(200)
        for i in range(chance.randint(1, 5))
    ]
    first = measure(write(tmp_path / "one" / "a.parquet", rows), kb, threads=1)
    chance.shuffle(rows)
    for number in range(3):
        write(tmp_path / "more" / f"sub{number}" / "x.PARQUET", rows[number::3])
    monkeypatch.setattr("spacy_sapbert.evaluation.corpus_statistics._DOCUMENTS_PER_STEP", 17)
    monkeypatch.setattr("spacy_sapbert.evaluation.corpus_statistics._ROWS_PER_STEP", 7)
    second = measure(tmp_path / "more", kb, threads=3)
    assert second.tables.keys() == first.tables.keys()
    for name, table in first.tables.items():
        assert second.tables[name].to_pylist() == table.to_pylist(), name
    assert second.new_names == first.new_names
    assert second.summary | {"files": 1} == first.summary


def test_hostile_ids_texts_and_file_names(tmp_path, kb):
    folder = tmp_path / "it's [*] {a,b} ?"
    rows = [link(HOSTILE, HOSTILE, 2000, text=HOSTILE, preferred_name=HOSTILE, types=HOSTILE), link("2", "K:A", 2000)]
    write(folder / "year=1999" / "x'; DROP TABLE raw; --[a-z]*.parquet", rows)
    write(folder / ".hidden" / "b.parquet", rows)
    (folder / "notes.txt").write_text("no table")
    found = measure(folder, kb, types=(HOSTILE, "T"))
    assert found.summary["files"] == 1
    assert dict(column(found.tables["concepts"], "concept_id", "documents")) == {HOSTILE: 1, "K:A": 1}
    assert column(found.tables["years"], "year", "documents") == [(2000, 2)]


def test_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "missing.parquet"):
        with pytest.raises(SapbertError, match="E590"):
            measure(path)


def test_no_table_of_links(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"doc_id": ["1"], "text": ["x"]}), path)
    with pytest.raises(SapbertError, match=r"E591.*a\.parquet.*concept_id"):
        measure(path)
    rows = pyarrow.Table.from_pylist([link("1", "K:A")], WHOLE)
    wrong = rows.set_column(rows.column_names.index("year"), "year", pyarrow.array(["soon"]))
    parquet.write_table(wrong, path)
    with pytest.raises(SapbertError, match=r"E591.*year"):
        measure(path)


def test_damaged_file(tmp_path):
    whole = write(tmp_path / "whole.parquet", [link(str(n), "K:A", text=f"text {n}") for n in range(500)]).read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SapbertError, match=r"E592.*cut\.parquet"):
        measure(tmp_path)
    cut.write_bytes(whole[:4] + b"\xff" * 2000 + whole[2004:])  # the footer is whole
    with pytest.raises(SapbertError, match=r"E592.*cut\.parquet"):
        measure(tmp_path)


def test_no_links(tmp_path):
    with pytest.raises(SapbertError, match="E593"):
        measure(write(tmp_path / "a.parquet", [link("1", NIL), empty("2")]))


PEAK = """
import resource, sys
from spacy_sapbert.evaluation.corpus_statistics import CorpusSettings, measure_corpus
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
found = measure_corpus(sys.argv[1], CorpusSettings(memory=0.3), KnowledgeBase(sys.argv[2]))
print(found.summary["links"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path, kb):
    """Of 200,000 links, each in a process of its own; the peak grows by less than their snippets take."""
    chance = random.Random(1)
    ids = sorted(PARENTS)
    peaks = []
    for n in (20_000, 200_000):
        rows = (
            link(f"{i // 5}", chance.choice(ids), 2000 + i % 9, text=f"t{i % 999}", snippet=f"{i} " + 1000 * "x")
            for i in range(n)
        )
        path = tmp_path / f"{n}.parquet"
        with parquet.ParquetWriter(path, WHOLE) as writer:
            while some := list(islice(rows, 10_000)):
                writer.write_table(pyarrow.Table.from_pylist(some, WHOLE))
        command = [sys.executable, "-c", PEAK, str(path), str(kb.path)]
        links, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert int(links) == n
        peaks.append(int(peak))
    assert peaks[1] - peaks[0] < 180_000  # kilobytes
