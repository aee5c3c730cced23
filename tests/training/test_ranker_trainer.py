"""Training a ranker: what it learns, and what it must not see."""

import re

import numpy as np
import pytest

from spacy_sapbert.errors import TrainingDataError
from spacy_sapbert.linking.concept_facts import ConceptFacts
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.prior import count_concepts
from spacy_sapbert.linking.ranker import FEATURES, Ranker, shares
from spacy_sapbert.linking.storage import open_generator, with_mentions
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.text.languages import ENGLISH
from spacy_sapbert.training import ranker_trainer
from spacy_sapbert.training.ranker_trainer import (
    TAKEN_OUT,
    GoldMention,
    RankingData,
    are_names,
    fit_ranker,
    fold_linkers,
    folds_of,
    link_documents,
    mention_queries,
    more_trees,
    ranking_data,
    train_ranking,
)
from spacy_sapbert.training.settings import RerankerTraining
from spacy_sapbert.types import Document, LinkedPart, Mention

from ..graded import graded

SETTINGS = RerankerTraining(trees=10, leaves=4, depth=2, least_in_leaf=5, learning_rate=0.3, folds=3)
NEW = Ranker(Trees.none(), 0, 0.5, 1.0)


@pytest.fixture
def linker(numbered_kb):
    return Linker(open_generator(numbered_kb, None, sparse=True))


def train(linker, documents):
    return train_ranking(linker, documents, SETTINGS, add_mentions=False).ranker


def cross_fitted(linker, documents, folds, *, add_mentions):
    for inside, fold_linker in fold_linkers(linker, documents, folds, add_mentions=add_mentions):
        yield inside, link_documents(fold_linker, [documents[n] for n in inside]), fold_linker.kb


def data_of(rows, right, texts=None, made=None):
    """RETURNS (RankingData): pairs of candidates, each of a document of its own."""
    n = len(rows) // 2
    written = np.arange(n).astype(str) if texts is None else np.array(texts)
    weights = np.zeros(n) if made is None else np.array(made)
    return RankingData(rows, np.array(right), np.full(n, 2), np.arange(n), written, weights)


# --- what it learns


def test_a_ranker_learns_what_the_scores_do_not_say(linker, numbered_documents):
    pytest.importorskip("lightgbm")
    queries = [mention_queries(numbered_documents[0])]

    def linked():
        return [link.concept_id for parts in linker.link(queries)[0] for link in linker.links(parts)]

    linker.settings.threshold = 0.1
    assert linked()[:2] == ["A:0", "A:0"]
    linker.trained_ranker = train(linker, numbered_documents)
    assert linked()[:2] == ["B:0", "A:0"]


def test_a_ranker_that_does_not_help_is_left_out(linker, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(ranker_trainer, "ranker_for", lambda generator: NEW)
    n = 60
    right = np.tile([True, False], n)
    right[::4] = False  # by chance
    data = data_of(np.repeat(np.arange(2.0 * n)[:, None], len(FEATURES), axis=1), right)
    monkeypatch.setattr(ranker_trainer, "_losses", lambda data, ratings: np.ones(len(data.sizes)))
    fitted = fit_ranker([data, data], np.arange(n) % 3, linker.generator, SETTINGS)
    assert fitted.ranker is None
    assert fitted.of_folds == (NEW,) * 3
    with pytest.warns(UserWarning, match="W415"):
        fitted.warn()
    assert (fitted.right_before, fitted.right_after, fitted.texts) == (n, n, 2 * n)


@pytest.mark.parametrize("helps", [True, False])
def test_new_trees_choose_only_if_more_texts_are_right(linker, monkeypatch, helps):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(ranker_trainer, "ranker_for", lambda generator: NEW)
    n = 120
    rows = np.zeros((2 * n, len(FEATURES)))
    rows[:, FEATURES.index("length")] = np.tile([1, 2], n)
    data = data_of(rows, np.tile([not helps, helps], n))
    fitted = fit_ranker([data], np.arange(n) % 3, linker.generator, SETTINGS)
    assert (fitted.right_before, fitted.right_after) == ((0, n) if helps else (n, n))
    assert fitted.ranker.choosing == (len(fitted.ranker.trees.values) if helps else 0)


def test_a_ranker_goes_on_from_another_one():
    pytest.importorskip("lightgbm")
    n = 60
    rows = np.zeros((2 * n, len(FEATURES)))
    rows[::2, FEATURES.index("length")] = 1
    data = data_of(rows, np.tile([True, False], n))
    first = more_trees(NEW, data, SETTINGS)
    second = more_trees(first, data, SETTINGS)
    assert second.trees.first(first.choosing).predict(rows) == pytest.approx(first.trees.predict(rows))
    before, after = (shares(ranker.trees.predict(rows), data.sizes)[0] for ranker in (first, second))
    assert 0.5 < before < after < 1


def test_taken_out_candidates_teach_what_a_missing_concept_looks_like():
    pytest.importorskip("lightgbm")
    n = 100
    rows = np.zeros((2 * n, len(FEATURES)))
    rows[:n, FEATURES.index("length")] = 1
    right = np.array([place < n and not place % 2 for place in range(2 * n)])
    data = data_of(rows, right, made=TAKEN_OUT * (np.arange(n) >= n // 2))
    ranker = more_trees(NEW, data, SETTINGS)
    here, missing = (shares(ranker.trees.predict(some), [2]).sum() for some in (rows[:2], rows[-2:]))
    assert here > missing


@pytest.mark.parametrize("helps", [True, False])
def test_a_prior_is_used_only_if_it_gains(linker, numbered_documents, monkeypatch, helps):
    pytest.importorskip("lightgbm")
    if not helps:
        monkeypatch.setattr(ranker_trainer, "_right", lambda data, ranker, ratings: np.zeros(len(data.sizes), bool))
    documents = [document._replace(mentions=document.mentions[:1]) for document in numbered_documents]
    linker.stored_parameters = linker.stored_parameters._replace(annotated=count_concepts(documents))
    trained = train_ranking(linker, documents, SETTINGS, add_mentions=False, prior_weight=1.0)
    assert trained.prior_weight == (0.0 if helps else 1.0)
    assert (trained.ranker is not None) == helps


def test_frequent_texts_count_less():
    rows = np.zeros((10, len(FEATURES)))
    data = data_of(rows, np.zeros(10, bool), ["a", "b", "a", "a", "a"], [0] * 4 + [TAKEN_OUT])
    third = 3**-0.5
    assert data.weights.tolist() == pytest.approx([third, 1.0, third, third, TAKEN_OUT * third])
    assert data.select(np.array([True, True, False, False, False])).weights.tolist() == [1.0, 1.0]


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
            names[position] = one[0].parts[0].candidates[0].name == documents[position].mentions[0].text
            assert bool(kb.find_name(documents[position].mentions[0].text)) == names[position]
    assert [position for position, same in sorted(names.items()) if same] == [0, len(documents) - 1]


def test_the_counts_of_a_fold_leave_out_its_own_mentions(linker, numbered_documents):
    linker.stored_parameters = linker.stored_parameters._replace(annotated={"B:0": 6}, prior_weight=0.1)
    few = [*numbered_documents[:2], *numbered_documents[6:8]]  # of two concepts
    for positions, ranked, _ in cross_fitted(linker, few, np.array([0, 0, 1, 1]), add_mentions=False):
        priors = {one.concept_id: one.prior for parts, _ in ranked[0] for part in parts for one in part.candidates}
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
        train(linker, numbered_documents[:n])


# --- the training data


def test_the_training_data(linker, annotated_document):
    mentions = [("lung disease fancy", "B:0"), ("lung disease plain", "X:1")]  # the latter is not in the vocabulary
    ((_, linked, kb),) = cross_fitted(linker, [annotated_document("x", *mentions)], np.array([0]), add_mentions=False)
    data = ranking_data(linked, [7], kb, ConceptFacts(kb), ENGLISH)
    assert data.documents.tolist() == [7, 7]
    assert data.texts.tolist() == ["lung disease fancy"] * 2
    assert data.made.tolist() == [0, TAKEN_OUT]
    assert data.per_text(data.right).tolist() == [1, 0]
    assert data.sizes[1] == data.sizes[0] - 1
    assert len(data.rows) == len(data.right) == data.sizes.sum()


def test_texts_without_candidates_are_left_out(small_kb):
    part = LinkedPart("x", None, (graded("D001241", 0.9, "y"),))
    mentions = [GoldMention((part,), frozenset({"D001241"})), GoldMention((part._replace(candidates=()),), frozenset())]
    data = ranking_data([mentions], [0], small_kb, ConceptFacts(small_kb), ENGLISH)
    assert data.sizes.tolist() == [1]


def test_mentions_are_looked_up_with_long_forms_and_splits():
    text = "Cystic fibrosis (CF) is rare. CF and breast or ovarian cancer."
    positions = [(0, 15), (30, 32), (37, 61)]
    mentions = tuple(Mention(start, end, text[start:end], "Disease", ("X",)) for start, end in positions)
    result = [query.variants for query in mention_queries(Document("x", text, mentions))]
    assert [one.long_form for one in result] == [None, "Cystic fibrosis", None]
    assert ("breast cancer", "ovarian cancer") in result[2].composite_splits
