from dataclasses import dataclass

import pytest
import spacy

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.settings_block import SettingsBlock


@dataclass
class Sizes(SettingsBlock):
    width: int = 3
    height: int = 4

    def rules(self):
        return (("width", self.width > 0, "above 0"), ("height", self.height > self.width, "above the width"))


def test_what_is_missing_has_its_default():
    block = Sizes.read("component", "sizes", {"height": 5})
    assert block.as_dict() == {"width": 3, "height": 5}


@pytest.mark.parametrize(
    ("values", "setting", "wanted"),
    [
        ({"width": 0}, "sizes.width", "above 0"),
        ({"height": 1}, "sizes.height", "above the width"),
        ({"depth": 1}, "depth", "one of width, height"),
        ({"width": True}, "sizes.width", "int"),
    ],
)
def test_a_setting_that_cannot_be(values, setting, wanted):
    with pytest.raises(SapbertError, match=rf"E406.*{setting}.*{wanted}"):
        Sizes.read("component", "sizes", values)


@pytest.mark.parametrize(
    ("component", "setting", "value", "wanted"),
    [
        ("sapbert_linker", "threshold", "0.7", "float or null"),
        ("sapbert_linker", "k", "7", "int"),
        ("concept_retriever", "k", "7", "int"),
        ("concept_matcher", "min_length", "3", "int"),
        ("repeated_mentions", "min_share", "0.2", "float"),
        ("abbreviation_resolver", "min_precision", "0.9", "float"),
        ("composite_splitter", "max_splits", "6", "int"),
    ],
)
def test_a_number_in_quotes(component, setting, value, wanted):
    with pytest.raises(SapbertError, match=rf"E406.*{setting} of {component} is '{value}'; it must be {wanted}\."):
        spacy.blank("en").add_pipe(component, config={setting: value})
