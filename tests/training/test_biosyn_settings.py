import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.biosyn_settings import BioSyn
from spacy_sapbert.training.candidate_losses import marginal_likelihood


def biosyn(**others):
    return BioSyn(marginal_likelihood, **others)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("k", 0),
        ("dense_share", 1.5),
        ("sparse_weight", -0.1),
        ("temperature", 0.0),
        ("score_learning_rate", -1.0),
        ("trained_layers", 0),
        ("reencode_every", 0),
        ("prior_weight", -0.1),
        ("prior_weight", float("inf")),
    ],
)
def test_settings_that_make_no_sense(setting, value):
    with pytest.raises(SapbertError, match=rf"E335.*{setting} cannot be"):
        biosyn(**{setting: value})


def test_settings_are_told_as_json_has_them():
    assert biosyn().described["loss"] == "marginal_likelihood"
    assert biosyn(k=6).described["k"] == 6
