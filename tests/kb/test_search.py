import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.search import search_names
from spacy_sapbert.text.normalize import biosyn
from spacy_sapbert.types import Name, Record


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    names = {
        "C000001": ["100% water", "α-thalassemia"],
        "D000002": ["heart attack", "Attack, Heart"],
        "D000003": ["heart attack of the young", "HEART"],
        "C000004": ["heart"],
        "D000005": ["MÉNIÈRE disease", "heartburn"],
    }
    records = [
        Record(one, tuple(Name(text, "preferred" if place == 0 else "exact", "X") for place, text in enumerate(texts)))
        for one, texts in names.items()
    ]
    path = tmp_path_factory.mktemp("search") / "search.kb"
    build_knowledge_base(records, path)
    return KnowledgeBase(path)


def found(kb, text, k=10):
    return [(concept_id, name) for concept_id, _, name in search_names(kb, text, k)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ATTACK heart", [("D000002", "heart attack"), ("D000003", "heart attack of the young")]),
        ("burn", [("D000005", "heartburn")]),
        ("ménière", [("D000005", "MÉNIÈRE disease")]),
        ("α", [("C000001", "α-thalassemia")]),
        *((text, []) for text in ("meniere", "", "%", "_", "...", "%%_")),
    ],
)
def test_all_words_in_any_order_and_case(kb, text, names):
    """A word can be a part of a word, and have other letters than ASCII. A text without words finds nothing."""
    assert found(kb, text) == names


def test_the_score_is_the_share_of_the_name(kb):
    scores = {concept_id: score for concept_id, score, _ in search_names(kb, "heart attack", 10)}
    assert scores == {"D000002": 1.0, "D000003": pytest.approx(12 / 25)}


def test_equal_scores_are_ordered_as_ties(kb):
    # the same length in both; a concept that prefers the name comes before one that does not
    assert found(kb, "heart", 2) == [("C000004", "heart"), ("D000003", "HEART")]
    assert ("D000005", "heartburn") in found(kb, "heart")


def test_a_text_of_any_length(kb):
    assert {concept_id for concept_id, _ in found(kb, "heart " * 2000)} == {"D000002", "D000003", "C000004", "D000005"}
    assert found(kb, " ".join(f"word{i}" for i in range(2000))) == []
    assert found(kb, "a" * 100_000) == []


def test_every_word_counts_also_beyond_those_of_the_query(tmp_path):
    words = " ".join("abcdefghij")
    build_knowledge_base([Record("X1", (Name(words, "preferred", "X"),))], tmp_path / "a.kb")
    kb = KnowledgeBase(tmp_path / "a.kb")
    assert found(kb, words) == [("X1", words)]
    assert found(kb, f"{words} z") == []


@given(st.text(max_size=20))
def test_every_name_found_contains_the_words(kb, text):
    assert all(word in biosyn(name) for _, name in found(kb, text) for word in biosyn(text).split())
