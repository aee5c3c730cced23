import numpy as np
import pytest

from spacy_sapbert import starter
from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.linking.concept_facts import Fact
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.ranker import FEATURES, NAMED, PROBABLE, Ranker, compare, ranker_for, shares
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants
from spacy_sapbert.types import LinkedPart

from ..graded import graded

SHARE = 0.2 / 1.2


def stump(feature, threshold, below, above):
    """RETURNS (Trees): one tree with one decision."""
    return Trees(np.array([[FEATURES.index(feature)]]), np.array([[threshold]]), np.array([[0.0, below, above]]))


# three times as likely as a missing concept is a name that adds no word
RANKER = Ranker(stump("added", 0.5, np.log(3), -np.log(3)), 1, 0.4, SHARE)


class Facts:
    has_annotations = True

    def __init__(self, **annotated):
        self._annotated = annotated

    def __call__(self, concept_ids):
        return dict.fromkeys(concept_ids, Fact("", 0.0, False, 0.0, 0.0))

    def annotated(self, pairs):
        return [self._annotated.get(id, 0.0) for id, _ in pairs]


def judge(parts, ranker=RANKER, **annotated):
    """RETURNS (list[LinkedPart]): the parts, each of a document of its own, ranked without a vocabulary."""
    return [part for ((part,),) in ranker([[(part,)] for part in parts], Facts(**annotated))]


def part(*candidates, text="hay fever"):
    return LinkedPart(text, None, tuple(candidates), "a tie")


def test_the_candidate_with_the_better_difference_comes_first():
    first, second, third = (graded("A", 0.9, "Severe hay fever"), graded("B", 0.8, "Fever"), graded("C", 0.1, "x"))
    (judged,) = judge([part(first, second, third)])
    assert [candidate.concept_id for candidate in judged.candidates] == ["B", "A", "C"]
    assert [candidate.probability for candidate in judged.candidates] == [0.6923, 0.0769, None]
    assert judged.reasons == (
        "instead of A (Severe hay fever), which is more similar (0.900)",
        "its name lacks “hay”, the other one adds “Severe”",
    )
    assert judged.tie is None


@pytest.mark.parametrize(
    ("text", "name", "general", "behind", "nouns"),
    [
        ("asthma", "Asthma", 0, 0, 0),
        ("newly diagnosed asthma", "Asthma", 2, 0, 0),
        ("risk of stroke", "Stroke", 1, 0, 0),
        ("MYC transcript levels", "MYC", 2, 0, 0),
        ("lithium battery", "Lithium", 0, 1, 1),
        ("lithium battery levels", "Lithium", 1, 1, 1),
        ("muscle car weakness", "Muscle weakness", 0, 0, 1),
        ("asthma, severe", "Asthma", 1, 0, 0),
        ("battery levels", "Asthma", 0, 0, 0),  # no word is shared
    ],
)
def test_words_that_a_name_lacks_are_general_or_behind_it_or_nouns(text, name, general, behind, nouns):
    (values,) = compare(text, [name])
    features = dict(zip(FEATURES[FEATURES.index("same") :], values, strict=False))
    wanted = {"lacking_general": general, "lacking_behind": behind, "lacking_nouns": nouns}
    assert {feature: features[feature] for feature in wanted} == wanted


def test_earlier_judgments_are_not_computed_again():
    earlier = {}
    mentions = [(part(graded("A", 0.9, "Severe hay fever")),), (part(text="cold"),)]
    first = RANKER([mentions], Facts(), earlier=earlier)
    assert RANKER._replace(trees=None)([mentions], None, earlier=earlier) == first


def test_equal_mentions_share_the_result():
    mention, other = (part(graded("A", 0.9, "Severe hay fever")),), (part(text="cold"),)
    (first, _, second), (third,) = RANKER([[mention, other, mention], [mention]], Facts())
    assert first is second is third


def test_another_mention_of_the_document_is_evidence():
    by_document = Ranker(stump("elsewhere_lead", 0.5, -1.0, 1.0), 1, 0.5, SHARE)
    first, second = graded("A", 0.9, "Hay fever A"), graded("B", 0.9, "Hay fever B")
    tie, other = (part(first, second),), (part(second, text="pollinosis"),)
    ((alone,),), ((judged,), _) = by_document([[tie], [tie, other]], Facts())
    assert [candidate.concept_id for candidate in alone.candidates + judged.candidates] == ["A", "B", "B", "A"]
    assert judged.reasons[0] == "instead of A (Hay fever A), which is as similar (0.900)"
    assert judged.reasons[-1] == "another mention of the document is most similar to it"


def test_a_tie_goes_to_none_that_annotators_mean_less_often():
    before = part(graded("A", 0.995, "hay fever, severe"), graded("B", 0.995, "hay fever"))
    assert judge([before])[0].candidates[0].concept_id == "B"
    assert judge([before], A=1.0)[0].candidates[0].concept_id == "A"


def test_trees_that_do_not_choose_count_for_the_probability():
    ranker = RANKER._replace(trees=RANKER.trees.joined(stump("lacking", 0.5, 2.0, -2.0)))
    before = part(graded("A", 0.9, "Severe hay fever"), graded("B", 0.8, "Fever"))
    (by_first,), (by_all,) = judge([before], ranker), judge([before], ranker._replace(choosing=2))
    assert [judged.candidates[0].concept_id for judged in (by_first, by_all)] == ["B", "A"]
    own, other = 3 * np.exp(-2), np.exp(2) / 3
    assert by_first.candidates[0].probability == pytest.approx(own / (1 + own + other), abs=1e-4)


def test_what_the_candidates_leave_is_the_probability_of_a_missing_concept():
    ratings = np.log([3.0, 1.0, 1.0])
    assert shares(ratings, [2, 0, 1]).tolist() == pytest.approx([0.6, 0.2, 0.5])


@pytest.mark.parametrize(
    ("score", "ranker"), [(0.99, RANKER), (0.9, RANKER._replace(margin=3.0))], ids=["the text is a name", "margin"]
)
def test_the_first_candidate_stays_first(score, ranker):
    before = part(graded("A", score, "Severe hay fever"), graded("B", 0.8, "Fever"))
    (judged,) = judge([before], ranker)
    assert [candidate.concept_id for candidate in judged.candidates] == ["A", "B"]
    assert (judged.reasons, judged.tie) == ((), "a tie")


@pytest.mark.parametrize(
    ("text", "others", "floor"),
    [
        ("Hay fever", ["hay fevers"], True),
        ("hay fever", ["HAY FEVER", "Fever"], True),  # exactly so written
        ("Hay Fever", ["HAY FEVER"], False),  # names of two concepts
        ("HF1", ["HF-1"], False),  # short
    ],
)
def test_a_name_of_one_concept_alone_is_probable(text, others, floor):
    improbable = Ranker(stump("added", 9.0, -3.0, -3.0), 1, 0.4, SHARE)
    name = "hay fever" if len(text) > 4 else text
    rest = [graded(str(number), 0.995, other) for number, other in enumerate(others)]
    (judged,) = judge([part(graded("A", 1.0, name), *rest, text=text)], improbable)
    assert (judged.candidates[0].probability == NAMED) == floor


def test_refused_candidates_are_improbable_and_stay():
    refused = graded("A", 0.9, "Fever 3", refusal="3 is not 2")
    (alone,), (other,) = judge([part(refused)]), judge([part(refused, graded("B", 0.7, "Fever"))])
    assert alone.candidates == (refused._replace(probability=0.0),)
    assert [candidate.probability for candidate in other.candidates] == [0.0, 0.75]
    behind = judge([part(*(graded(id, 0.9, "Fever") for id in "BCD"), refused)])[0]
    assert [candidate.probability for candidate in behind.candidates] == [0.3, 0.3, 0.3, 0.0]
    assert judge([part()]) == [part()]
    assert judge([]) == []


def test_a_saved_ranker_is_the_same(tmp_path):
    RANKER._replace(encoder="abc").save(tmp_path / "ranker")
    loaded = Ranker.load(tmp_path / "ranker")
    assert loaded[1:] == RANKER._replace(encoder="abc")[1:]
    assert judge([part(graded("A", 0.9, "Severe hay fever"))]) == judge(
        [part(graded("A", 0.9, "Severe hay fever"))], loaded
    )
    (tmp_path / "ranker").write_bytes(b"damaged")
    with pytest.raises(SapbertError):
        Ranker.load(tmp_path / "ranker")
    others = RANKER.trees._replace(features=np.array([[len(FEATURES)]]))
    RANKER._replace(trees=others).save(tmp_path / "ranker")
    with pytest.raises(SapbertError, match="other features"):
        Ranker.load(tmp_path / "ranker")


def test_the_rankers_in_the_package_fit_its_encoder_and_ngrams(small_kb, tiny_encoder):
    assert sum(path.stat().st_size for path in (*starter.RANKERS, starter.POPULARITY)) <= 400_000
    rankers = [Ranker.load(path) for path in starter.RANKERS]
    assert [(ranker.sparse_share, ranker.encoder) for ranker in rankers] == [
        (SHARE, open_encoder("starter").fingerprint),
        (1.0, ""),
    ]
    ngrams = open_generator(small_kb, None, sparse=True)
    assert ranker_for(ngrams).sparse_share == 1.0
    own = RANKER._replace(sparse_share=1.0)
    assert ranker_for(ngrams, own) is own
    assert ranker_for(ngrams, RANKER).sparse_share == 1.0  # a trained one of other scores
    assert ranker_for(open_generator(small_kb, None, sparse=True, text_normalizer="lower")) is None
    assert ranker_for(open_generator(small_kb, open_encoder(str(tiny_encoder)), sparse=True)) is None


@pytest.fixture
def linker(small_kb, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.linking.linker.ranker_for", lambda generator, trained: trained or RANKER)
    return Linker(open_generator(small_kb, None, sparse=True))


def link(linker, text):
    ((parts,),) = linker.link([[MentionQuery(MentionVariants(text))]])
    return linker.links(parts)[0]


def test_the_probability_decides_without_a_threshold(linker):
    assert linker.threshold == PROBABLE
    assert (link(linker, "severe mucoviscidosis").concept_id, link(linker, "severe mucoviscidosis").probability) == (
        "D003550",
        0.75,
    )
    linker.settings.threshold = 0.99
    found = link(linker, "severe mucoviscidosis")
    assert (found.concept_id, found.probability) == (None, 0.75)
    assert found.reason.endswith("is not above the threshold 0.99")


def test_the_reason_says_the_difference(linker):
    found = link(linker, "breast")
    assert found.concept_id is None
    assert "probability 0.25 is not above the threshold 0.50: “" in found.reason
    assert " adds “" in found.reason


def test_what_the_user_trained_replaces_the_ranker_in_the_package(linker):
    assert linker.ranker is RANKER
    with linker.by_scores():
        assert (linker.ranker, linker.threshold) == (None, 0.85)
    with linker.weighing({"D003139": 3}, 0.1):
        assert linker.ranker is None
    own = RANKER._replace(sparse_share=1.0, margin=0.7)
    with linker.ranking(own):
        assert linker.ranker is own
    fitted = {"threshold": 0.3, "probabilities": ((0.0, 0.0), (1.0, 0.5)), "sparse_share": 1.0}
    linker.stored_parameters = linker.stored_parameters._replace(**fitted)  # of scores alone
    assert (linker.ranker, linker.threshold) == (None, 0.3)
    linker.stored_parameters = linker.stored_parameters._replace(reranked=True, probabilities=None)
    assert (linker.ranker, linker.threshold) == (RANKER, 0.3)


def test_a_link_says_how_likely_the_concept_is_missing(linker):
    candidates = graded("A", 0.9, "a", probability=0.6), graded("B", 0.8, "b", probability=0.2), graded("C", 0.1, "c")
    assert linker.links((LinkedPart("a b", None, candidates),))[0].missing == 0.2
    assert linker.links((LinkedPart("a b", None, candidates[2:]),))[0].missing is None
    found = link(linker, "severe mucoviscidosis")
    assert 0 < found.missing <= 1 - found.probability
    with linker.by_scores():
        assert link(linker, "severe mucoviscidosis").missing is None
