import gc
import subprocess
import sys

import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.filters import Filter
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.linking.linker import Linker, MentionCandidate, MentionCandidates
from spacy_sapbert.linking.ranker import PROBABLE
from spacy_sapbert.linking.settings import SPARSE_WEIGHT, THRESHOLD, CandidateSettings, LinkerParameters, LinkerSettings
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants
from spacy_sapbert.types import Alternative, Candidate, Link, LinkedPart

from ..graded import graded

POINTS = ((0.2, 0.1), (1.0, 0.9))


@pytest.fixture
def linker(small_kb):
    return Linker(open_generator(small_kb, None, sparse=True))


@pytest.fixture
def dense_linker(small_kb, tiny_encoder):
    return Linker(open_generator(small_kb, TransformerEncoder(str(tiny_encoder)), sparse=True))


@pytest.fixture
def looked_up(monkeypatch):
    """All texts that were looked up, with their filter, one list for each call."""
    calls = []
    call = CandidateGenerator.__call__

    def counted(self, texts, k, filter):
        calls.append((list(texts), filter))
        return call(self, texts, k, filter)

    monkeypatch.setattr(CandidateGenerator, "__call__", counted)
    return calls


def query(text, label="", **variants):
    return MentionQuery(MentionVariants(text, **variants), label)


def link_one(linker, text, label="", **variants):
    """RETURNS (list[Link]): what becomes of a mention alone in its document."""
    ((parts,),) = linker.link([[query(text, label, **variants)]])
    return linker.links(parts, label)


def candidates(**scores):
    return tuple(Candidate(concept_id, score, "") for concept_id, score in scores.items())


def test_garbage_collection_is_left_as_it_is(linker, monkeypatch):
    states, find = [], CandidateGenerator.__call__
    monkeypatch.setattr(CandidateGenerator, "__call__", lambda *a, **b: states.append(gc.isenabled()) or find(*a, **b))
    linker.link([[query("asthma")]])
    assert states == [True]
    assert gc.isenabled()


# --- links


def test_the_links_of_mentions(linker):
    first, second = linker.link([[query("acetylsalicylic acid"), query("7777")], [query("mucoviscidosis")]])
    assert [[link._replace(runner_up=None) for link in linker.links(parts)] for parts in first] == [
        [
            Link(
                "acetylsalicylic acid",
                "D001241",
                1.0,
                "acetylsalicylic acid",
                probability=first[0][0].candidates[0].probability,
                missing=linker.links(first[0])[0].missing,
            )
        ],
        [Link("7777", None, None, None, None, False, "no name is similar")],
    ]
    assert linker.links(second[0])[0].concept_id == "D003550"


def test_equal_mentions_share_their_parts_and_decision(linker):
    split = {"composite_splits": [("asthma", "gout")], "corrections": {"asthma": "asthma"}}
    mentions = linker.link([[query("asthma", **split), query("asthma")], [query("asthma", "Disease"), query("asthma")]])
    (own, first), (labelled, second) = mentions
    assert first is second
    assert own is not first
    assert labelled is not first
    decisions = linker.annotations([(first, ""), (labelled, "Disease"), (second, "")])
    assert decisions[0] is decisions[2]
    assert decisions[1][:2] == (linker.links(labelled, "Disease"), linker.kb_ents(labelled))


def test_no_documents_and_no_mentions(linker, looked_up):
    assert linker.link([]) == []
    assert linker.link([[], []]) == [[], []]
    assert looked_up == []


def test_each_text_is_looked_up_once_for_each_filter(linker, looked_up):
    linker.settings.label_types = {"PHENOMENON": ["Phenomenon"]}
    linker.link([[query("aspirin"), query("cold", "PHENOMENON")], [query("aspirin", long_form="cold")]])
    assert looked_up == [(["aspirin", "cold"], Filter()), (["cold"], Filter(("Phenomenon",)))]


def test_earlier_texts_are_known_until_they_are_forgotten(linker, looked_up):
    before = linker.link([[query("aspirin")]])
    assert linker.link([[query("aspirin")], [query("cold")]])[:1] == before
    linker.settings.k = 1  # a text with other settings is another one
    ((parts,),) = linker.link([[query("aspirin")]])
    linker.generator.forget()
    linker.link([[query("aspirin")]])
    assert len(parts[0].candidates) == 1
    assert [texts for texts, _ in looked_up] == [["aspirin"], ["cold"], ["aspirin"], ["aspirin"]]


def test_the_filter_of_a_label(linker):
    linker.settings.types, linker.settings.sources = ["Drug", "Disease"], ["MEDIC", "CTD"]
    linker.settings.label_types = {"ANY": [], "CHEMICAL": ["Chemical"]}
    assert linker.filter_of("") == Filter(("Disease", "Drug"), ("CTD", "MEDIC"))
    assert linker.filter_of("ANY") == Filter((), ("CTD", "MEDIC"))
    assert linker.filter_of("CHEMICAL") == Filter(("Chemical",), ("CTD", "MEDIC"))


def test_the_reason_names_the_filters(linker):
    linker.settings.types, linker.settings.sources = ["Drug"], ["CTD"]
    (link,) = link_one(linker, "7777")
    assert link.reason == "no name is similar among types Drug and sources CTD"


def test_the_threshold_is_exclusive(linker):
    linker.settings.threshold = 0.0
    (link,) = link_one(linker, "morphines")
    assert (link.concept_id, link.reason) == ("D009020", None)
    assert 0.5 < link.score < 1
    linker.settings.threshold = link.score
    (unlinked,) = link_one(linker, "morphines")
    assert (unlinked.concept_id, unlinked.score, unlinked.name) == (None, link.score, "Morphine")
    assert unlinked.reason == f"best score {link.score:.2f} is not above the threshold {link.score:.2f}"


@pytest.mark.parametrize(
    ("score", "threshold", "shown"),
    [
        (0.43, 0.85, "best score 0.43 is not above the threshold 0.85"),
        (0.84968, 0.85, "best score 0.8497 is not above the threshold 0.85"),
        (0.84999, 0.85, "best score 0.84999 is not above the threshold 0.85"),
        (0.8, 0.8049, "best score 0.80 is not above the threshold 0.805"),
        (0.5, 0.5, "best score 0.50 is not above the threshold 0.50"),
        (-0.1, 0.0, "best score -0.10 is not above the threshold 0.00"),
    ],
)
def test_the_numbers_of_a_reason_show_their_difference(linker, score, threshold, shown):
    linker.settings.threshold = threshold
    (link,) = linker.links((LinkedPart("x", None, candidates(A=score)),))
    assert link.reason == shown


@pytest.mark.parametrize(
    ("score", "other", "probabilities", "linked"),
    [
        (1.0, "HP:1", (0.3, 0.7), "D000001"),  # a name in two vocabularies
        (1.0, "HP:1", (0.3, 0.4), None),
        (0.9, "HP:1", (0.3, 0.7), None),  # similar names only
        (1.0, "D000002", (0.3, 0.7), None),  # one vocabulary has it twice
    ],
)
def test_a_tie_between_vocabularies_is_linked_if_one_is_probable(linker, score, other, probabilities, linked):
    pairs = zip(("D000001", other), probabilities, strict=True)
    tie = tuple(graded(concept_id, score, "x", probability=one) for concept_id, one in pairs)
    (link,) = linker.links((LinkedPart("x", None, tie),))
    assert (link.concept_id, link.probability) == (linked, probabilities[0])


def test_other_candidates_of_a_link(linker):
    linker.settings.threshold = 0.5
    one, other, third = candidates(A=0.9, B=0.4, C=0.3)
    b, c = (Alternative(concept_id, score, "") for concept_id, score in (("B", 0.4), ("C", 0.3)))
    assert [
        (link.runner_up, link.rejected)
        for parts in ((one, other, third), (one,), (other, third), (other,), ())
        for link in linker.links((LinkedPart("x", None, parts),))
    ] == [(b, None), (None, None), (c, b), (None, b), (None, None)]


def test_the_runner_up_has_a_probability_if_the_linker_is_calibrated(linker, monkeypatch):
    fitted = linker.parameters._replace(
        probabilities=((0.0, 0.0), (1.0, 0.5)), sparse_share=linker.generator.sparse_share, threshold=0.5
    )
    monkeypatch.setattr(linker, "stored_parameters", fitted)
    (link,) = linker.links((LinkedPart("x", None, candidates(A=0.9, B=0.4)),))
    assert link.probability == pytest.approx(0.45)
    assert link.runner_up.probability == pytest.approx(0.2)


def test_concepts_without_a_definition(linker):
    linker.settings.filter_for_definitions, linker.settings.no_definition_threshold = True, 1.0
    linker.settings.threshold = 0.9
    links = [link_one(linker, text)[0] for text in ("neoplasm", "morphines", "aspirin")]
    assert [link.concept_id for link in links] == ["D009369", None, "D001241"]
    assert links[1].reason == "no candidate above the threshold has a definition"
    unlikely = [Candidate("D009369", 0.1, "Neoplasms"), Candidate("D009020", 0.95, "Morphine")]
    assert linker.linkable(unlikely) == unlikely[:1]  # whatever the threshold is


def test_the_variants_of_a_mention(linker):
    (long,) = link_one(linker, "MV", long_form="mucoviscidosis")
    assert (long.concept_id, long.text, long.long_form) == ("D003550", "mucoviscidosis", "mucoviscidosis")
    splits = [("breast cancer", "ovarian cancer")]
    parts = link_one(linker, "breast and ovarian cancer", composite_splits=splits)
    assert [(link.text, link.concept_id, link.split) for link in parts] == [
        ("breast cancer", "D001943", True),
        ("ovarian cancer", "D010051", True),
    ]
    (corrected,) = link_one(linker, "morfine", corrections={"morfine": "morphine"})
    assert (corrected.text, corrected.concept_id) == ("morphine", "D009020")
    (named,) = link_one(linker, "the lithium", name="lithium ion")
    assert (named.text, named.name, named.score) == ("the lithium", "lithium ion", 1.0)


def test_margins_can_be_changed_at_any_time(linker):
    splits = [("breast cancer", "ovarian cancer")]
    linker.settings.selection.split_margin = 1.0
    assert len(link_one(linker, "breast and ovarian cancer", composite_splits=splits)) == 1
    linker.settings.selection.spelling_margin = 2.0
    assert link_one(linker, "morfine", corrections={"morfine": "morphine"})[0].text == "morfine"
    for margin, text in ((0.1, "morphine salt"), (1.0, "7777")):
        linker.settings.selection.short_form_margin = margin
        assert link_one(linker, "morphine salt", long_form="7777")[0].text == text


def test_a_document_decides_between_equal_concepts(linker):
    (((first, *_), *_),) = linker.link([[query("Seizures")]])
    assert first.candidates[0].concept_id == "D012640"
    assert first.tie == "same score as HP:0001250; chosen because this is its preferred name"
    linker.settings.label_types = {"SIGN": ["Phenotype"]}
    assert link_one(linker, "Seizures", "SIGN")[0].concept_id == "HP:0001250"


def test_candidates_in_the_form_of_scispacy(linker):
    linker.settings.threshold, linker.settings.max_entities_per_mention = 0.5, 2
    one = LinkedPart("a", None, tuple(Candidate(id, score, "") for id, score in (("A", 0.9), ("B", 0.8), ("C", 0.7))))
    other = LinkedPart(
        "b", None, tuple(Candidate(id, score, "") for id, score in (("D", 0.95), ("A", 0.6), ("E", 0.55)))
    )
    assert linker.kb_ents((one, other)) == [("D", 0.95), ("A", 0.9), ("B", 0.8)]
    linker.settings.threshold = 0.85
    assert linker.kb_ents((one, other)) == [("D", 0.95), ("A", 0.9)]


def test_k_limits_the_candidates(linker):
    for linker.settings.k in (1, 3):
        ((((part,),),)) = linker.link([[query("ovarian cancer")]])
        assert len(part.candidates) == linker.settings.k


# --- settings, else parameters


def test_defaults(linker):
    assert linker.settings == LinkerSettings()
    assert (linker.sparse_weight, linker.prior_weight, linker.threshold) == (SPARSE_WEIGHT, 0.0, PROBABLE)
    assert linker.prior is None


def test_settings_take_precedence_over_parameters(small_kb):
    generator = open_generator(small_kb, None, sparse=True)
    linker = Linker(generator, parameters=LinkerParameters(0.7, 0.3, annotated={"D003139": 3}, prior_weight=0.2))
    assert (linker.sparse_weight, linker.prior_weight, linker.threshold) == (0.7, 0.2, 0.3)
    linker.settings.threshold = 0.0
    linker.settings.candidates = CandidateSettings(sparse_weight=0.0, prior_weight=0.0)
    assert (linker.sparse_weight, linker.prior_weight, linker.threshold) == (0.0, 0.0, 0.0)
    assert linker.prior is None


def test_the_generator_has_the_present_weight(dense_linker):
    for weight in (0.0, 0.5, 2.0):
        dense_linker.settings.candidates.sparse_weight = weight
        assert dense_linker.generator.sparse_weight == weight
        (((part,),),) = dense_linker.link([[query("ovarian")]])
        for candidate in part.candidates:
            expected = (candidate.dense + weight * candidate.sparse) / (1 + weight)
            assert candidate.score == pytest.approx(expected, abs=1e-4)


def test_a_calibration_holds_for_the_scores_it_was_fitted_to(dense_linker):
    share = 0.4 / 1.4
    dense_linker.stored_parameters = calibrated = LinkerParameters(0.4, 0.3, POINTS, share)
    assert dense_linker.parameters == calibrated
    (link,) = link_one(dense_linker, "morphines")
    assert link.probability == pytest.approx(link.score - 0.1)
    dense_linker.settings.candidates.sparse_weight = 0.5
    assert (dense_linker.parameters, dense_linker.threshold) == (LinkerParameters(0.4), THRESHOLD)
    assert link_one(dense_linker, "morphines")[0].probability is None
    dense_linker.settings.candidates.sparse_weight = None
    dense_linker.settings.candidates.prior_weight = 0.1
    assert dense_linker.parameters == LinkerParameters(0.4)
    assert dense_linker.stored_parameters == calibrated


def test_the_prior_counts_as_it_is_set(linker):
    assert link_one(linker, "cold")[0].concept_id == "D003080"
    linker.stored_parameters = LinkerParameters(annotated={"D003139": 5}, prior_weight=0.3)
    assert link_one(linker, "cold")[0].concept_id == "D003139"
    assert linker.prior is linker.prior  # what it knows of concepts is kept
    linker.settings.candidates.prior_weight = 0.0
    assert link_one(linker, "cold")[0].concept_id == "D003080"


def test_weighing_for_a_while(linker):
    stored = linker.stored_parameters
    with linker.weighing({"D003139": 5}, 0.3):
        assert link_one(linker, "cold")[0].concept_id == "D003139"
    assert link_one(linker, "cold")[0].concept_id == "D003080"
    with pytest.raises(ZeroDivisionError), linker.weighing({"D003139": 5}, 0.3):
        _ = 1 / 0
    assert linker.stored_parameters is stored
    assert linker.settings == LinkerSettings()


ALONE = """
import sys

for name in "spacy thinc srsly confection catalogue typer rich transformers".split():
    sys.modules[name] = None  # what is not there cannot be imported

from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants

linker = Linker(open_generator(load_knowledge_base(sys.argv[1]), None, sparse=True))
((parts,),) = linker.link([[MentionQuery(MentionVariants("acetylsalicylic acid"))]])
print(*(link.concept_id for link in linker.links(parts)))
"""


def test_it_needs_no_spacy(small_kb):
    command = [sys.executable, "-c", ALONE, str(small_kb.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "D001241\n"), done.stderr


# --- candidates as scispaCy gives them


@pytest.fixture(scope="module")
def sparse_generator(small_kb) -> CandidateGenerator:
    return open_generator(small_kb, None, sparse=True)


def test_candidates_are_those_of_the_sparse_generator(sparse_generator, small_kb):
    find = MentionCandidates(Linker(sparse_generator))
    assert find.kb is small_kb
    texts = ["aspirin", "cold", "aspirin", "zzz"]
    found = [
        [(concept.concept_id, *concept.aliases, *concept.similarities) for concept in row] for row in find(texts, 3)
    ]
    assert found == [
        [(concept.concept_id, concept.name, concept.score) for concept in row] for row in sparse_generator(texts, 3)
    ]
    assert find(["aspirin"], k=1)[0][0] == ("D001241", ["Aspirin"], [1.0])
    assert find([], 3) == []


def test_types_and_sources_of_the_linker_filter(sparse_generator):
    linker = Linker(sparse_generator, LinkerSettings(types=["Phenomenon"]))
    (candidates,) = MentionCandidates(linker)(["cold"], 5)
    (expected,) = sparse_generator(["cold"], 5, Filter(("Phenomenon",), ()))
    assert [candidate.concept_id for candidate in candidates] == [candidate.concept_id for candidate in expected]
    assert {candidate.concept_id for candidate in candidates} == {"D003080"}


def test_the_fields_are_scispacys():
    theirs = pytest.importorskip("scispacy.candidate_generation").MentionCandidate
    assert MentionCandidate._fields == theirs._fields
