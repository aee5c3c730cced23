import pytest

from spacy_sapbert.kb.filters import Filter
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.mention_candidates import MentionCandidates
from spacy_sapbert.linking.settings import LinkerSettings
from spacy_sapbert.linking.storage import open_generator


@pytest.fixture(scope="module")
def generator(small_kb) -> CandidateGenerator:
    return open_generator(small_kb, None, sparse=True)


def test_candidates_are_those_of_the_generator(generator, small_kb):
    find = MentionCandidates(Linker(generator))
    assert find.kb is small_kb
    texts = ["aspirin", "cold", "aspirin", "zzz"]
    assert [[(one.concept_id, *one.aliases, *one.similarities) for one in of_text] for of_text in find(texts, 3)] == [
        [(one.concept_id, one.name, one.score) for one in of_text] for of_text in generator(texts, 3)
    ]
    assert find(["aspirin"], k=1)[0][0] == ("D001241", ["Aspirin"], [1.0])
    assert find([], 3) == []


def test_types_and_sources_of_the_linker_filter(generator):
    linker = Linker(generator, LinkerSettings(types=["Phenomenon"]))
    (candidates,) = MentionCandidates(linker)(["cold"], 5)
    assert [one.concept_id for one in candidates] == [
        one.concept_id for one in generator(["cold"], 5, Filter(("Phenomenon",), ()))[0]
    ]
    assert {one.concept_id for one in candidates} == {"D003080"}


def test_the_fields_are_scispacys():
    theirs = pytest.importorskip("scispacy.candidate_generation").MentionCandidate
    from spacy_sapbert.linking.mention_candidates import MentionCandidate

    assert MentionCandidate._fields == theirs._fields
