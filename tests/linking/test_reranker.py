"""Reranker: what it chooses, says and saves."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from spacy_sapbert.errors import DamagedError
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.rerank_features import FEATURES, N_FEATURES, CandidateFeatures, DocumentEvidence, WordRarity
from spacy_sapbert.linking.reranker import Reranker, choose, explain
from spacy_sapbert.linking.settings import RERANKER_FILE, THRESHOLD
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants
from spacy_sapbert.types import Candidate, LinkedPart

NAMES = [name for names in FEATURES.values() for name in names]


def prefers(feature, above, margin=0.5):
    """A reranker that rates candidates by one feature: 1 if it is above a value, else 0."""
    trees = Trees(np.array([[NAMES.index(feature)]], np.int32), np.array([[float(above)]]), np.array([[0.5, 0.0, 1.0]]))
    return Reranker(trees, margin, WordRarity({"of": 0.5, "cancer": 2.0}, 3.0))


CANCER, BREAST = Candidate("D009369", 0.9, "cancer"), Candidate("D001943", 0.8, "breast cancer")
PART = LinkedPart("cancer", None, (CANCER, BREAST), "a tie")


@pytest.fixture
def features(small_kb):
    return CandidateFeatures(small_kb, WordRarity({}, 1.0))


def test_a_margin_protects_the_first_candidate():
    ratings = np.array([0.0, 1.0, 0.5, 0.0, 0.0, 2.0])
    assert choose(ratings, [2, 0, 2, 2], 0.5) == [1, 0, 0, 1]
    assert choose(ratings, [2, 0, 2, 2], 1.0) == [0, 0, 0, 1]


def test_the_chosen_candidate_comes_first_with_its_own_score(features):
    text = "A cancer of the breast."
    (part,) = prefers("words_elsewhere", 0.5).rerank([PART], text, features)
    assert part.candidates == (BREAST, CANCER)
    assert part.tie is None
    overruled, document = part.reasons
    assert overruled == "instead of D009369 (cancer), which is more similar (0.900)"
    assert document == "document 100%: the document has “breast”"


def test_other_mentions_speak_for_a_concept(features):
    other = LinkedPart("carcinoma of the breast", None, (BREAST,))
    part, _ = prefers("elsewhere", 0).rerank([PART, other], "", features)
    assert part.reasons[1] == "document 100%: “carcinoma of the breast” is linked to it"


@pytest.mark.parametrize(
    ("feature", "above", "reason"),
    [
        ("support", 1.5, "similarity 100%: more of its names are similar"),
        ("share_of_text", 0.5, "words 100%: more words of the mention are in its name, the last word is the same"),
        ("names", 1.5, "vocabulary 100%: it has more names"),
        ("prior", 0.1, "annotations 100%: annotators mean it more often"),
    ],
)
def test_each_group_is_said_in_words(features, feature, above, reason):
    worse, better = Candidate("D003139", 0.9, "cold"), Candidate("D001943", 0.8, "breast cancer", None, None, 0.5, 2.0)
    (part,) = prefers(feature, above).rerank([LinkedPart("cancer", None, (worse, better))], "", features)
    assert part.reasons[1] == reason


def test_nothing_changes_without_a_reason(features):
    assert prefers("words_elsewhere", 0.5).rerank([PART, PART], "A cancer.", features) == [PART, PART]
    assert Reranker.undecided().rerank([PART], "A cancer of the breast.", features) == [PART]
    assert prefers("elsewhere", 0).rerank([], "", features) == []


# --- in a linker


@pytest.fixture(autouse=True)
def no_gap(monkeypatch):
    """Compare candidates of any score: the names of the small vocabulary differ much."""
    monkeypatch.setattr("spacy_sapbert.linking.rerank_features.GAP", 1.0)


@pytest.fixture
def linker(small_kb):
    return Linker(open_generator(small_kb, None, sparse=True))


def link(linker, text="a cancer", document="A cancer of the breast."):
    ((parts,),) = linker.link([[MentionQuery(MentionVariants(text))]], [document])
    return parts


def test_a_linker_reranks_if_its_settings_say_so(linker):
    linker.settings.threshold = 0.1
    with linker.reranking(prefers("words_elsewhere", 0.5)):
        parts = link(linker)
        (chosen,) = linker.links(parts)
        assert (chosen.concept_id, chosen.name) == ("D001943", "breast cancer")
        assert chosen.score < 1
        assert chosen.reasons
        assert chosen.runner_up.concept_id == "D009369"
        assert [concept_id for concept_id, _ in linker.kb_ents(parts)][:2] == ["D001943", "D009369"]
        (named,) = linker.links(link(linker, "cancer"))
        assert (named.concept_id, named.reasons) == ("D009369", ())  # a name of the text is never overruled
        linker.settings.selection.rerank = False
        assert linker.links(link(linker))[0].concept_id == "D009369"
    linker.settings.selection.rerank = True
    assert linker.links(link(linker))[0].concept_id == "D009369"


def test_a_chosen_candidate_below_the_threshold_is_not_linked(linker):
    linker.settings.threshold = 0.99
    with linker.reranking(prefers("words_elsewhere", 0.5)):
        parts = link(linker)
        (rejected,) = linker.links(parts)
        assert linker.kb_ents(parts) == []
    assert (rejected.concept_id, rejected.tie) == (None, None)
    assert rejected.reasons[0].startswith("instead of D009369")  # why it was chosen before it was rejected
    assert rejected.rejected.concept_id == "D001943"
    assert rejected.reason.startswith("the score of the chosen candidate 0.")
    assert linker.links(link(linker))[0].rejected.concept_id == "D009369"


def test_what_was_overruled_comes_after_what_was_chosen(linker):
    linker.settings.threshold = 0.1
    whole = LinkedPart("cold", None, (Candidate("D003139", 0.95, "cold"),))
    chosen = PART._replace(candidates=(BREAST, CANCER), reasons=("instead",))
    ids = [concept_id for concept_id, _ in linker.kb_ents((chosen, whole))]
    assert ids == ["D003139", "D001943", "D009369"]


def test_a_calibration_holds_with_the_reranker_only(linker):
    fitted = {"threshold": 0.3, "probabilities": ((0.0, 0.0), (1.0, 1.0)), "sparse_share": 1.0, "reranked": True}
    linker.stored_parameters = linker.stored_parameters._replace(**fitted)
    linker.reranker = prefers("names", 2.0)
    assert linker.threshold == 0.3
    linker.settings.selection.rerank = False
    assert linker.threshold == THRESHOLD
    assert linker.parameters.probabilities is None


def test_each_document_needs_its_text(linker):
    with linker.reranking(Reranker.undecided()), pytest.raises(ValueError, match="shorter"):
        linker.link([[], []], ["one"])


# --- saving


def test_a_saved_reranker_is_the_same(tmp_path):
    reranker = prefers("names", 2.0)._replace(after_ranking=True)
    reranker.save(tmp_path)
    loaded = Reranker.load(tmp_path)
    assert loaded[1:] == reranker[1:]
    for array, saved in zip(loaded.trees, reranker.trees, strict=True):
        np.testing.assert_array_equal(array, saved)


def test_a_reranker_of_version_1_0_chooses_by_scores_alone(tmp_path):
    prefers("names", 2.0)._replace(after_ranking=True).save(tmp_path)
    arrays = load_file(tmp_path / RERANKER_FILE)
    del arrays["after_ranking"]
    save_file(arrays, tmp_path / RERANKER_FILE)
    assert not Reranker.load(tmp_path).after_ranking


def test_a_damaged_file_is_refused(tmp_path):
    reranker = prefers("names", 2.0)
    reranker.save(tmp_path)
    (tmp_path / RERANKER_FILE).write_bytes((tmp_path / RERANKER_FILE).read_bytes()[:-20])
    with pytest.raises(DamagedError, match=RERANKER_FILE):
        Reranker.load(tmp_path)


def test_a_reranker_with_other_features_is_refused(tmp_path):
    reranker = prefers("names", 2.0)
    trees = reranker.trees._replace(features=np.full_like(reranker.trees.features, N_FEATURES))
    reranker._replace(trees=trees).save(tmp_path)
    with pytest.raises(DamagedError, match="other features"):
        Reranker.load(tmp_path)


# --- reasons

INSTEAD = "instead of D009369 (cancer), which is more similar (0.900)"


def reasons(**added):
    values = np.zeros(N_FEATURES)
    for name, value in added.items():
        values[NAMES.index(name)] = value
    part = LinkedPart("cancer", None, (CANCER, BREAST))
    return explain(part, BREAST, values, np.zeros((2, N_FEATURES)), DocumentEvidence({}, {}))


@pytest.mark.parametrize(("dense", "shown"), [(1.0, True), (0.9, False)])
def test_a_group_with_less_than_a_tenth_is_left_out(dense, shown):
    first, *groups = reasons(names=9.0, dense=dense)
    assert first == INSTEAD
    assert groups[0].startswith(f"vocabulary {9 / (9 + dense):.0%}: ")
    assert [group.partition(" ")[0] for group in groups] == ["vocabulary"] + ["similarity"] * shown


def test_the_strongest_group_comes_first():
    assert [text.partition(" ")[0] for text in reasons(names=2.0, dense=3.0)[1:]] == ["similarity", "vocabulary"]


def test_what_speaks_against_the_candidate_has_no_share():
    assert reasons(names=2.0, dense=-3.0)[1:] == ("vocabulary 100%: several small differences",)
    assert reasons(dense=-3.0) == (INSTEAD,)
