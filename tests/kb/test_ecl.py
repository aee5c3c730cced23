from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.curation import Curation, curate, expression_test
from spacy_sapbert.kb.readers import ReadReport
from spacy_sapbert.types import Name, Record

from ..cases import cases


def record(concept_id, parents=(), alternative_ids=()):
    return Record(concept_id, (Name(concept_id, "exact", "t"),), alternative_ids=alternative_ids, parents=parents)


#      1       9
#     / \      |
#    2   3    D:1
#     \ /
#      4, which gives its first parent by an alternative id
SNOMED = [
    record("SNOMEDCT:1"),
    record("SNOMEDCT:2", ["SNOMEDCT:1"], ["SNOMEDCT:20"]),
    record("SNOMEDCT:3", ["SNOMEDCT:1"]),
    record("SNOMEDCT:4", ["SNOMEDCT:20", "SNOMEDCT:3"]),
]
OTHER = [record("D:9"), record("D:1", ["D:9"])]


@pytest.mark.parametrize(*cases(__file__, "expressions"))
def test_expressions(expression, ids):
    sources = [lambda report: SNOMED, lambda report: OTHER]
    counts = Counter()
    taken = [record.concept_id for record in curate(Curation(select=expression), sources, ReadReport(), counts)]
    # a source without the concepts of the expression is not affected
    assert taken == [*(f"SNOMEDCT:{number}" for number in ids), "D:9", "D:1"]
    assert counts["concepts left out: not selected"] == 4 - len(ids)


@pytest.mark.parametrize(
    "expression", ["", "<<", "<< <<", "1 2", "(1", "1)", "1 AND", "AND", "1 AND 2 OR 3", "<< |a|", "=", "<*"]
)
def test_what_cannot_be_read(expression):
    with pytest.raises(SapbertError, match="E533"):
        list(curate(Curation(select=expression or " "), [lambda report: SNOMED], ReadReport(), Counter()))


def test_reference_sets_and_unknown_concepts():
    for expression in ("^ 700043003", "<< ^ 1", "<! 1"):
        with pytest.raises(SapbertError, match="E125"):
            list(curate(Curation(select=expression), [lambda report: SNOMED], ReadReport(), Counter()))
    with pytest.raises(SapbertError, match=r"SNOMEDCT:77"):
        list(curate(Curation(select="<< 77"), [lambda report: SNOMED], ReadReport(), Counter()))


@given(st.text(alphabet="<>() 12AND,|^*ORMINUS", max_size=300) | st.just("(" * 5000) | st.just("1 OR " * 5000 + "2"))
def test_any_text_is_read_or_an_error(text):
    with suppress(SapbertError):
        assert expression_test(text, lambda *_: bool)("1") in (True, False)
