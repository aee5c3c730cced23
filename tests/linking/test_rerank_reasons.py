import numpy as np
import pytest

from spacy_sapbert.linking.rerank_features import FEATURES, N_FEATURES, DocumentEvidence
from spacy_sapbert.linking.rerank_reasons import explain
from spacy_sapbert.types import Candidate, LinkedPart

NAMES = [name for names in FEATURES.values() for name in names]
BEFORE, BEST = Candidate("D009369", 0.9, "cancer"), Candidate("D001943", 0.8, "breast cancer")
INSTEAD = "instead of D009369 (cancer), which is more similar (0.900)"


def reasons(**added):
    values = np.zeros(N_FEATURES)
    for name, value in added.items():
        values[NAMES.index(name)] = value
    part = LinkedPart("cancer", None, (BEFORE, BEST))
    return explain(part, BEST, BEFORE, values, np.zeros((2, N_FEATURES)), DocumentEvidence({}, {}))


@pytest.mark.parametrize(("dense", "shown"), [(1.0, True), (0.9, False)])
def test_a_group_with_less_than_a_tenth_is_left_out(dense, shown):
    first, *groups = reasons(names=9.0, dense=dense)
    assert first == INSTEAD
    assert groups[0].startswith(f"vocabulary {9 / (9 + dense):.0%}: ")
    assert [group.partition(" ")[0] for group in groups] == ["vocabulary"] + ["similarity"] * shown


def test_the_strongest_group_comes_first():
    assert [text.partition(" ")[0] for text in reasons(names=2.0, dense=3.0)[1:]] == ["similarity", "vocabulary"]


def test_what_speaks_against_the_candidate_has_no_share():
    assert reasons(names=2.0, dense=-3.0)[1:] == ("vocabulary 100%: several small differences",)
    assert reasons(dense=-3.0) == (INSTEAD,)
