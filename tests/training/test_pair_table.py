import gzip
import itertools
import random
from collections import Counter

import numpy as np
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
from spacy_sapbert.training.pair_table import PairTable, PairWithNegatives, read_pair_file, read_triple_file
from spacy_sapbert.training.pairs import shared_names, synonym_pairs
from spacy_sapbert.training.settings import PairSelection
from spacy_sapbert.types import Name, Record


def table(*lines, owners=None):
    return PairTable([Pair(*line.split("|")) for line in lines], owners)


def whole(pairs):
    """All pairs of a table in one batch."""
    return pairs.batch(np.arange(len(pairs)))


def synonyms(batch):
    """The pairs of names that are no negatives of each other, each once."""
    assert (batch.synonyms == batch.synonyms.T).all()
    assert not batch.synonyms.diagonal().any()
    return {tuple(sorted((batch.names[i], batch.names[j]))) for i, j in np.argwhere(batch.synonyms)}


# --- batches


def test_a_batch_holds_its_pairs():
    batch = table("C1|a|b", "C2|c|d", "C3|e|f").batch(np.array([2, 0]))
    assert [(batch.names[left], batch.names[right]) for left, right in batch.pairs] == [("e", "f"), ("a", "b")]
    assert sorted(batch.names) == ["a", "b", "e", "f"]
    assert synonyms(batch) == {("a", "b"), ("e", "f")}


def test_a_name_is_there_once_where_a_file_is_not_grouped():
    batch = whole(table("C1|a|b", "C2|c|d", "C1|b|e", "C2|d|c"))
    assert sorted(batch.names) == ["a", "b", "c", "d", "e"]
    names = [(batch.names[left], batch.names[right]) for left, right in batch.pairs]
    assert names == [("a", "b"), ("c", "d"), ("b", "e"), ("d", "c")]
    assert synonyms(batch) == {("a", "b"), ("a", "e"), ("b", "e"), ("c", "d")}


def test_two_shared_names_can_meet_in_a_concept_that_is_not_in_the_batch():
    owners = {"cold": ["C1", "C9"], "chill": ["C2", "C9"]}
    batch = whole(table("C1|cold|common cold", "C2|chill|chilliness", owners=owners))
    assert synonyms(batch) == {("cold", "common cold"), ("chill", "chilliness"), ("chill", "cold")}


VOCABULARIES = st.dictionaries(st.sampled_from("ABCDEF"), st.sets(st.sampled_from("stuvwxyz"), min_size=2), min_size=1)


@settings(max_examples=80, deadline=None)
@given(VOCABULARIES, st.randoms(use_true_random=False))
def test_names_are_negatives_if_and_only_if_no_concept_owns_both(vocabulary, rng):
    owners = {name: {one for one, names in vocabulary.items() if name in names} for name in "stuvwxyz"}
    pairs = [Pair(one, *rng.sample(sorted(vocabulary[one]), 2)) for one in rng.choices(sorted(vocabulary), k=12)]
    shared = {name: sorted(ids) for name, ids in owners.items() if len(ids) > 1}
    batch = PairTable(pairs, shared).batch(np.array(rng.sample(range(12), 6)))
    for (i, one), (j, other) in itertools.permutations(enumerate(batch.names), 2):
        assert batch.synonyms[i, j] == bool(owners[one] & owners[other]), (one, other)


@settings(max_examples=40, deadline=None)
@given(VOCABULARIES, st.randoms(use_true_random=False))
def test_the_order_of_a_file_does_not_count(vocabulary, rng):
    pairs = [Pair(one, *rng.sample(sorted(vocabulary[one]), 2)) for one in sorted(vocabulary) for _ in range(3)]
    grouped, mixed = whole(PairTable(pairs)), whole(PairTable(rng.sample(pairs, len(pairs))))
    assert sorted(grouped.names) == sorted(mixed.names)
    assert sorted(synonyms(grouped)) == sorted(synonyms(mixed))
    assert grouped.synonyms.sum() == mixed.synonyms.sum()


# --- tables


def test_a_table_counts():
    pairs = table("C1|a|b", "C1|a|c", "C2|a|d", "C2|d|d", owners={"a": ["C1", "C2"]})
    assert (len(pairs), pairs.n_names, pairs.same_name) == (3, 5, 1)
    assert {pairs.name(row) for row in range(5)} == {"a", "b", "c", "d"}


def test_tables_have_different_fingerprints():
    tables = [
        table("C1|a|b", "C2|c|d"), table("C2|c|d", "C1|a|b"), table("C1|a|b", "C3|c|d"), table("C1|a|b", "C2|c|e"),
        table("C1|ab|c", "C2|c|d"), table("C1|a|bc", "C2|c|d"), table("C1|a|b", "C2|c|d", owners={"a": ["C1", "C2"]}),
        table("C1|a|b", "C2|c|d", owners={"a": ["C1", "C3"]}),
    ]  # fmt: skip
    tables += [PairTable([with_negatives("C1", "a", "b", x=concept_id)]) for concept_id in ("", "C2", "C3")]
    assert len({one.fingerprint for one in tables}) == len(tables)
    assert table("C1|a|b").fingerprint == table("C1|a|b").fingerprint


# --- files


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read_with_its_shared_names(tmp_path, packed):
    path, shared = (tmp_path / f"pairs{middle}.txt{'.gz' * packed}" for middle in ("", ".shared"))
    write = (lambda file, text: file.write_bytes(gzip.compress(text.encode()))) if packed else type(path).write_text
    write(path, "C1||cold||common cold\n\n  \r\nC2||low||lowness")
    assert synonyms(whole(read_pair_file(str(path)))) == {("cold", "common cold"), ("low", "lowness")}
    write(shared, "cold||C1||C2\n")
    assert ("cold", "low") in synonyms(whole(read_pair_file(str(path))))
    assert ("cold", "low") in synonyms(whole(read_pair_file(str(path), shared=str(shared))))
    assert ("cold", "low") not in synonyms(whole(read_pair_file(str(path), shared=None)))


@pytest.mark.parametrize(("lines", "same"), [("C1||a||a\nC2||b||b\n", 2), ("\n", 0)])
def test_names_without_synonyms_are_not_pairs(tmp_path, lines, same):
    path = tmp_path / "pairs.txt"
    path.write_text(lines)
    with pytest.raises(SapbertError, match=rf"E105.*with itself: {same}\)"):
        read_pair_file(str(path))


def test_many_pairs_need_little_memory():
    import tracemalloc

    def pairs():
        rng = random.Random(0)
        for number in range(4000):
            names = [f"{rng.random():.12f}" for _ in range(6)]
            for left in range(5):
                for right in range(left + 1, 6):
                    yield Pair(f"C{number}", names[left], names[right])

    tracemalloc.start()
    built = PairTable(pairs())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    texts = built.n_names * (14 + 8)
    assert most < 2.5 * (16 * len(built) + texts)


# --- negatives that were given


def with_negatives(concept_id, *pair, **negatives):
    """negatives: the ids of each."""
    return PairWithNegatives(concept_id, *pair, tuple((name, tuple(ids.split())) for name, ids in negatives.items()))


def negatives_of(batch):
    return [tuple(batch.names[position] for position in triplet) for triplet in batch.triplets]


def test_negatives_come_with_their_pairs():
    pairs = [with_negatives("C1", "a", "b", x="C8", y="C9"), Pair("C2", "c", "d"), with_negatives("C3", "e", "f", x="")]
    pairs = PairTable(pairs)
    assert negatives_of(whole(pairs)) == [("a", "b", "x"), ("a", "b", "y"), ("e", "f", "x")]
    batch = pairs.batch(np.array([2, 1]))
    assert negatives_of(batch) == [("e", "f", "x")]
    assert batch.names == ["e", "f", "c", "d", "x"]
    assert negatives_of(pairs.batch(np.array([1]))) == []


def test_negatives_are_known_by_their_concepts():
    """x is a name of C2, as c is; y belongs to C2 and C3; of z nothing is known, and w is what C3 calls it, too."""
    pairs = [
        with_negatives("C1", "a", "b", x="C2", y="C3 C2", z="", w="C3"),
        Pair("C2", "c", "d"),
        Pair("C3", "w", "v"),
    ]
    batch = whole(PairTable(pairs))
    assert len(batch.names) == len(set(batch.names)) == 9
    own = {("a", "b"), ("c", "d"), ("v", "w")}
    assert synonyms(batch) == own | {("c", "x"), ("d", "x"), ("x", "y"), ("c", "y"), ("d", "y"), ("w", "y"), ("v", "y")}


def test_a_file_of_triples(tmp_path):
    path = tmp_path / "triples.tsv"
    triples = [("C1", "a", "b", "x"), ("C1", "a", "b", "y"), ("C1", "b", "a", "x"), ("C2", "c", "d", "x")]
    path.write_text(HEADINGS + "".join(triple_line(Triple(*fields, 0.5, ("C9",))) for fields in triples))
    pairs = read_triple_file(str(path))
    assert len(pairs) == 3
    assert negatives_of(whole(pairs)) == triples_of(triples)
    assert negatives_of(whole(read_triple_file(str(path), negatives=1))) == triples_of([triples[0], *triples[2:]])
    (tmp_path / "triples.shared.tsv").write_text("x||C9||C2\n")
    assert ("c", "x") in synonyms(whole(read_triple_file(str(path))))
    assert ("c", "x") not in synonyms(whole(read_triple_file(str(path), shared=None)))


def triples_of(triples):
    return [fields[1:] for fields in triples]


# --- files


def record(concept_id, *names):
    return Record(concept_id, tuple(Name(text, "exact", "s") for text in names))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("read", "data", "expected"),
    [
        (
            read_pairs,
            b"\xef\xbb\xbfC1||a b||c\r\n\r\n C2 || D  e || f | g \nC3|||x|||y",
            [Pair("C1", "a b", "c"), Pair("C2", "D  e", "f | g"), Pair("C3", "|x", "|y")],
        ),
        (  # columns in another order, others beside them, and none that can be left out
            read_triples,
            b"\xef\xbb\xbfnegative\tnote\tconcept_id\tanchor\tpositive\r\nhot\t\tC1\tcold\tchill\r\n\r\n",
            [Triple("C1", "cold", "chill", "hot", None, ())],
        ),
    ],
)
def test_files_of_others_are_read(tmp_path, packed, read, data, expected):
    path = tmp_path / "a.txt"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(read(path)) == expected


PAIR = (read_pairs, "C0||a||b\n\n", Pair("C0", "a", "b"), r"line 3: .*id\|\|name\|\|name")
SHARED = (read_shared_names, "flu||C1||C2||C3\n", SharedName("flu", ("C1", "C2", "C3")), r"line 2: .*name\|\|id\|\|id")
HEAD = "concept_id\tanchor\tpositive\tnegative\tsimilarity\n"
TRIPLE = (read_triples, f"{HEAD}C0\ta\tb\tc\t0.5\n\n", Triple("C0", "a", "b", "c", 0.5))


@pytest.mark.parametrize(
    ("read", "before", "first", "message", "line"),
    [
        *((*PAIR, line) for line in ("C1", "C1||a", "C1||a||b||c", "||a||b", "C1|| ||b", "C1||a||", "C1|a|b")),
        *((*SHARED, line) for line in ("cold", "cold||C1", "cold||C1||", "||C1||C2", "cold||C1|| ||C2")),
        (*TRIPLE, "line 4: .*argument 2 is shorter.*Correct the line", "C1\ta\tb"),
        (*TRIPLE, "line 4: .*longer.*Correct the line", "C1\ta\tb\tc\td\te"),
        (*TRIPLE, "line 4: .*anchor is empty.*Correct the line", "C1\t \tb\tc\t0.5"),
        (*TRIPLE, "line 4: .*concept_id is empty.*Correct the line", "\ta\tb\tc\t0.5"),
        (*TRIPLE, "line 4: .*near.*Correct the line", "C1\ta\tb\tc\tnear"),
    ],
)
def test_a_broken_line_is_reported_with_its_number(tmp_path, read, before, first, message, line):
    path = tmp_path / "a.txt"
    path.write_text(f"{before}{line}\nC2||a||b\n")
    rows = read(path)
    assert next(rows) == first
    with pytest.raises(SapbertError, match=rf"E127.*a\.txt, {message}"):
        next(rows)


# letters that could be taken for something else, and any others
TEXTS = st.text(
    st.sampled_from("|aB \n\t\r\x0b\x0c\x1c\x1f\x85\u2028\u2029\ufeff\u00a0İß") | st.characters(codec="utf-8"),
    min_size=1,
)
NAMED_CONCEPTS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=5)), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(
    NAMED_CONCEPTS.filter(lambda concepts: any(name.strip() for _, names in concepts for name in names)), st.booleans()
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
        reported = counts["unwritable_names"] + counts["duplicate_names"] + counts["names"]
        assert reported == len(kb.query("SELECT DISTINCT concept, name FROM synonyms"))


# --- triples


def test_a_column_that_is_missing_is_reported(tmp_path):
    path = tmp_path / "triples.tsv"
    for head in ("", "concept_id\tanchor\tpositive", "C1||a||b", "CUI\tSTR_A\tSTR_P\tnegative"):
        path.write_text(f"{head}\nC1\ta\tb\tc\n")
        with pytest.raises(SapbertError, match=r"E128.*triples.tsv has no column.*spacy-sapbert mine"):
            next(read_triples(path))


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
