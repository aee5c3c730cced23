import pytest

from spacy_sapbert.errors import SettingError
from spacy_sapbert.training.losses import marginal_likelihood
from spacy_sapbert.training.settings import BioSyn, ConceptRetrieval, RerankerTraining


def biosyn(**settings):
    return BioSyn(marginal_likelihood, **settings)


@pytest.mark.parametrize(
    ("make", "setting", "value"),
    [
        (biosyn, "k", 0), (biosyn, "dense_share", 1.5), (biosyn, "sparse_weight", -0.1), (biosyn, "temperature", 0.0),
        (biosyn, "score_learning_rate", -1.0), (biosyn, "trained_layers", 0), (biosyn, "reencode_every", 0),
        (biosyn, "prior_weight", -0.1), (biosyn, "prior_weight", float("inf")), (ConceptRetrieval, "temperature", 0),
        (ConceptRetrieval, "hard", -1), (ConceptRetrieval, "random", -1),
        (ConceptRetrieval, "augmented_weight", -0.1), (ConceptRetrieval, "held_out", 1.0),
        (ConceptRetrieval, "held_out", -0.1), (ConceptRetrieval, "trained_layers", 0), (RerankerTraining, "folds", 1),
        (RerankerTraining, "trees", 0), (RerankerTraining, "leaves", 1), (RerankerTraining, "depth", 11),
        (RerankerTraining, "learning_rate", 0.0),
    ],
)  # fmt: skip
def test_impossible_settings(make, setting, value):
    with pytest.raises(SettingError, match=rf"The setting {setting} of .* is {value}; it must be"):
        make(**{setting: value})


def test_nothing_to_compare_with():
    with pytest.raises(SettingError, match=r"random"):
        ConceptRetrieval(hard=0, random=0)


def test_settings_as_json():
    assert biosyn().as_dict()["loss"] == "marginal_likelihood"
    assert biosyn(k=6, reranker=RerankerTraining(trees=7)).as_dict()["reranker"]["trees"] == 7
