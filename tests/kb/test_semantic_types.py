from __future__ import annotations

import re
from collections import Counter

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.semantic_types import SEMANTIC_GROUPS, SEMANTIC_TYPES, find_types


def test_every_type_is_in_a_group():
    assert len(SEMANTIC_TYPES) == 133  # 127 of today, and 6 of older releases
    assert len(SEMANTIC_GROUPS) == 15
    assert all(re.fullmatch(r"T\d{3}", tui) for tui in SEMANTIC_TYPES)
    assert {type_.group for type_ in SEMANTIC_TYPES.values()} == set(SEMANTIC_GROUPS)
    assert max(Counter(type_.name for type_ in SEMANTIC_TYPES.values()).values()) == 1


def test_some_types():
    assert SEMANTIC_TYPES["T047"] == ("Disease or Syndrome", "DISO")
    assert SEMANTIC_TYPES["T121"] == ("Pharmacologic Substance", "CHEM")
    assert SEMANTIC_TYPES["T023"] == ("Body Part, Organ, or Organ Component", "ANAT")


def test_types_are_found_by_tui_name_and_group():
    assert find_types() == frozenset()
    assert find_types(["t047", " Finding "]) == {"T047", "T033"}
    assert find_types(groups=["geog"]) == {"T083"}
    assert find_types(["T047"], ["Devices"]) == {"T047", "T203", "T074", "T075"}
    assert len(find_types(groups=["DISO"])) == 12


def test_what_is_not_found():
    with pytest.raises(SapbertError, match=r"E146.*semantic type Diseases or Syndrome\. .*disease or syndrome"):
        find_types(["Diseases or Syndrome"])
    with pytest.raises(SapbertError, match=r"E146.*semantic group Disorder\. .*disorders"):
        find_types(groups=["Disorder"])
    with pytest.raises(SapbertError, match=r"E146.*semantic type \?\. Similar ones are: none"):
        find_types(["?"])
