import numpy as np
import pytest

from spacy_sapbert import starter
from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.linking.concept_facts import Fact
from spacy_sapbert.linking.difference import FEATURES, NAMED, PROBABLE, DifferenceModel, model_of
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.rerank_features import COLUMNS, WordRarity
from spacy_sapbert.linking.reranker import Reranker
from spacy_sapbert.linking.settings import LinkerParameters
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants
from spacy_sapbert.types import LinkedPart

from ..graded import graded

SHARE = 0.2 / 1.2


def stump(feature, threshold, below, above):
    """RETURNS (Trees): one tree with one decision."""
    return Trees(np.array([[FEATURES.index(feature)]]), np.array([[threshold]]), np.array([[0.0, below, above]]))


# gives names that add words a probability of 0.25, and others one of 0.75
MODEL = DifferenceModel(stump("added", 0.5, np.log(3), -np.log(3)), 0.4, SHARE)


def judge(parts, model=MODEL):
    """RETURNS (list[LinkedPart]): the parts, judged without a vocabulary."""
    return model(parts, lambda concept_ids: dict.fromkeys(concept_ids, Fact("", 0.0, False, 0.0, 0.0)))


def part(*candidates, text="hay fever"):
    return LinkedPart(text, None, tuple(candidates), "a tie")


def test_the_candidate_with_the_better_difference_comes_first():
    first, second, third = (
        graded("A", 0.9, "Severe hay fever"),
        graded("B", 0.8, "Fever"),
        graded("C", 0.1, "x"),
    )
    (judged,) = judge([part(first, second, third)])
    assert [candidate.concept_id for candidate in judged.candidates] == ["B", "A", "C"]
    assert [candidate.probability for candidate in judged.candidates] == [0.75, 0.25, None]
    assert judged.reasons == (
        "instead of A (Severe hay fever), which is more similar (0.900)",
        "its name lacks “hay”, the other one adds “Severe”",
    )
    assert judged.tie is None


def test_earlier_judgments_are_not_computed_again():
    earlier = {}
    parts = [part(graded("A", 0.9, "Severe hay fever")), part(text="cold")]
    facts = dict.fromkeys("A", Fact("", 0.0, False, 0.0, 0.0))
    first = MODEL(parts, lambda ids: facts, earlier=earlier)
    assert first == judge(parts)
    assert MODEL._replace(trees=None)(parts, None, earlier=earlier) == first


@pytest.mark.parametrize(
    ("score", "model"),
    [(0.99, MODEL), (0.9, MODEL._replace(margin=3.0)), (0.8, MODEL)],
    ids=["the text is a name", "margin", "a tie"],
)
def test_the_first_candidate_stays_first(score, model):
    before = part(graded("A", score, "Severe hay fever"), graded("B", 0.8, "Fever"))
    (judged,) = judge([before], model)
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
    improbable = DifferenceModel(stump("added", 9.0, -3.0, -3.0), 0.4, SHARE)
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
    assert [candidate.probability for candidate in behind.candidates] == [0.75, 0.75, 0.75, 0.0]
    assert judge([part()]) == [part()]
    assert judge([]) == []


def test_a_saved_model_is_the_same(tmp_path):
    MODEL._replace(encoder="abc").save(tmp_path / "model")
    loaded = DifferenceModel.load(tmp_path / "model")
    assert loaded[1:] == MODEL._replace(encoder="abc")[1:]
    assert judge([part(graded("A", 0.9, "Severe hay fever"))]) == judge(
        [part(graded("A", 0.9, "Severe hay fever"))], loaded
    )
    (tmp_path / "model").write_bytes(b"damaged")
    with pytest.raises(SapbertError):
        DifferenceModel.load(tmp_path / "model")


def test_the_models_in_the_package_fit_its_encoder_and_ngrams(small_kb, tiny_encoder):
    assert sum(path.stat().st_size for path in (*starter.DIFFERENCE_MODELS, starter.POPULARITY)) <= 300_000
    models = [DifferenceModel.load(path) for path in starter.DIFFERENCE_MODELS]
    assert [(model.sparse_share, model.encoder) for model in models] == [
        (SHARE, open_encoder("starter").fingerprint),
        (1.0, ""),
    ]
    assert model_of(open_generator(small_kb, None, sparse=True)).sparse_share == 1.0
    assert model_of(open_generator(small_kb, None, sparse=True, text_normalizer="lower")) is None
    assert model_of(open_generator(small_kb, open_encoder(str(tiny_encoder)), sparse=True)) is None


# --- the linker


@pytest.fixture
def linker(small_kb, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.linking.linker.model_of", lambda generator: MODEL)
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


def test_what_the_user_trained_replaces_the_model(linker):
    assert linker.difference_model is MODEL
    linker.settings.selection.rerank = False
    assert (linker.difference_model, linker.threshold) == (None, 0.85)
    linker.settings.selection.rerank = True
    with linker.weighing({"D003139": 3}, 0.1):
        assert linker.difference_model is None
    fitted = {"threshold": 0.3, "probabilities": ((0.0, 0.0), (1.0, 0.5)), "sparse_share": 1.0}
    linker.stored_parameters = linker.stored_parameters._replace(**fitted)  # of scores alone
    assert (linker.difference_model, linker.threshold) == (None, 0.3)
    linker.stored_parameters = linker.stored_parameters._replace(reranked=True)
    assert (linker.difference_model, linker.threshold) == (MODEL, 0.3)
    assert link(linker, "severe mucoviscidosis").probability == 0.375


@pytest.mark.parametrize("after_ranking", [True, False])
def test_a_reranker_goes_on_where_the_model_ends_if_it_was_trained_so(linker, after_ranking):
    last = Trees(np.array([[COLUMNS["place"]]]), np.array([[0.5]]), np.array([[0.0, 0.0, 1.0]]))
    query = [[MentionQuery(MentionVariants("a cancer"))]]
    with linker.reranking(Reranker.undecided()):
        ((before,),) = linker.link(query)
    with linker.reranking(Reranker(last, 0.5, WordRarity({}, 1.0), after_ranking)):
        assert linker.difference_model is (MODEL if after_ranking else None)
        ((after,),) = linker.link(query)
        with linker.weighing({"D003139": 3}, 0.1):  # a prior turns off the model
            ((by_prior,),) = linker.link(query)
    if after_ranking:
        assert by_prior[0].candidates[0].concept_id == before[0].candidates[0].concept_id
        assert not by_prior[0].reasons
    assert before[0].candidates[0].probability == 0.75
    assert after[0].candidates[0].concept_id == before[0].candidates[1].concept_id
    assert after[0].candidates[0].probability == (0.75 if after_ranking else None)  # that of the text


def test_a_calibrated_linker_gives_no_probability_to_what_was_not_compared(linker):
    linker.stored_parameters = LinkerParameters(
        probabilities=((0.0, 0.5), (1.0, 0.9)), sparse_share=linker.generator.sparse_share, reranked=True
    )
    compared, other = graded("A", 0.9, "Fever", probability=0.25), graded("B", 0.8, "Fever")
    (linked,) = linker.links((LinkedPart("fever", None, (compared, other)),))
    assert linked.probability == pytest.approx(0.6)
    assert linked.runner_up.probability is None
