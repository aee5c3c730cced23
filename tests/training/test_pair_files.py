from __future__ import annotations

import gzip
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.training.pair_files import (
    HEADINGS,
    Pair,
    SharedName,
    Triple,
    pair_line,
    read_pairs,
    read_shared_names,
    read_triples,
    triple_line,
)
from spacy_sapbert.training.pairs import shared_names, synonym_pairs
from spacy_sapbert.training.settings import PairSelection
from spacy_sapbert.types import Name, Record


def record(concept_id, *names):
    return Record(concept_id, tuple(Name(text, "exact", "s") for text in names))


@pytest.mark.parametrize("packed", [False, True])
def test_pairs_of_others_are_read(tmp_path, packed):
    data = b"\xef\xbb\xbfC1||a b||c\r\n\r\n C2 || D  e || f | g \nC3|||x|||y"
    path = tmp_path / "pairs.txt"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(read_pairs(path)) == [Pair("C1", "a b", "c"), Pair("C2", "D  e", "f | g"), Pair("C3", "|x", "|y")]


@pytest.mark.parametrize("line", ["C1", "C1||a", "C1||a||b||c", "||a||b", "C1|| ||b", "C1||a||", "C1|a|b"])
def test_a_broken_pair_is_reported_with_its_line(tmp_path, line):
    path = tmp_path / "pairs.txt"
    path.write_text(f"C0||a||b\n\n{line}\nC2||a||b\n")
    pairs = read_pairs(path)
    assert next(pairs) == Pair("C0", "a", "b")
    with pytest.raises(SapbertError, match=r"E127.*pairs.txt, line 3: .*id\|\|name\|\|name"):
        next(pairs)


@pytest.mark.parametrize("line", ["cold", "cold||C1", "cold||C1||", "||C1||C2", "cold||C1|| ||C2"])
def test_a_broken_shared_name_is_reported_with_its_line(tmp_path, line):
    path = tmp_path / "pairs.shared.txt"
    path.write_text(f"flu||C1||C2||C3\n{line}\n")
    names = read_shared_names(path)
    assert next(names) == SharedName("flu", ("C1", "C2", "C3"))
    with pytest.raises(SapbertError, match=r"E127.*line 2: .*name\|\|id\|\|id"):
        next(names)


def test_shared_names_make_a_table(tmp_path):
    path = tmp_path / "pairs.shared.txt"
    path.write_text("cold||C1||C2\nflu||C2||C3\n")
    assert dict(read_shared_names(path)) == {"cold": ("C1", "C2"), "flu": ("C2", "C3")}


# letters that could be taken for something else, and any others
TEXTS = st.text(
    st.sampled_from("|aB \n\t\r\x0b\x0c\x1c\x1f\x85\u2028\u2029\ufeff\u00a0İß") | st.characters(), min_size=1
)
VOCABULARIES = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=5)), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(
    VOCABULARIES.filter(lambda concepts: any(name.strip() for _, names in concepts for name in names)), st.booleans()
)
def test_what_is_written_is_read_again(tmp_path_factory, concepts, packed):
    folder = tmp_path_factory.mktemp("round_trip")
    kb = build_knowledge_base((record(concept_id, *names) for concept_id, names in concepts), folder / "a.kb")
    counts: Counter[str] = Counter()
    try:
        pairs = [pair for _, pair in synonym_pairs(kb, PairSelection(), counts)]
    except SapbertError:
        assert not counts["pairs"]
        pairs = []
    shared = list(shared_names(kb))
    opened = gzip.open if packed else open
    with opened(folder / "pairs.txt", "wt", encoding="utf8", newline="") as file:
        file.writelines(pair_line(*pair) for pair in pairs)
    with opened(folder / "shared.txt", "wt", encoding="utf8", newline="") as file:
        file.writelines(pair_line(name, *concept_ids) for name, concept_ids in shared)
    assert list(read_pairs(folder / "pairs.txt")) == pairs
    assert list(read_shared_names(folder / "shared.txt")) == shared
    if not counts["unwritable_ids"]:
        told = counts["unwritable_names"] + counts["duplicate_names"] + counts["names"]
        assert told == len(kb.query("SELECT DISTINCT concept, name FROM synonyms"))


# --- triples

HEAD = "concept_id\tanchor\tpositive\tnegative"


@pytest.mark.parametrize("packed", [False, True])
def test_triples_of_others_are_read(tmp_path, packed):
    """Columns in another order, others beside them, and none that can be left out."""
    data = b"\xef\xbb\xbfnegative\tnote\tconcept_id\tanchor\tpositive\r\nhot\t\tC1\tcold\tchill\r\n\r\n"
    path = tmp_path / "triples.tsv"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(read_triples(path)) == [Triple("C1", "cold", "chill", "hot", None, ())]


def test_a_column_that_is_missing_is_reported(tmp_path):
    path = tmp_path / "triples.tsv"
    for head in ("", "concept_id\tanchor\tpositive", "C1||a||b", "CUI\tSTR_A\tSTR_P\tnegative"):
        path.write_text(f"{head}\nC1\ta\tb\tc\n")
        with pytest.raises(SapbertError, match=r"E128.*triples.tsv has no column.*spacy-sapbert mine"):
            next(read_triples(path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("C1\ta\tb", "argument 2 is shorter"),
        ("C1\ta\tb\tc\td\te", "longer"),
        ("C1\t \tb\tc\t0.5", "anchor is empty"),
        ("\ta\tb\tc\t0.5", "concept_id is empty"),
        ("C1\ta\tb\tc\tnear", "near"),
    ],
)
def test_a_broken_triple_is_reported_with_its_line(tmp_path, line, reason):
    path = tmp_path / "triples.tsv"
    path.write_text(f"{HEAD}\tsimilarity\nC0\ta\tb\tc\t0.5\n\n{line}\n")
    triples = read_triples(path)
    assert next(triples) == Triple("C0", "a", "b", "c", 0.5)
    with pytest.raises(SapbertError, match=rf"E127.*triples.tsv, line 4: .*{reason}.*Correct the line"):
        next(triples)


# in normal form there are single blanks and no others; quotation marks and bars are part of a name
NAMES = st.text(st.sampled_from("aB\"|,;'") | st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=8)
IDS = st.from_regex(r"[A-Z]{1,5}:?[0-9]{1,6}", fullmatch=True)
COSINES = st.integers(-10000, 10000).map(lambda number: number / 10000)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.builds(Triple, IDS, NAMES, NAMES, NAMES, st.none() | COSINES, st.lists(IDS, max_size=2).map(tuple))))
def test_what_is_written_is_read_again_of_triples(tmp_path_factory, triples):
    path = tmp_path_factory.mktemp("triples") / "triples.tsv"
    path.write_text(HEADINGS + "".join(map(triple_line, triples)), encoding="utf8")
    assert list(read_triples(path)) == triples
