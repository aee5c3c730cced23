import pytest

from spacy_sapbert.augmentation.matching import MatcherAnnotator


@pytest.fixture(scope="module")
def annotator(small_kb):
    return MatcherAnnotator(small_kb)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cancer of the breast.", [("Cancer of the breast", ("D001943",))]),
        ("A cold, at last.", [("cold", ("D003080",))]),  # which prefers the name
        ("Seizures came back.", [("Seizures", ("D012640",))]),  # likewise
        ("breast and ovarian cancer", [("breast and ovarian cancer", ("D001943", "D010051"))]),
        ("Cystic fibrosis (CF)", [("Cystic fibrosis", ("D003550",)), ("CF", ("D003550",))]),
        ("all aids for ALL", [("ALL", ("D054198",))]),
        ("", []),
    ],
)
def test_names_of_the_vocabulary(annotator, text, expected):
    (found,) = annotator.annotate([text])
    longest = [one for one in found if not any(one.start > other.start and one.end <= other.end for other in found)]
    assert [(text[one.start : one.end], one.ids) for one in longest] == expected


def test_each_text_has_its_own(annotator):
    assert [len(found) for found in annotator.annotate(["nothing", "aspirin, lithium", "morphine"])] == [0, 2, 1]
