import numpy as np
import pytest

from spacy_sapbert.evaluation.cross_fitting import UnseenDocuments, rank_by_others
from spacy_sapbert.linking.ranker import FEATURES, Ranker
from spacy_sapbert.linking.storage import with_mentions
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.training.ranker_trainer import FittedRanker


def test_links_are_judged_that_a_ranker_of_other_documents_chose(numbered, numbered_documents, monkeypatch):
    lead = np.full((1, 1), FEATURES.index("score_lead"), np.int32)
    second = Ranker(Trees(lead, np.zeros((1, 1)), np.array([[0.0, 1.0, 0.0]])), 1, 0.0, 1.0)
    folds_of_documents = []

    def fitted(data, folds, generator, settings):
        folds_of_documents.extend(folds.tolist())
        return FittedRanker(second, (second, *[None] * (settings.folds - 1)), 0, 0, 0)

    monkeypatch.setattr("spacy_sapbert.evaluation.cross_fitting.fit_ranker", fitted)
    _, mentions = rank_by_others(UnseenDocuments(numbered, numbered_documents), numbered_documents, 0)
    folds = {one.doc_id: fold for one, fold in zip(numbered_documents, folds_of_documents, strict=True)}
    assert [one.mention for one in mentions] == [one for of in numbered_documents for one in of.mentions]
    assert {folds[one.doc_id] for one in mentions if one.parts[0].reasons} == {0}


def test_the_linker_does_not_change(numbered, numbered_documents):
    pytest.importorskip("lightgbm")
    linker = numbered.get_pipe("sapbert_linker").linker
    before = linker.stored_parameters
    followed = []

    def follow(documents, what):
        followed.extend(one.doc_id for one in documents)
        return documents

    fitted, _ = rank_by_others(UnseenDocuments(numbered, numbered_documents, follow), numbered_documents, 0)
    assert (linker.stored_parameters, linker.trained_ranker) == (before, None)
    assert sorted(followed) == sorted(one.doc_id for one in numbered_documents)
    assert fitted.right_after > fitted.right_before


def test_documents_do_not_meet_their_own_mentions_as_names(numbered, numbered_documents, tmp_path):
    linker = numbered.get_pipe("sapbert_linker").linker
    plain = UnseenDocuments(numbered, numbered_documents)
    assert list(plain.parts(numbered_documents[:7])) == [numbered_documents[:7]]
    generator, document = linker.generator, numbered_documents[0]
    joined = with_mentions(generator, [document, *numbered_documents[6:]], tmp_path)
    known = [document, *numbered_documents[6:]]
    name = document.mentions[0].text, document.mentions[0].ids[0]
    with linker.using(joined):
        unseen = UnseenDocuments(numbered, known)
        parts = [(document in part, linker.kb.find_name(name[0])) for part in unseen.parts(known)]
        (mention, *_) = list(unseen.link([document._replace(mentions=document.mentions[:1])], ""))
        assert linker.kb.find_name(name[0]) == (name[1],)
    assert [names for is_inside, names in parts if is_inside] == [()]
    assert {names for is_inside, names in parts if not is_inside} == {(name[1],)}
    assert mention.parts[0].candidates[0].name != name[0]
    assert linker.generator is generator
