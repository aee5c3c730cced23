import numpy as np
import pytest

from spacy_sapbert.evaluation.cross_fitting import rerank_by_others
from spacy_sapbert.linking.rerank_features import FEATURES, WordRarity
from spacy_sapbert.linking.reranker import Reranker
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.training.reranker_trainer import FittedReranker


def test_links_are_judged_that_a_reranker_of_other_documents_chose(numbered, numbered_documents, monkeypatch):
    place = [name for names in FEATURES.values() for name in names].index("place")
    rating = Trees(np.full((1, 1), place, np.int32), np.full((1, 1), 0.5), np.array([[0.0, 0.0, 1.0]]))
    second = Reranker(rating, 0.0, WordRarity({}, 1.0))  # prefers the second candidate

    def fitted(data, folds, rarity, settings):
        of_folds = [second, *[Reranker.undecided()] * (settings.folds - 1)]
        return FittedReranker(second, tuple(of_folds), folds, 0, 0, 0)

    monkeypatch.setattr("spacy_sapbert.evaluation.cross_fitting.fit_reranker", fitted)
    reranked, mentions = rerank_by_others(numbered, numbered_documents, None, 0, lambda documents, what: documents)
    folds = {one.doc_id: fold for one, fold in zip(numbered_documents, reranked.folds.tolist(), strict=True)}
    assert [one.mention for one in mentions] == [one for of in numbered_documents for one in of.mentions]
    assert {folds[one.doc_id] for one in mentions if one.parts[0].reasons} == {0}


@pytest.mark.parametrize("prior_weight", [None, 0.1])
def test_the_linker_does_not_change(numbered, numbered_documents, prior_weight):
    pytest.importorskip("lightgbm")
    linker = numbered.get_pipe("sapbert_linker").linker
    before = linker.stored_parameters
    followed = []

    def follow(documents, what):
        followed.extend(one.doc_id for one in documents)
        return documents

    reranked, _ = rerank_by_others(numbered, numbered_documents, prior_weight, 0, follow)
    assert (linker.stored_parameters, linker.reranker) == (before, None)
    assert sorted(followed) == sorted(one.doc_id for one in numbered_documents)
    assert reranked.right_after > reranked.right_before
