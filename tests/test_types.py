import pytest

from spacy_sapbert.types import has_type, types_of


@pytest.mark.parametrize(
    ("label", "types"),
    [("Disease", ("Disease",)), ("T116,T123", ("T116", "T123")), (" T116 , T123,T116,", ("T116", "T123")), ("", ())],
)
def test_types_of_a_label(label, types):
    assert types_of(label) == types


def test_a_label_of_several_types_has_each_of_them():
    assert has_type("T116,T123", ["T123", "T047"])
    assert not has_type("T116,T123", ["T11"])
    assert not has_type("Disease", ["disease"])
