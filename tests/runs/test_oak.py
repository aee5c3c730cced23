"""The implementation of OAK. oaklib is in no extra, so these tests run in an environment of its own."""

import pytest

oaklib = pytest.importorskip("oaklib")
from oaklib.datamodels.text_annotator import TextAnnotationConfiguration  # noqa: E402


@pytest.fixture(scope="module")
def adapter(small_kb):
    return oaklib.get_adapter(f"sapbert:{small_kb.path}")


def test_a_text_is_annotated(adapter):
    text = "Cystic fibrosis (CF), no zebra. Breast and ovarian cancer."
    found = list(adapter.annotate_text(text))
    spans = [(each.object_id, text[each.subject_start - 1 : each.subject_end]) for each in found]
    assert ("MESH:D003550", "CF") in spans
    assert {"MESH:D001943", "MESH:D010051"} <= {object_id for object_id, _ in spans}
    assert all(0 < each.confidence <= 1 and each.object_label for each in found)


@pytest.mark.parametrize(("term", "expected"), [("breast cancer", ["MESH:D001943"]), ("zzzz qqqq", [])])
def test_a_term_is_grounded(adapter, term, expected):
    settings = TextAnnotationConfiguration(matches_whole_text=True, categories=["Disease"])
    assert [each.object_id for each in adapter.annotate_text(term, settings)] == expected


def test_the_vocabulary_can_be_read(adapter, small_kb):
    assert adapter.label("MESH:D001943") == "Breast Neoplasms"
    assert adapter.label("MESH:D99") is adapter.definition("MESH:D99") is None
    assert adapter.definition("MESH:D009369") == "New abnormal growth of tissue."
    assert {"Breast Neoplasms", "breast cancer"} <= set(adapter.entity_aliases("MESH:D001943"))
    assert list(adapter.hierarchical_parents("MESH:D010051")) == ["MESH:D009369"]
    assert next(iter(adapter.basic_search("NEOPLASMS breast"))) == "MESH:D001943"
    assert len(list(adapter.entities())) == len(small_kb)
