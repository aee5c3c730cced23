"""Training a reranker: what it learns, and what it must not see."""

import re
from contextlib import nullcontext

import numpy as np
import pytest

from spacy_sapbert.errors import TrainingDataError
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.prior import count_concepts
from spacy_sapbert.linking.rerank_features import COLUMNS, N_FEATURES, NOT_COMPARED, CandidateFeatures, WordRarity
from spacy_sapbert.linking.storage import open_generator, with_mentions
from spacy_sapbert.training import reranker_trainer
from spacy_sapbert.training.reranker_trainer import (
    MARGINS,
    RankingData,
    are_names,
    fit_reranker,
    fold_linkers,
    folds_of,
    link_documents,
    mention_queries,
    ranking_data,
    train_ranking,
)
from spacy_sapbert.training.settings import RerankerTraining
from spacy_sapbert.types import Document, Mention

SETTINGS = RerankerTraining(trees=10, leaves=4, depth=2, least_in_leaf=5, folds=3)


@pytest.fixture
def linker(numbered_kb):
    return Linker(open_generator(numbered_kb, None, sparse=True))


def train_reranker(linker, documents):
    ranking = train_ranking(linker, documents, SETTINGS, add_mentions=False, prior_weights=[linker.prior_weight])
    return ranking.reranker


def cross_fitted(linker, documents, folds, *, add_mentions):
    for inside, fold_linker in fold_linkers(linker, documents, folds, add_mentions=add_mentions):
        yield inside, link_documents(fold_linker, [documents[n] for n in inside]), fold_linker.kb


# --- what it learns


def test_a_reranker_learns_what_the_scores_do_not_say(linker, numbered_documents):
    pytest.importorskip("lightgbm")
    queries = [mention_queries(numbered_documents[0])]

    def linked():
        return [link.concept_id for parts in linker.link(queries)[0] for link in linker.links(parts)]

    linker.settings.threshold = 0.1
    assert linked()[:2] == ["A:0", "A:0"]
    linker.reranker = train_reranker(linker, numbered_documents)
    assert linked()[:2] == ["B:0", "A:0"]


def test_a_reranker_that_does_not_help_is_left_out():
    pytest.importorskip("lightgbm")
    n = 60
    features = np.zeros((2 * n, N_FEATURES))
    right = np.tile([True, False], n)
    data = RankingData(features, right, np.full(n, 2), np.arange(n), np.arange(n).astype(str))
    fitted = fit_reranker([data], np.arange(n) % 3, WordRarity({}, 1.0), SETTINGS)
    assert fitted.reranker is None
    with pytest.warns(UserWarning, match="W415"):
        fitted.warn()
    assert (fitted.right_before, fitted.right_after, fitted.texts) == (n, n, n)


@pytest.mark.parametrize(("probability", "after_ranking"), [(0.5, True), (NOT_COMPARED, False)])
def test_a_reranker_knows_in_which_order_it_met_the_candidates(probability, after_ranking):
    pytest.importorskip("lightgbm")
    n = 120
    features = np.zeros((2 * n, N_FEATURES))
    features[:, COLUMNS["probability"]] = probability
    features[1::2, COLUMNS["equal"]] = 1
    data = RankingData(features, np.tile([False, True], n), np.full(n, 2), np.arange(n), np.arange(n).astype(str))
    fitted = fit_reranker([data], np.arange(n) % 3, WordRarity({}, 1.0), RerankerTraining(folds=3))
    assert fitted.reranker is not None
    assert (fitted.right_before, fitted.right_after) == (0, n)
    assert (fitted.reranker.after_ranking, fitted.reranker.margin) == (after_ranking, MARGINS[-1])


@pytest.mark.parametrize(("helps", "weight"), [(True, 0.0), (False, 1.0)])
def test_a_prior_is_used_only_if_it_gains(linker, numbered_documents, monkeypatch, helps, weight):
    pytest.importorskip("lightgbm")
    if not helps:
        monkeypatch.setattr(reranker_trainer, "_n_right", lambda data, chosen: 0)
    documents = [document._replace(mentions=document.mentions[:1]) for document in numbered_documents]
    linker.stored_parameters = linker.stored_parameters._replace(annotated=count_concepts(documents))
    weights = [1.0, 0.0]
    with nullcontext() if helps else pytest.warns(UserWarning, match="W415"):
        trained = train_ranking(linker, documents, SETTINGS, add_mentions=False, prior_weights=weights)
    assert trained.prior_weight == weight
    assert (trained.reranker is not None and trained.reranker.after_ranking) == helps


def test_frequent_texts_count_less():
    texts, sizes = np.array(["a", "b", "a", "a", "a"]), np.array([2, 1, 1, 1, 1])
    data = RankingData(np.zeros((6, N_FEATURES)), np.zeros(6, bool), sizes, np.zeros(5, int), texts)
    assert data.weights.tolist() == [0.5, 0.5, 1.0, 0.5, 0.5, 0.5]
    assert data.select(np.array([True, True, False, False, False])).weights.tolist() == [1.0, 1.0, 1.0]


# --- what it must not see


def test_a_mention_does_not_meet_itself_as_a_name(linker, annotated_document):
    texts = [f"{position} trouble" for position in ("lung", "liver", "skin", "bone", "brain", "spleen")]
    documents = [annotated_document(str(number), (text, f"A:{number}")) for number, text in enumerate(texts)]
    documents.append(annotated_document("again", (texts[0], "A:0")))
    folds = np.arange(len(documents)) % 2
    folds[-1] = 1 - folds[0]
    names = {}
    for positions, ranked, kb in cross_fitted(linker, documents, folds, add_mentions=True):
        for position, one in zip(positions, ranked, strict=True):
            names[position] = one.parts[0].part.candidates[0].name == documents[position].mentions[0].text
            assert bool(kb.find_name(documents[position].mentions[0].text)) == names[position]
    assert [position for position, same in sorted(names.items()) if same] == [0, len(documents) - 1]


def test_the_counts_of_a_fold_leave_out_its_own_mentions(linker, numbered_documents):
    linker.stored_parameters = linker.stored_parameters._replace(annotated={"B:0": 6}, prior_weight=0.1)
    few = [*numbered_documents[:2], *numbered_documents[6:8]]  # of two concepts
    for positions, ranked, _ in cross_fitted(linker, few, np.array([0, 0, 1, 1]), add_mentions=False):
        priors = {one.concept_id: one.prior for part in ranked[0].parts for one in part.part.candidates}
        own, other = (f"B:{number}" for number in (positions[0] // 2, 1 - positions[0] // 2))
        assert priors[own] == 0
        assert priors.get(other, 1) == 1
    assert linker.stored_parameters.annotated == {"B:0": 6}


def test_documents_with_the_same_id_share_a_fold():
    ids = ["a", "b", "c", "a", "d", "b"]
    folds = folds_of(ids, SETTINGS)
    assert folds[0] == folds[3]
    assert folds[1] == folds[5]
    assert set(folds.tolist()) == {0, 1, 2}


def test_mentions_that_are_names_are_left_out(linker, annotated_document, numbered_kb, numbered_documents, tmp_path):
    joined = with_mentions(linker.generator, numbered_documents, tmp_path)
    others = [annotated_document("x", ("lung disease of fancy", "B:0"))]
    assert are_names(numbered_documents, joined.kb)
    assert not are_names(numbered_documents, numbered_kb)
    assert not are_names(others, joined.kb)
    folds = folds_of([document.doc_id for document in numbered_documents], SETTINGS)
    cross = cross_fitted(Linker(joined), numbered_documents, folds, add_mentions=False)
    for inside, ranked, kb in cross:
        own = numbered_documents[inside[0]].mentions[1]
        outside = sum(own.text == mention.text for d in numbered_documents for mention in d.mentions)
        mine = sum(own.text == mention.text for n in inside for mention in numbered_documents[n].mentions)
        assert kb.annotations_of([(own.ids[0], own.text)]) == [outside - mine]
        assert len(ranked) == len(inside)


def test_short_forms_are_names_by_their_long_forms(linker, tmp_path):
    text = "Lung disease fancy (LDF): " + "LDF, " * 20
    places = [(0, 18), *((match.start(), match.end()) for match in re.finditer("LDF", text))]
    document = Document("x", text, tuple(Mention(*place, text[slice(*place)], "Disease", ("B:0",)) for place in places))
    assert are_names([document], with_mentions(linker.generator, [document], tmp_path).kb)


@pytest.mark.parametrize("n", [1, 10])
def test_too_few_documents_are_refused(linker, numbered_documents, n):
    pytest.importorskip("lightgbm")
    with pytest.raises(TrainingDataError, match="E352"):
        train_reranker(linker, numbered_documents[:n])


# --- the training data


def test_only_texts_with_a_choice_teach_something(linker, annotated_document):
    mentions = [
        ("lung disease fancy", "B:0"),
        ("lung disease plain", "X:1"),  # no right candidate
        ("liver disease plain", "A:1", "B:1"),  # no wrong one
    ]
    ((_, ranked, kb),) = cross_fitted(linker, [annotated_document("x", *mentions)], np.array([0]), add_mentions=False)
    data = ranking_data(ranked, [7], CandidateFeatures(kb, WordRarity({}, 1.0)))
    assert set(data.documents.tolist()) == {7}
    assert len(data.sizes) == 1
    assert len(data.features) == len(data.right) == data.sizes.sum()
    candidates = ranked[0].parts[0].part.candidates
    assert candidates[int(data.right.argmax())].concept_id == "B:0"
    assert data.right.sum() == 1


def test_mentions_are_looked_up_with_long_forms_and_splits():
    text = "Cystic fibrosis (CF) is rare. CF and breast or ovarian cancer."
    positions = [(0, 15), (30, 32), (37, 61)]
    mentions = tuple(Mention(start, end, text[start:end], "Disease", ("X",)) for start, end in positions)
    result = [query.variants for query in mention_queries(Document("x", text, mentions))]
    assert [one.long_form for one in result] == [None, "Cystic fibrosis", None]
    assert ("breast cancer", "ovarian cancer") in result[2].composite_splits
