import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.retriever_settings import ConceptRetrieval


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("temperature", 0),
        ("hard", -1),
        ("random", -1),
        ("augmented_weight", -0.1),
        ("held_out", 1.0),
        ("held_out", -0.1),
        ("trained_layers", 0),
    ],
)
def test_settings_that_make_no_sense(setting, value):
    with pytest.raises(SapbertError, match=rf"E335.*{setting}"):
        ConceptRetrieval(**{setting: value})


def test_nothing_to_compare_with():
    with pytest.raises(SapbertError, match=r"E335.*random"):
        ConceptRetrieval(hard=0, random=0)
