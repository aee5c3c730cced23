import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation import calibration
from spacy_sapbert.evaluation.calibration import (
    LEAST_LINKS,
    PRIOR_WEIGHTS,
    SIGMOID_POINTS,
    SPARSE_WEIGHTS,
    Judged,
    _best_weight,
    _try_priors,
    calibrate,
    fit_probabilities,
    fit_threshold,
    judge,
    split_documents,
)
from spacy_sapbert.evaluation.cross_fitting import UnseenDocuments, link_by_others
from spacy_sapbert.evaluation.running import link_gold_mentions
from spacy_sapbert.linking.prior import count_concepts
from spacy_sapbert.linking.ranker import PROBABLE, ranker_for
from spacy_sapbert.linking.settings import LinkerParameters
from spacy_sapbert.pipeline.component_settings import settings_of
from spacy_sapbert.training.ranker_trainer import mention_queries, train_ranking
from spacy_sapbert.training.settings import RerankerTraining
from spacy_sapbert.types import Document, Mention


def judged(scores, right, found=(), lenient=(), strict=()):
    kinds = ((scores, float), (right, bool), (found, float), (lenient, bool), (strict, bool))
    return Judged(*(np.array(values, dtype=kind) for values, kind in kinds))


def document(doc_id, *mentions):
    """A document whose text is its mentions, each given as its text and its ids."""
    text, made = "", []
    for mention, *ids in mentions:
        made.append(Mention(len(text), len(text) + len(mention), mention, "Disease", tuple(ids)))
        text += f"{mention} . "
    return Document(doc_id, text, tuple(made))


# --- what is fitted


def test_isotonic_probabilities():
    # 0.4 and 0.5 are in the wrong order, so they have one probability, 1 of 2
    points = fit_probabilities(judged([0.6, 0.2, 0.5, 0.4, 0.3], [1, 0, 0, 1, 0]), "isotonic")
    assert points == ((0.2, 0), (0.3, 0), (0.4, 0.5), (0.5, 0.5), (0.6, 1))
    fitted = LinkerParameters(probabilities=points, sparse_share=0.0)
    assert [fitted.probability(score) for score in (0, 0.25, 0.35, 0.45, 0.55, 1)] == pytest.approx(
        [0, 0, 0.25, 0.5, 0.75, 1]
    )


def test_platt_with_two_scores():
    # with two scores the curve goes through the means of Platt's targets, where 2/3 and 1/3 stand for one link each,
    # and (3 + 1) / (3 + 2) and 1 / (2 + 2) for 3 right and 2 wrong ones
    points = dict(fit_probabilities(judged([0.2, 0.2, 0.8, 0.8, 0.8], [0, 1, 1, 1, 0]), "platt"))
    high, low = 4 / 5, 1 / 4
    assert points[0.2] == pytest.approx((high + low) / 2, abs=1e-3)
    assert points[0.8] == pytest.approx((2 * high + low) / 3, abs=1e-3)
    assert (min(points), max(points)) == (0, 1)


def test_platt_never_falls():
    # the unbounded curve would fall; the best of those that do not is flat, at the mean of the targets
    points = dict(fit_probabilities(judged([0.2, 0.8], [1, 0]), "platt"))
    assert list(points.values()) == pytest.approx([0.5] * SIGMOID_POINTS)


some_links = st.lists(st.tuples(st.integers(1, 10**5).map(lambda n: n / 10**5), st.booleans()), min_size=2, max_size=60)


@settings(deadline=None)
@given(some_links, st.sampled_from(["isotonic", "platt"]))
def test_probabilities_never_fall_and_can_be_saved(tmp_path_factory, links, method):
    links += [(0.5, True), (0.5, False)]
    scores, right = zip(*links, strict=True)
    fitted = LinkerParameters(0.3, 0.5, fit_probabilities(judged(scores, right), method), 0.25)
    folder = tmp_path_factory.mktemp("fitted")
    fitted.save(folder)
    assert LinkerParameters.load(folder) == fitted
    said = [fitted.probability(score) for score in sorted([0, *scores, 1])]
    assert said == sorted(said)
    assert all(0 <= probability <= 1 for probability in said)


def test_the_threshold_of_a_precision():
    # the highest 60 are right, then one wrong of three: 98 of 117 at 0.41, and so on
    scores = [0.4 + i / 1000 for i in range(120)]
    right = [i >= 60 or i % 3 > 0 for i in range(120)]
    above = fit_threshold(judged(scores, right), 0.9)
    linked = [is_right for score, is_right in zip(scores, right, strict=True) if score > above]
    lower = [is_right for score, is_right in zip(scores, right, strict=True) if score >= above]
    assert above in scores
    assert sum(linked) / len(linked) >= 0.9
    assert sum(lower) / len(lower) < 0.9
    assert fit_threshold(judged(scores, right), 0.5) == 0


def test_few_links_show_no_precision():
    scores = np.linspace(0.1, 1, LEAST_LINKS)
    perfect = [True] * (LEAST_LINKS - 1)
    assert fit_threshold(judged(scores, [False, *perfect]), 0.95) == 0
    # without the wrong one all are right, but so few may be so by chance
    with pytest.raises(SapbertError, match=r"E520.*precision 0\.97.*34 or more.*unknown: there are 20"):
        fit_threshold(judged(scores, [False, *perfect]), 0.97)
    with pytest.raises(SapbertError, match=r"E520.*21 or more.*is 0\.905"):
        fit_threshold(judged([0.05, *scores], [False, False, *perfect]), 0.951)


def test_the_threshold_of_the_best_f1():
    given = judged([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1], found=[0.6, 0.8, -np.inf])
    assert fit_threshold(given, None) == 0.4


def test_which_weight_is_best():
    good, bad = judged([], [], lenient=[1, 1], strict=[1, 0]), judged([], [], lenient=[1, 1], strict=[0, 0])
    assert _best_weight({0.0: bad, 0.1: bad, 0.3: good}, 0.1) == 0.3
    assert _best_weight({0.0: good, 0.1: good, 0.3: good}, 0.1) == 0.1
    assert _best_weight({0.0: bad, 0.1: good, 0.2: bad, 0.3: good}, 0.2) == 0.1
    assert _best_weight({0.0: good, 0.1: good}, None) == 0.0


# --- what is right


@pytest.fixture
def nlp(small_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    return nlp


def test_links_are_judged(nlp):
    mentions = (
        ("mucoviscidosis", "OMIM:219700"),  # an alternative id
        ("breast and ovarian cancer", "D001943", "D010051"),
        ("breast and gastric cancer", "D001943", "D010051"),  # the second part is wrong
        ("aspirin",),  # no gold id
        ("seizures", "X999"),  # one that the vocabulary lacks
        ("8888", "D009369"),  # no candidate
    )
    linker = nlp.get_pipe("sapbert_linker").linker
    found = judge(link_gold_mentions(nlp, [document("1", *mentions)]), linker)
    assert all(score > PROBABLE for score in found.scores)  # the probability of each link
    linker.settings.selection.rerank = False
    found = judge(link_gold_mentions(nlp, [document("1", *mentions)]), linker)
    assert list(found.scores) == [1.0] * 7
    assert list(found.right) == [True, True, True, True, False, False, False]
    assert list(found.found) == [1.0, 1.0, 1.0, 1.0, -np.inf, -np.inf]
    assert list(found.lenient) == [True, True, False, False]
    assert list(found.strict) == [True, True, False, False]


def test_a_concept_that_may_not_be_linked_is_not_a_link(nlp):
    linker = nlp.get_pipe("sapbert_linker")
    linker.filter_for_definitions, linker.no_definition_threshold = True, 1.0
    documents = [document("1", ("breast cancers", "D001943"), ("neoplasm", "D009369"))]
    found = judge(link_gold_mentions(nlp, documents), linker.linker)
    # of the concepts that are like these, one of cancer alone has a definition
    assert list(found.right) == [False, True]


def test_documents_are_drawn():
    documents = [document(str(number % 9), ("x", "D1")) for number in range(12)]
    fitting, held = split_documents(documents, 1 / 3, 7)
    assert len({one.doc_id for one in held}) == 3
    assert not {one.doc_id for one in held} & {one.doc_id for one in fitting}
    assert len(fitting) + len(held) == 12
    assert split_documents(documents, 1 / 3, 7) == (fitting, held)
    assert any(split_documents(documents, 1 / 3, seed) != (fitting, held) for seed in range(5))


# --- all of it

# exact names are right; of the names that are only like one, half are; words without a concept are wrong
MENTIONS = (
    ("breast cancer", "D001943"),
    ("mucoviscidosis", "D003550"),
    ("ovarian cancers", "D010051"),
    ("gastric cancerous", "D015179"),
    ("lithiums",),
    ("epileptic", "D012640"),
)
CORPUS = [document(str(number), *MENTIONS) for number in range(20)]


def test_a_pipeline_is_calibrated(nlp, tmp_path):
    nlp.get_pipe_config("sapbert_linker").update(threshold=0.3, candidates={"sparse_weight": 0.7})
    linker = nlp.get_pipe("sapbert_linker")
    linker.threshold, linker.candidates.sparse_weight = 0.3, 0.7
    passes = []
    result = calibrate(nlp, CORPUS, follow=lambda documents, what: passes.append(what) or documents)
    assert result["documents"] == {"fitted": 14, "held_out": 6}
    # the linker has no dense score
    assert result["sparse_weight"] == {"before": 0.7, "after": 0.7}
    assert [row["sparse_weight"] for row in result["weights"]] == [0.7]
    linked = ["documents linked", "documents linked for the ranker"]
    assert passes == ["documents held out, before", *linked, "documents held out, after", *linked]
    assert result["threshold"]["before"] == 0.3
    assert result["threshold"]["after"] == linker.linker.threshold > 0.3
    assert result["before"]["ece"] > 0.1  # of scores
    assert result["after"]["brier"] < result["before"]["brier"]
    assert result["after"]["links"] == 6 * len(MENTIONS)
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path).get_pipe("sapbert_linker").linker
    assert (again.threshold, again.sparse_weight) == (linker.linker.threshold, 0.7)
    assert again.parameters == linker.linker.parameters


def test_weights_are_tried_where_there_are_two_scores(small_kb, tiny_encoder):
    nlp = spacy.blank("en")
    linker = nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": str(tiny_encoder)})
    linker.candidates.sparse_weight = 0.25
    result = calibrate(nlp, CORPUS)
    tried = {row["sparse_weight"]: row["lenient"] + row["strict"] for row in result["weights"]}
    assert list(tried) == sorted([*SPARSE_WEIGHTS, 0.25])
    assert tried[result["sparse_weight"]["after"]] == max(tried.values())
    weight = linker.linker.sparse_weight
    assert linker.linker.parameters.sparse_share == pytest.approx(weight / (1 + weight))


# "cold" is the preferred name of the temperature, but here annotators mean the disease
HABITS = (("cold", "D003139"), ("lithiums",), ("mucoviscidosis", "D003550"))
HABITUAL = [
    one._replace(mentions=tuple(mention._replace(label="Any") for mention in one.mentions))  # else its type decides
    for one in (document(str(number), *HABITS) for number in range(20))
]


def test_the_prior_is_fitted(nlp, tmp_path):
    linker = nlp.get_pipe("sapbert_linker")
    passes = []
    result = calibrate(nlp, HABITUAL, prior=True, follow=lambda documents, what: passes.append(what) or documents)
    assert passes[1:4] == ["documents linked", "documents linked with μ = 0", "documents linked with μ = 0.01"]
    tried = {row["prior_weight"]: row["lenient"] for row in result["prior_weights"]}
    assert list(tried) == list(PRIOR_WEIGHTS)
    assert tried[0.0] == 50
    assert {lenient for weight, lenient in tried.items() if weight} == {100}
    assert result["prior_weight"] == {"before": 0, "after": PRIOR_WEIGHTS[1]}
    assert (result["before"]["lenient"], result["after"]["lenient"]) == (50, 100)
    assert linker.linker.parameters.annotated == {"D003139": 20, "D003550": 20}  # in all documents
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path).get_pipe("sapbert_linker").linker
    assert again.parameters == linker.linker.parameters
    assert again.prior_weight == linker.linker.prior_weight == PRIOR_WEIGHTS[1]


def test_a_document_says_nothing_of_itself(nlp):
    documents = [document("0", ("cold", "D003139")), document("1", ("cold", "D003080"), ("mucoviscidosis", "D003550"))]
    documents = [one._replace(doc_id=f"{one.doc_id}{number}") for number in range(2) for one in documents]
    first, second, *_ = link_by_others(UnseenDocuments(nlp, documents), documents, 0.3)
    assert priors(first)["D003080"] > 0 == priors(first)["D003139"]
    assert priors(second)["D003139"] > 0 == priors(second)["D003080"]
    assert nlp.get_pipe("sapbert_linker").linker.prior is None


def test_nor_does_another_document_of_the_same_id(nlp):
    documents = [document("0", ("cold", "D003139")), document("0", ("cold", "D003080"))]
    found = link_by_others(UnseenDocuments(nlp, documents), documents, 0.3)
    assert {prior for linked in found for prior in priors(linked).values()} == {None}


def priors(linked):
    return {candidate.concept_id: candidate.prior for part in linked.parts for candidate in part.candidates}


def test_without_it_the_prior_stays(nlp):
    linker = nlp.get_pipe("sapbert_linker")
    linker.linker.stored_parameters = LinkerParameters(annotated={"D010051": 3}, prior_weight=0.07)
    result = calibrate(nlp, CORPUS)
    assert result["prior_weight"] == {"before": 0.07, "after": 0.07}
    assert [row["prior_weight"] for row in result["prior_weights"]] == [0.07]
    assert (linker.linker.parameters.annotated, linker.linker.parameters.prior_weight) == ({"D010051": 3}, 0.07)


# --- a ranker


def test_a_ranker_is_trained_and_saved(numbered, numbered_documents, tmp_path):
    pytest.importorskip("lightgbm")
    result = calibrate(numbered, numbered_documents)
    texts = result["ranker"]["texts"]
    assert result["ranker"] == {"texts": texts, "before": texts // 3, "after": texts, "kept": True}
    assert (result["before"]["lenient"], result["after"]["lenient"]) == (33.33, 100)
    linker = numbered.get_pipe("sapbert_linker").linker
    assert linker.parameters.probabilities is None  # they are those of the ranker
    numbered.to_disk(tmp_path)
    again = spacy.load(tmp_path).get_pipe("sapbert_linker").linker
    assert again.ranker[1:] == linker.ranker[1:]
    assert len(again.ranker.trees.values) > len(ranker_for(again.generator).trees.values)
    queries = [mention_queries(numbered_documents[0])]
    linked = linker.link(queries)
    assert again.link(queries) == linked
    assert linked[0][0][0].reasons


def test_calibration_chooses_as_training_does(numbered, numbered_documents, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(calibration, "PRIOR_WEIGHTS", (0.0, 0.1))
    linker = numbered.get_pipe("sapbert_linker").linker
    linker.stored_parameters = linker.stored_parameters._replace(annotated=count_concepts(numbered_documents))
    trained = train_ranking(linker, numbered_documents, RerankerTraining(), add_mentions=False, prior_weight=0.1)
    queries = list(map(mention_queries, numbered_documents))
    with linker.ranking(trained.ranker):
        linked = linker.link(queries)
    calibrate(numbered, numbered_documents, prior=True)
    assert linker.prior_weight == trained.prior_weight == 0
    assert linker.link(queries) == linked
    assert linked[0][0][0].candidates[0].concept_id == "B:0"


def test_links_with_a_prior_are_judged_by_their_scores(numbered, numbered_documents, monkeypatch):
    monkeypatch.setattr(calibration, "PRIOR_WEIGHTS", (0.1,))
    unseen = UnseenDocuments(numbered, numbered_documents)
    tried = _try_priors(unseen, numbered_documents)
    linked = link_by_others(unseen, numbered_documents, 0.1)
    scores = {part.candidates[0].score for mention in linked for part in mention.parts}
    assert set(tried[0.1].scores.tolist()) == scores


def test_a_linker_that_does_not_rank_gets_probabilities_of_scores(nlp):
    linker = nlp.get_pipe("sapbert_linker")
    linker.selection.rerank = False
    result = calibrate(nlp, CORPUS)
    assert "ranker" not in result
    assert linker.linker.trained_ranker is None
    assert linker.linker.parameters.probabilities
    # each document says the same, so what is fitted on some is right for the others
    assert result["after"]["ece"] == pytest.approx(0)


def test_with_too_little_text_the_ranker_of_the_package_stays(nlp):
    pytest.importorskip("lightgbm")
    with pytest.warns(UserWarning, match="W416"):
        assert "ranker" not in calibrate(nlp, CORPUS)
    assert nlp.get_pipe("sapbert_linker").linker.trained_ranker is None


@pytest.mark.parametrize(
    ("documents", "options", "message"),
    [
        ([], {}, r"E105.*with a concept id.*: none"),
        ([document("1", ("aspirin",))], {}, "E105"),
        (CORPUS, {"type": "Chemical"}, r"E105.*of type Chemical.*: Disease"),
        (CORPUS[:1], {}, r"E521.*held-out.*0 links, 0 of"),
        ([document(str(i), ("breast cancer", "D001943")) for i in range(9)], {}, r"E521.*held-out.*3 links, 3 of"),
        (CORPUS[:2], {"held_out": 0.9}, r"E521.*fitted.*0 links, 0 of"),
        (CORPUS, {"precision": 0.999}, "E520"),
        (CORPUS, {"precision": 0.999, "prior": True}, "E520"),
    ],
)
def test_what_cannot_be_fitted_changes_nothing(nlp, documents, options, message):
    linker = nlp.get_pipe("sapbert_linker")
    before = settings_of(linker)
    with pytest.raises(SapbertError, match=message):
        calibrate(nlp, documents, **options)
    assert settings_of(linker) == before
    assert linker.linker.parameters == LinkerParameters()
    assert linker.linker.threshold == PROBABLE
    assert linker.linker.trained_ranker is None


def test_a_pipeline_without_a_linker():
    with pytest.raises(SapbertError, match="E503"):
        calibrate(spacy.blank("en"), CORPUS)
