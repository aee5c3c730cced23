import pickle
import shutil

import pytest
import spacy

from spacy_sapbert.linking.settings import PARAMETERS_FILE, THRESHOLD, LinkerParameters

TEXT = "some morphines"
POINTS = ((0.2, 0.1), (0.6, 0.5), (1.0, 0.9))


@pytest.fixture(params=["sparse", "dense", "both"])
def nlp(request, kb, tiny_encoder):
    """A pipeline with one score or both, of which one link in two is right at a score of 0.6."""
    encoder = "none" if request.param == "sparse" else str(tiny_encoder)
    return calibrated({"kb": kb, "encoder": encoder, "candidates": {"sparse": request.param != "dense"}})


def calibrated(config):
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "ANY", "pattern": "morphines"}])
    linker = nlp.add_pipe("sapbert_linker", config=config)
    linker.linker.stored_parameters = LinkerParameters(0.4, 0.3, POINTS, 0.0)
    linker.linker.stored_parameters = LinkerParameters(0.4, 0.3, POINTS, linker.linker.generator.sparse_share)
    return nlp


@pytest.fixture
def both(kb, tiny_encoder):
    return calibrated({"kb": kb, "encoder": str(tiny_encoder)})


def links(nlp):
    return [link for ent in nlp(TEXT).ents for link in ent._.links]


def probability(nlp):
    (link,) = links(nlp)
    return link.probability


def test_probabilities_lie_between_the_points():
    fitted = LinkerParameters(probabilities=POINTS, sparse_share=0.0)
    said = [fitted.probability(score) for score in (0.0, 0.2, 0.3, 0.8, 1.0, 1.1)]
    assert said == pytest.approx([0.1, 0.1, 0.2, 0.7, 0.9, 0.9])
    assert LinkerParameters().probability(0.5) is None


def test_links_say_how_sure_they_are(nlp):
    linker = nlp.get_pipe("sapbert_linker")
    (link,) = links(nlp)
    assert link.probability == pytest.approx(link.score - 0.1)
    assert linker.linker.threshold == 0.3
    linker.threshold = 1.0
    (unlinked,) = links(nlp)
    assert (link.concept_id is None, unlinked.concept_id) == (False, None)
    assert unlinked.probability == link.probability


def test_round_trips(nlp, tmp_path):
    expected = links(nlp)
    nlp.to_disk(tmp_path)
    assert links(spacy.load(tmp_path)) == expected
    assert links(pickle.loads(pickle.dumps(nlp))) == expected
    linker = nlp.get_pipe("sapbert_linker")
    data, fitted = linker.to_bytes(), linker.linker.parameters
    linker.linker.stored_parameters = LinkerParameters()
    assert linker.from_bytes(data).linker.parameters == fitted
    assert links(nlp) == expected
    (doc,) = pickle.loads(pickle.dumps([nlp(TEXT)]))
    assert doc.ents[0]._.links == expected


# --- when it no longer holds


@pytest.mark.parametrize("candidates", [{"sparse": False}, {"sparse_weight": 0.1}])
def test_other_scores_at_load(both, tmp_path, candidates):
    both.to_disk(tmp_path)
    again = spacy.load(tmp_path, config={"components": {"sapbert_linker": {"candidates": candidates}}})
    assert probability(again) is None
    assert again.get_pipe("sapbert_linker").linker.threshold == THRESHOLD
    again.to_disk(tmp_path / "again")
    assert probability(spacy.load(tmp_path / "again")) is None


def test_another_threshold_is_no_other_score(both, tmp_path):
    expected = probability(both)
    both.to_disk(tmp_path)
    again = spacy.load(tmp_path, config={"components": {"sapbert_linker": {"threshold": 0.1}}})
    assert (probability(again), again.get_pipe("sapbert_linker").linker.threshold) == (expected, 0.1)


def test_another_vocabulary(both, kb, tmp_path):
    linker = both.get_pipe("sapbert_linker")
    shutil.copyfile(kb, tmp_path / "copy.kb")
    linker.set_kb(str(tmp_path / "copy.kb"))
    assert probability(both) is None
    assert linker.linker.parameters == LinkerParameters(0.4)


# --- what was saved is damaged


def test_a_file_from_before_there_were_probabilities(tmp_path):
    (tmp_path / PARAMETERS_FILE).write_text('{"sparse_weight": 0.4, "threshold": 0.7}')
    assert LinkerParameters.load(tmp_path) == LinkerParameters(0.4, 0.7)


@pytest.mark.parametrize("has_reranker", [True, False])
def test_what_an_earlier_version_fitted_to_its_ranking_is_left_out(kb, tmp_path, has_reranker):
    nlp = calibrated({"kb": kb, "encoder": "none"})
    linker = nlp.get_pipe("sapbert_linker").linker
    linker.stored_parameters = linker.stored_parameters._replace(reranked=not has_reranker)
    nlp.to_disk(tmp_path)
    if has_reranker:
        (tmp_path / "sapbert_linker" / "reranker.safetensors").touch()
    with pytest.warns(UserWarning, match=r"W419.*calibrate"):
        again = spacy.load(tmp_path).get_pipe("sapbert_linker").linker
    assert again.ranker is not None
    assert again.trained_ranker is None
    assert again.parameters.probabilities is None
    assert again.sparse_weight == 0.4
