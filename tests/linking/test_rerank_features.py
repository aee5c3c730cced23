"""The features of a reranker, computed by hand."""

import numpy as np
import pytest

from spacy_sapbert.linking.rerank_features import (
    DEPTH,
    FEATURES,
    GAP,
    N_FEATURES,
    NOT_COMPARED,
    CandidateFeatures,
    DocumentEvidence,
    WordRarity,
    compare,
    shortlist,
)
from spacy_sapbert.types import Candidate, LinkedPart

RARITY = WordRarity.in_names(["breast cancer", "cancer of the skin", "cancers", "skin"])


def rows_of(kb, parts, text):
    return CandidateFeatures(kb, RARITY)(parts, DocumentEvidence.of(parts, text))


NAMES = [name for names in FEATURES.values() for name in names]


def part(text, *candidates, **others):
    return LinkedPart(text, others.get("long_form"), tuple(candidates))


def column(rows, name):
    return rows[:, NAMES.index(name)].tolist()


def test_equally_frequent_words_stay_in_their_order_in_every_process():
    words = [f"w{n}x" for n in range(50)]
    assert list(WordRarity.in_names([" ".join(words)]).frequent) == words


# --- which candidates


def test_the_shortlist_ends_at_the_gap_or_at_the_depth():
    scores = [0.9, 0.7, 0.9 - GAP, 0.5]
    assert len(shortlist([Candidate(str(score), score, "") for score in scores])) == 3
    assert len(shortlist([Candidate(str(n), 0.9, "") for n in range(DEPTH + 5)])) == DEPTH
    assert len(shortlist([])) == 0


# --- text and name


def words(text, name):
    return dict(zip(FEATURES["words"], compare(text, name, RARITY), strict=True))


def test_the_words_of_text_and_name():
    features = words("Severe breast cancers", "cancer of the breast, familial")
    assert (features["share_of_text"], features["share_of_name"]) == (2 / 3, 2 / 3)
    assert (features["only_in_text"], features["only_in_name"]) == (1, 1)
    assert (features["equal"], features["same_words"], features["same_head"]) == (False, False, False)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("type II diabetes", "Type 2 Diabetes"),
        ("diabetes type 2", "type 2 diabetes"),
        ("haemophilia", "Hemophilia"),
    ],
)
def test_some_texts_have_the_same_words(text, name):
    assert words(text, name)["same_words"] == 1
    assert words(text, name)["words_of_text"] == len(text.split())


def test_numbers_and_single_letters():
    features = words("hepatitis B type 2", "Hepatitis C, type II")
    assert (features["numbers_only_in_text"], features["numbers_only_in_name"]) == (1, 1)
    assert words("a rash", "rash")["numbers_only_in_text"] == 0


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [("hypotension", "hypertension", (1, 0)), ("diabetic", "diabetes", (0, 1)), ("cold", "fever", (0, 0))],
)
def test_words_with_another_beginning_or_end(text, name, expected):
    features = words(text, name)
    assert (features["other_beginnings"], features["other_endings"]) == expected


def test_rare_words_count_more():
    # of four names, three have "cancer", two "skin" and one "breast"
    cancer, skin, breast, other = (np.log(5 / n) for n in (4, 3, 2, 2))
    assert RARITY.of(["cancer", "skin", "breast", "rash"]) == pytest.approx([cancer, skin, breast, other])
    features = words("breast cancer", "skin cancer rash")
    assert features["rarity_only_in_text"] == pytest.approx(breast)
    assert features["rarity_only_in_name"] == pytest.approx(skin + other)
    assert (features["rarest_only_in_text"], features["rarest_only_in_name"]) == pytest.approx((breast, other))
    assert features["rare_share_of_text"] == pytest.approx(cancer / (cancer + breast))
    assert features["rare_share_of_name"] == pytest.approx(cancer / (cancer + skin + other))


def test_letters():
    features = words("ASA", "ASAP")
    assert (features["longer"], features["same_beginning"], features["same_case"]) == (1 / 4, 3 / 4, False)
    assert features["acronym"]
    assert words("ASA", "ASA")["same_case"]
    assert words("", "")["longer"] == 0


# --- among each other, in the vocabulary, in the document


def test_what_is_known_of_candidates(small_kb):
    first = Candidate("D001943", 0.9, "Breast Neoplasms", 0.8, 0.7, 0.5, 2.5, probability=0.75)
    second = Candidate("D010051", 0.7, "ovarian cancer", 0.75, 0.9)
    rows = rows_of(small_kb, [part("breast tumor", first, second)], "A breast tumor.")
    assert rows.shape == (2, N_FEATURES)
    assert column(rows, "score") == [0.9, 0.7]
    assert column(rows, "score_lead") == pytest.approx([0.2, -0.2])
    assert column(rows, "dense_lead") == pytest.approx([0.05, -0.05])
    assert column(rows, "sparse_lead") == pytest.approx([-0.2, 0.2])
    assert column(rows, "support") == [2.5, 1.0]
    assert column(rows, "place") == [0, 1]
    assert column(rows, "candidates") == [2, 2]
    assert column(rows, "preferred") == [1, 0]
    assert column(rows, "names") == pytest.approx([np.log(5), np.log(3)], abs=1e-5)
    assert column(rows, "prior") == [0.5, 0]
    assert column(rows, "supplementary") == [0, 0]
    assert column(rows, "probability") == [0.75, NOT_COMPARED]


def test_equal_values_lead_by_nothing_and_a_single_candidate_by_one(small_kb):
    pair = [Candidate("D003139", 0.9, "cold"), Candidate("D003080", 0.9, "cold")]
    rows = rows_of(small_kb, [part("cold", *pair), part("Cold", pair[0])], "")
    assert column(rows, "score_lead") == [0, 0, 1]
    assert column(rows, "same_name") == [2, 2, 1]


def test_the_document_speaks_for_concepts_of_other_texts(small_kb):
    cancer, breast = Candidate("D009369", 0.9, "cancer"), Candidate("D001943", 0.8, "breast cancer")
    parts = [part("cancer", cancer, breast), part("Cancer", cancer), part("carcinoma of breast", breast)]
    rows = rows_of(small_kb, parts, "Cancer. This carcinoma of breast is a cancer.")
    assert column(rows, "elsewhere") == [0, 1, 0, 0]
    assert column(rows, "words_elsewhere") == [0, 1, 0, 1]
    assert DocumentEvidence.of(parts, "").linked == {
        "D009369": {"cancer": "cancer"},
        "D001943": {"carcinoma of breast": "carcinoma of breast"},
    }


def test_texts_without_candidates_have_no_rows(small_kb):
    assert rows_of(small_kb, [part("x")], "x").shape == (0, N_FEATURES)
    rows = rows_of(small_kb, [part("x"), part("cold", Candidate("D003139", 0.9, "cold"))], "x")
    assert column(rows, "score") == [0.9]
