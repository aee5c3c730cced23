import pytest

from spacy_sapbert.pipeline.corrections import corrected
from spacy_sapbert.review.corrections import Correction, Decision
from spacy_sapbert.types import Candidate, LinkedPart

COLD, FITS = Candidate("D003139", 0.9, "cold"), Candidate("D012640", 0.4, "fits")
PARTS = (LinkedPart("cold", None, (COLD, FITS)),)


def decision(action, *ids, rejected=()):
    correction = Correction(
        action, "occurrence", "k", 0, 4, "cold", ids, author="me", date="2026-01-02T00:00:00Z", comment="?"
    )
    return Decision(correction, frozenset(rejected))


@pytest.mark.parametrize("decided", [Decision(None, frozenset()), decision("add"), decision("replace", "D999")])
def test_without_a_known_concept_a_mention_is_linked_as_usual(small_kb, decided):
    assert corrected(PARTS, "cold", decided, small_kb) is PARTS


@pytest.mark.parametrize("action", ["accept", "replace", "add"])
def test_a_chosen_concept(small_kb, action):
    (part,) = corrected(PARTS, "cold", decision(action, "D012640"), small_kb)
    (candidate,) = part.candidates
    assert candidate[:3] == ("D012640", 1.0, small_kb.summaries_of(["D012640"])["D012640"].preferred)
    assert part.reasons == ("corrected by me on 2026-01-02: ?",)


def test_several_concepts_are_several_parts(small_kb):
    parts = corrected(PARTS, "cold", decision("replace", "D012640", "D003139"), small_kb)
    assert [part.candidates[0].concept_id for part in parts] == ["D012640", "D003139"]


def test_no_mention(small_kb):
    (part,) = corrected(PARTS, "cold", decision("no_mention"), small_kb)
    assert part.candidates == ()
    assert part.reasons == ("no mention, corrected by me on 2026-01-02: ?",)


def test_rejected_concepts(small_kb):
    (part,) = corrected(PARTS, "cold", Decision(None, frozenset({"D003139", "D999"})), small_kb)
    assert part.candidates == (FITS,)
    assert part.reasons == ("D003139 (cold) was rejected",)
    assert corrected(PARTS, "cold", Decision(None, frozenset({"D003550"})), small_kb) == PARTS
