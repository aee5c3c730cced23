import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.prior import ConceptPrior, count_concepts
from spacy_sapbert.types import Candidate, Document, Mention, Name, Record

NAMES = {"A:1": "one", "A:2": "two", "A:3": "three"}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("prior") / "small.kb"
    with new_knowledge_base(path) as builder:
        for concept_id, name in NAMES.items():
            names = (Name(name, "exact", "mine"), Name("shared", "exact", "mine"))
            builder.add(Record(concept_id, names, alternative_ids=(concept_id.replace("A", "OLD"),)))
        builder.add_mention("A:2", Name("shared", "mention", "train"))
        builder.finish({})
    return KnowledgeBase(path)


def candidates(*scores):
    return [Candidate(id, score, NAMES[id]) for id, score in zip(NAMES, scores, strict=True)]


def test_scores_and_priors_by_hand(kb):
    prior = ConceptPrior({"A:1": 1, "A:2": 2, "A:3": 8}, 0.25, kb)
    assert prior.of("A:2") == pytest.approx(1 / 3)
    assert prior(candidates(0.9, 0.8, 0.7)) == [
        Candidate("A:3", 0.76, "three", prior=1.0),  # (0.7 + 0.25) / 1.25
        Candidate("A:1", 0.72, "one", prior=0.0),
        Candidate("A:2", 0.70667, "two", prior=pytest.approx(1 / 3)),  # (0.8 + 0.25 / 3) / 1.25
    ]


def test_ids_are_those_of_the_vocabulary(kb):
    prior = ConceptPrior({"OLD:2": 3, "A:2": 5, "B:9": 128}, 0.1, kb)
    assert [prior.of(concept_id) for concept_id in NAMES] == [0, pytest.approx(3 / 7), 0]
    assert ConceptPrior({"OLD:2": 3, "A:2": 4}, 0.1, kb).of("A:2") == 1


def test_of_nothing_the_order_stays(kb):
    assert ConceptPrior({"B:9": 100}, 0.1, kb)(candidates(0.9, 0.9, 0.1)) == [
        candidate._replace(score=pytest.approx(candidate.score / 1.1, abs=1e-5), prior=0.0)
        for candidate in candidates(0.9, 0.9, 0.1)
    ]


def test_what_is_annotated_with_the_very_name_is_not_overtaken_by_another_owner(kb):
    """The vocabulary knows that A:2 is meant by "shared"; A:3 is annotated more often, but by other names."""
    prior = ConceptPrior({"A:2": 4, "A:3": 100, "A:1": 2}, 0.1, kb)
    tied = [Candidate(id, 0.9, "shared") for id in ("A:2", "A:1", "A:3")]
    first, second, third = prior(tied)
    assert [first.concept_id, second.concept_id, third.concept_id] == ["A:2", "A:3", "A:1"]
    assert first.score == second.score > third.score
    assert prior(candidates(0.9, 0.9, 0.9))[0].concept_id == "A:3"


@given(
    scores=st.lists(st.floats(0, 1), min_size=3, max_size=3),
    counts=st.dictionaries(st.sampled_from([*NAMES, "B:1"]), st.integers(1, 10_000), min_size=1),
    weight=st.floats(0, 5),
)
def test_properties(kb, scores, counts, weight):
    given = sorted(candidates(*scores), key=lambda candidate: -candidate.score)
    reordered = ConceptPrior(counts, weight, kb)(given)
    assert sorted(candidate.concept_id for candidate in reordered) == sorted(NAMES)
    assert all(0 <= candidate.score <= 1 and 0 <= candidate.prior <= 1 for candidate in reordered)
    scores = [candidate.score for candidate in reordered]
    assert scores == sorted(scores, reverse=True)


def test_without_weight_nothing_changes(kb):
    given = candidates(0.91234, 0.5, 0.2)
    reordered = ConceptPrior({"A:3": 5}, 0.0, kb)(given)
    assert [candidate[:2] for candidate in reordered] == [candidate[:2] for candidate in given]


def test_of_what_it_was_made(kb):
    counts = {"A:1": 1}
    prior = ConceptPrior(counts, 0.1, kb)
    assert prior.is_of(counts, 0.1, kb)
    assert not prior.is_of({"A:1": 1}, 0.1, kb)  # another mapping may come to hold something else
    assert not prior.is_of(counts, 0.2, kb)


def test_documents_are_counted():
    mentions = [Mention(0, 1, "x", "", ("A:1",)), Mention(1, 2, "y", "", ("A:1", "A:2"))]
    assert count_concepts([Document("1", "xy", tuple(mentions)), Document("2", "x", tuple(mentions[:1]))]) == {
        "A:1": 2,
        "A:2": 1,
    }
    assert ConceptPrior({"A:1": 1}, 0.1, None)._highest == 1  # one document says nothing
