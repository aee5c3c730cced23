from dataclasses import dataclass

import pytest

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
    ],
)
def test_a_setting_that_cannot_be(values, setting, wanted):
    with pytest.raises(SapbertError, match=rf"E406.*{setting}.*{wanted}"):
        Sizes.read("component", "sizes", values)
