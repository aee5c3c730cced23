import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.review.correction import ACTIONS, SCOPES, Correction, document_key, text_key

ONE = Correction("accept", "occurrence", "k", 0, 4, "cold", ("D003139",))


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("scope", SCOPES)
def test_what_can_be(action, scope):
    ONE._replace(action=action, scope=scope, concept_ids=() if action == "no_mention" else ("D1", "D2")).check()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"action": "delete"}, "action of a correction is 'delete'"),
        ({"scope": "document"}, "scope of a correction is 'document'"),
        ({"text": " "}, "text of a correction is ' '"),
        ({"start": 4}, "end of a correction is 4"),
        ({"start": -1}, "end of a correction is 4"),
        ({"concept_ids": ()}, "concept_ids"),
        ({"concept_ids": ("",)}, "concept_ids"),
        ({"action": "no_mention"}, "concept_ids"),
        ({"action": "reject", "concept_ids": ()}, "concept_ids"),
    ],
)
def test_what_cannot_be(wrong, reason):
    with pytest.raises(SapbertError, match="E406") as raised:
        ONE._replace(**wrong).check()
    assert reason in str(raised.value)


def test_a_missed_mention_may_have_no_concept():
    ONE._replace(action="add", concept_ids=()).check()


def test_keys_of_documents():
    assert document_key("cold") == document_key("cold") != document_key("cold ")
    assert len(document_key("a\ud800")) == 32  # broken Unicode has a key as well


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Heart  attack", "heart\nattack", True),
        ("ALL", "all", False),
        ("ALL", "ALL", True),
        ("Straße", "STRASSE infarct", False),
        ("heart attack", "heart attacks", False),
    ],
)
def test_texts_that_count_as_the_same(one, other, same):
    assert (text_key(one) == text_key(other)) == same
