import pytest

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.finder import NameFinder
from spacy_sapbert.types import Grade, Name, Record

NAMES = "kidney abnormality", "kidney neoplasm", "liver neoplasm", "liver disease", "liver trouble"


@pytest.fixture(scope="module")
def finder(tmp_path_factory):
    records = [Record(f"D{i}", (Name(name, "exact", "test"),)) for i, name in enumerate(NAMES)]
    return NameFinder.build(build_knowledge_base(records, tmp_path_factory.mktemp("finder") / "names.kb"))


def test_a_mention_has_a_grade_and_a_reason(finder):
    text = "Abnormality of the kidney and renal anomalies."
    same, other = finder.find(text)
    assert (same.grade, same.score, same.reason) == (Grade.SAME, 1.0, "")
    assert other.grade == Grade.REWRITTEN
    assert 0.8 <= other.score < 1
    assert other.reason == "“renal” is “kidney”, “anomalies” is “abnormality”"


def test_a_composite_says_which_parts_are_in_other_words(finder):
    *_, mention = finder.find("renal and liver neoplasms")
    assert mention.parts.keys() == {"renal neoplasms"}
    assert mention.parts["renal neoplasms"][0] == "kidney neoplasm"
    assert finder.find("renal and liver neoplasms", composites=False)[0].parts is None


def test_a_composite_cuts_no_other_mention(finder):
    text = "liver trouble and disease of the liver"
    mentions = [text[mention.start : mention.end] for mention in finder.find(text)]
    assert mentions == ["liver trouble", "disease of the liver"]


def test_types_without_other_words(finder):
    alone = NameFinder(finder.exact)
    alone.worded = frozenset()
    assert alone.other_words is None
    assert alone.find("renal anomalies") == []
