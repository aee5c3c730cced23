import sqlite3
from collections import Counter
from itertools import combinations
from math import comb
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.export import stream_records
from spacy_sapbert.training.pair_files import Pair, SharedName, shared_names_path
from spacy_sapbert.training.pairs import (
    MENTION_COUNTS,
    SYNONYM_COUNTS,
    GoldMention,
    Synonyms,
    draw_pairs,
    gold_mentions,
    mention_pairs,
    nth_combination,
    set_aside,
    shared_names,
    synonym_pairs,
)
from spacy_sapbert.training.settings import PairSelection
from spacy_sapbert.types import Document, Mention, Name, Record

CHI_SQUARE_9 = 27.88  # what chi-square with 9 degrees of freedom exceeds in one of 1,000 cases


def record(concept_id, *names, source="s", **others):
    return Record(concept_id, tuple(Name(text, "exact", source) for text in names), **others)


@pytest.fixture
def kb_of(tmp_path):
    """A function that makes a knowledge base of concepts given as id and names."""

    def make(*concepts):
        path = tmp_path / "made.kb"
        return build_knowledge_base([one if isinstance(one, Record) else record(*one) for one in concepts], path)

    return make


def drawn(kb, selection=None, seed=0):
    """All pairs of a knowledge base by part, and what was counted."""
    counts: Counter[str] = Counter()
    result = {"train": [], "eval": [], "plot": []}
    for part, pair in synonym_pairs(kb, selection or PairSelection(), counts, seed=seed):
        result[part].append(pair)
    assert set(counts) <= set(SYNONYM_COUNTS)
    return result, {name: number for name, number in counts.items() if number}


def unordered(pairs):
    return {(pair.concept_id, frozenset(pair[1:])) for pair in pairs}


# --- drawing


def test_combinations_come_in_the_stated_order():
    assert [nth_combination(number) for number in range(7)] == [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 4)]


@given(st.integers(min_value=0, max_value=10**40))
def test_the_number_of_a_combination_identifies_it(number):
    a, b = nth_combination(number)
    assert 0 <= a < b
    assert b * (b - 1) // 2 + a == number


def test_all_pairs_are_taken_where_they_are_few_enough():
    pairs = list(draw_pairs(Synonyms("C1", list("abcde")), PairSelection(max_pairs=10)))
    assert len(pairs) == 10
    assert unordered(pairs) == {("C1", frozenset(names)) for names in combinations("abcde", 2)}


def test_every_pair_is_drawn_as_often():
    """Three of ten, so the counts of the ten vary less than those of independent draws: by (10 - 3) / (10 - 1)."""
    runs = 3000
    times = Counter(
        names
        for seed in range(runs)
        for names in unordered(draw_pairs(Synonyms("C", list("abcde")), PairSelection(3), seed))
    )
    expected = runs * 3 / 10
    assert len(times) == 10
    assert sum((count - expected) ** 2 / expected for count in times.values()) * 9 / 7 < CHI_SQUARE_9


def test_pairs_of_a_concept_of_many_names_come_from_all_of_them():
    names = [str(number) for number in range(100_000)]
    pairs = [pair for seed in range(40) for pair in draw_pairs(Synonyms("C", names), PairSelection(50), seed)]
    tenths = Counter(int(name) // 10_000 for pair in pairs for name in pair[1:])
    expected = len(pairs) * 2 / 10
    assert sum((tenths[tenth] - expected) ** 2 / expected for tenth in range(10)) < CHI_SQUARE_9


def test_either_name_goes_first_as_often():
    firsts = Counter(
        pair.name1 for seed in range(1000) for pair in draw_pairs(Synonyms("C", ["a", "b"]), PairSelection(), seed)
    )
    assert 450 < firsts["a"] < 550  # a deviation of 50 is more than three standard deviations
    assert firsts["a"] + firsts["b"] == 1000


def test_the_number_of_pairs_is_drawn_between_the_bounds():
    selection = PairSelection(max_pairs=5, min_pairs=3)
    concepts = [Synonyms(f"C{number}", list("abcde")) for number in range(600)]
    numbers = Counter(len(list(draw_pairs(concept, selection))) for concept in concepts)
    assert set(numbers) == {3, 4, 5}
    assert all(150 < number < 250 for number in numbers.values())


def test_a_seed_gives_the_same_pairs_in_every_version_of_python():
    concept = Synonyms("D001943", ["breast cancer", "breast neoplasms", "cancer of the breast", "mammary cancer"])
    assert [pair[1:] for pair in draw_pairs(concept, PairSelection(max_pairs=3), seed=7)] == [
        ("breast cancer", "cancer of the breast"),
        ("mammary cancer", "breast neoplasms"),
        ("cancer of the breast", "mammary cancer"),
    ]


def test_setting_aside_is_uniform():
    times: Counter[int] = Counter()
    for seed in range(3000):
        aside: list[int] = []
        rest = list(set_aside(range(10), 3, Random(seed), aside))
        assert sorted(rest + aside) == list(range(10))
        assert len(aside) == 3
        times.update(aside)
    assert sum((times[number] - 900) ** 2 / 900 for number in range(10)) * 9 / 7 < CHI_SQUARE_9


# --- a vocabulary


def test_names_are_lower_cased_folded_and_unique(kb_of):
    kb = kb_of(("C1", "Breast  Cancer", "breast cancer", "BREAST\tCANCER", "Mamma-Ca"), ("C2", "Flu", "FLU"))
    result, counts = drawn(kb)
    assert unordered(result["train"]) == {("C1", frozenset({"breast cancer", "mamma-ca"}))}
    assert counts == {
        "concepts": 2, "concepts_with_one_name": 1, "concepts_with_enough_names": 1, "names": 3, "duplicate_names": 3,
        "pairs": 1,
    }  # fmt: skip


def test_what_a_line_cannot_hold_is_left_out_and_counted(kb_of):
    names = ("good", "a||b", "ends with |", "\ufeffmark", "|begins", "a | b", "two\nlines")
    result, counts = drawn(
        kb_of(("C1", *names), ("C||2", "a", "b"), ("C3|", "a", "b"), ("\ufeffC4", "a", "b"), ("C 5", "a", "b"))
    )
    left = {name for pair in result["train"] for name in pair[1:]}
    assert left == {"good", "|begins", "a | b", "two lines", "a", "b"}
    assert {pair.concept_id for pair in result["train"]} == {"C1", "C 5"}
    assert (counts["unwritable_names"], counts["unwritable_ids"], counts["names"]) == (3, 3, 6)


def test_all_concepts_are_read_however_many(kb_of):
    result, counts = drawn(kb_of(*((f"C{number}", "a", f"b{number}") for number in range(2500))))
    assert counts["concepts"] == len(result["train"]) == 2500
    assert [pair.concept_id for pair in result["train"]] == [f"C{number}" for number in range(2500)]


def test_the_pairs_of_a_concept_do_not_depend_on_the_others(tmp_path):
    concept = record("C1", *map(str, range(30)))
    alone = build_knowledge_base([concept], tmp_path / "alone.kb")
    among = build_knowledge_base([record("C0", "a", "b"), concept], tmp_path / "among.kb")
    assert drawn(alone)[0]["train"] == drawn(among)[0]["train"][1:]


def test_long_names_are_left_out_and_counted(kb_of):
    kb = kb_of(("C1", "aa", "bbb", "cccc"), ("C2", "dddd", "ee"))
    result, counts = drawn(kb, PairSelection(max_length=3))
    assert unordered(result["train"]) == {("C1", frozenset({"aa", "bbb"}))}
    assert counts["long_names"] == 2
    assert counts["names"] == 3


def test_a_selection_of_concepts_with_pairs_set_aside(kb_of):
    concepts = [(f"C{number}", *(f"{number} {letter}" for letter in "abcdef")) for number in range(40)]
    kb = kb_of(*concepts, ("few", "a", "b", "c", "d"))
    selection = PairSelection(max_pairs=5, min_pairs=3, min_names=5, concepts=20, eval_pairs=10, plot_pairs=4)
    result, counts = drawn(kb, selection)
    pairs = result["train"] + result["eval"]
    per_concept = Counter(pair.concept_id for pair in pairs)
    assert len(per_concept) == 20
    assert "few" not in per_concept
    assert set(per_concept.values()) == {3, 4, 5}
    assert len(unordered(pairs)) == len(pairs) == counts["pairs"]
    assert (len(result["eval"]), len(set(result["plot"]))) == (10, 4)
    assert set(result["plot"]) < set(result["eval"])
    assert counts["concepts_with_enough_names"] == 40
    assert drawn(kb, selection) == (result, counts)
    assert {pair.concept_id for pair in drawn(kb, selection, seed=1)[0]["train"]} != set(per_concept)


THREE = [("C1", "a", "b", "c"), ("C2", "a", "b", "c"), ("C3", "a", "b")]


@pytest.mark.parametrize(
    ("concepts", "selection", "message"),
    [
        (THREE, {"min_names": 3, "concepts": 5}, r"E406.*concepts of pairs is 5.*at most 2.*3 names or more"),
        (THREE[:1], {"eval_pairs": 3}, r"E406.*eval_pairs of pairs is 3.*below 3"),
        (THREE[:1], {"eval_pairs": 4}, r"E406.*eval_pairs of pairs is 4.*below 3"),
        ([("C1", "a"), ("C2", "b", "B")], {}, r"E105.*concepts with one name 2"),
    ],
)
def test_too_few_concepts_or_pairs_are_reported_with_their_number(kb_of, concepts, selection, message):
    with pytest.raises(SapbertError, match=message):
        drawn(kb_of(*concepts), PairSelection(**selection))


def test_one_pair_of_three_stays_where_two_are_set_aside(kb_of):
    assert len(drawn(kb_of(THREE[0]), PairSelection(eval_pairs=2))[0]["train"]) == 1


@pytest.mark.slow
def test_medic_gives_as_many_pairs_as_counted_without_drawing(medic_kb):
    names: dict[str, set[str]] = {}
    for one in stream_records(medic_kb):
        names.setdefault(one.concept_id, set()).update(" ".join(name.text.lower().split()) for name in one.names)
    result, counts = drawn(medic_kb)
    assert len(result["train"]) == sum(min(50, comb(len(texts), 2)) for texts in names.values())
    assert counts["names"] == sum(map(len, names.values()))
    assert all({pair.name1, pair.name2} <= names[pair.concept_id] for pair in result["train"])


# --- names of several concepts


def test_shared_names_are_found_in_normal_form(kb_of):
    kb = kb_of(
        ("C2", "Cold", "common cold"), ("C1", "cold", "COLD  temperature"), ("C3", "cold temperature"), ("C4", "x", "X")
    )
    assert list(shared_names(kb)) == [SharedName("cold", ("C1", "C2")), SharedName("cold temperature", ("C1", "C3"))]


def test_mentions_count_as_names(kb_of):
    kb = kb_of(("C1", "cold"), ("C2", "flu"))
    mentions = [GoldMention("C1", "flu"), GoldMention("C2", "flu"), GoldMention("C1", "bug"), GoldMention("C2", "bug")]
    assert list(shared_names(kb, mentions)) == [SharedName("bug", ("C1", "C2")), SharedName("flu", ("C1", "C2"))]


def test_a_full_disk_is_reported(kb_of, monkeypatch):
    kb = kb_of(*((f"C{number}", *(f"{number} {other}" for other in range(50))) for number in range(100)))
    connect = sqlite3.connect

    def connect_small(path, **options):
        connection = connect(path, **options)
        if not path:
            connection.execute("PRAGMA max_page_count = 4")
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_small)
    with pytest.raises(SapbertError, match=r"E507.*full"):
        list(shared_names(kb))


@pytest.mark.parametrize(
    ("pairs", "shared"),
    [
        ("pairs.txt", "pairs.shared.txt"),
        ("a/b.c.txt.gz", "a/b.c.shared.txt.gz"),
        ("pairs", "pairs.shared"),
        ("pairs.GZ", "pairs.shared.GZ"),
    ],
)
def test_shared_names_lie_beside_the_pairs(pairs, shared):
    assert shared_names_path(Path(pairs)) == Path(shared)


# --- mentions


def mention(text, ids="", label="Disease"):
    return Mention(0, len(text), text, label, tuple(ids.split("|")) if ids else ())


def documents(*mentions):
    return [Document("1", "", tuple(mentions))]


@pytest.fixture
def cold_kb(kb_of):
    return kb_of(
        ("C1", "Cold", "common cold", "Coryza"),
        record("C2", "influenza", "flu", alternative_ids=("A1", "A2")),
        record("C3", "fever", alternative_ids=("A2",)),
    )


def gold(kb, *mentions, types=()):
    counts: Counter[str] = Counter()
    result = gold_mentions(kb, documents(*mentions), counts, types)
    assert set(counts) <= set(MENTION_COUNTS)
    return result, dict(counts)


def test_mentions_with_one_id_of_the_vocabulary_are_taken_once(cold_kb):
    result, counts = gold(
        cold_kb, mention("Head\n cold", "C1"), mention("head cold", "C1"), mention("grippe", "A1"), mention("x", "C9")
    )
    assert result == [GoldMention("C1", "head cold"), GoldMention("C2", "grippe")]
    assert counts == {"mentions": 4, "repeated_mentions": 1, "mentions_not_in_vocabulary": 1}


def test_a_mention_that_is_left_out_counts_once(cold_kb):
    result, counts = gold(
        cold_kb,
        mention("a"),
        mention("b", "C1|C2"),
        mention("c", "C9|C8", label="Other"),
        mention("d||e", "C1"),
        mention("f|", "C1"),
        types=["Disease"],
    )
    assert result == []
    assert counts == {
        "mentions": 5, "mentions_without_id": 1, "composite_mentions": 1, "mentions_of_other_types": 1,
        "unwritable_mentions": 2,
    }  # fmt: skip


def test_an_id_of_two_concepts_stands_for_both(cold_kb):
    assert gold(cold_kb, mention("hot", "A2"))[0] == [GoldMention("C2", "hot"), GoldMention("C3", "hot")]


def paired(kb, *mentions, max_pairs=50, seed=0):
    counts: Counter[str] = Counter()
    pairs = [pair for _, pair in mention_pairs(kb, mentions, counts, max_pairs=max_pairs, seed=seed)]
    return pairs, dict(counts)


def test_a_mention_is_paired_with_the_other_names_of_its_concept(cold_kb):
    pairs, counts = paired(
        cold_kb, GoldMention("C1", "head cold"), GoldMention("C2", "flu"), GoldMention("C3", "fever")
    )
    assert pairs == [
        Pair("C1", "head cold", "cold"),
        Pair("C1", "head cold", "common cold"),
        Pair("C1", "head cold", "coryza"),
        Pair("C2", "flu", "influenza"),
    ]
    assert counts == {"pairs": 4, "mentions_without_another_name": 1}


def test_the_names_for_a_mention_are_drawn(cold_kb):
    names = Counter()
    for seed in range(300):
        pairs, _ = paired(cold_kb, GoldMention("C1", "head cold"), max_pairs=2, seed=seed)
        assert len({pair.name2 for pair in pairs}) == 2
        names.update(pair.name2 for pair in pairs)
    assert all(170 < names[name] < 230 for name in ("cold", "common cold", "coryza"))


def test_mentions_without_a_pair_are_an_error(cold_kb):
    with pytest.raises(SapbertError, match=r"E105.*mentions without another name 1"):
        paired(cold_kb, GoldMention("C3", "fever"))
    with pytest.raises(SapbertError, match=r"E105.*nothing read"):
        paired(cold_kb)
