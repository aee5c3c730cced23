"""Labels as people read them."""

import pytest

from spacy_sapbert.outputs.pages import N_COLORS, LabelColors, display_label, display_type

from ..cases import cases


@pytest.mark.parametrize(*cases(__file__, "a_label_is_shown_as_words"))
def test_a_label_is_shown_as_words(label, shown):
    assert display_label(label) == shown


def test_a_label_keeps_its_color():
    colors = LabelColors()
    assert [colors[label] for label in ("a", "b", "a")] == [0, 1, 0]
    assert colors[f"{[colors[str(number)] for number in range(N_COLORS)]}"] < N_COLORS


@pytest.mark.parametrize(("type", "shown"), [("T047", "Disease or Syndrome"), ("T999", "T999"), ("Disease", "Disease")])
def test_a_semantic_type_is_shown_by_its_name(type, shown):
    assert display_type(type) == shown
