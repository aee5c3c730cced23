"""benchmarks/difference_trainer.py: what it learns, and from which data."""

import pytest

from spacy_sapbert.linking.concept_facts import ConceptFacts
from spacy_sapbert.training.reranker_trainer import GoldPart
from spacy_sapbert.types import Candidate, LinkedPart

WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett", "kilo", "lima"]


@pytest.fixture
def trainer(script):
    return script("../benchmarks/difference_trainer")


def corpus(start, n=240):
    """RETURNS (list[GoldPart]): texts whose right name lacks a word, though one that adds a word is more similar."""
    parts = []
    for number in range(start, start + n):
        text = f"{WORDS[number % 12]} {WORDS[number // 12 % 12]} {number % 7}{number}x"
        wrong = Candidate("D009369", 0.9, f"{text} papa"), Candidate("D001241", 0.88, text.rpartition(" ")[0])
        parts.append(GoldPart(LinkedPart(text, None, wrong), frozenset({"D001241"})))
    return parts


def test_what_a_difference_means_is_learned(trainer, small_kb):
    pytest.importorskip("lightgbm")
    model = trainer.fit_difference_model(
        [trainer.difference_data(corpus(start), small_kb) for start in (0, 240)], 1.0, "encoder"
    )
    assert (model.sparse_share, model.encoder) == (1.0, "encoder")
    (judged,) = model([corpus(999, 1)[0].part], ConceptFacts(small_kb))
    assert judged.candidates[0].concept_id == "D001241"
    assert judged.candidates[0].probability > 0.9


def test_the_data_of_a_corpus(trainer, small_kb):
    parts = [*corpus(0, 2), corpus(0, 1)[0], GoldPart(LinkedPart("x", None, ()), frozenset())]
    data = trainer.difference_data(parts, small_kb)
    assert data.right.tolist() == [False, True] * 3
    assert data.sizes.tolist() == [2, 2, 2]
    assert data.weights.tolist() == pytest.approx([2**-0.5, 1.0, 2**-0.5])
