import json

import pytest

from spacy_sapbert.errors import BadRecordError
from spacy_sapbert.review.correction import document_key
from spacy_sapbert.review.mentions import read_links, review_mentions

TEXT = "cold flu"


def link(concept_id, rejected=None, score=0.5, probability=None):
    other = rejected and {"concept_id": rejected}
    return {"text": "cold", "concept_id": concept_id, "rejected": other, "score": score, "probability": probability}


def record(*links, text=TEXT, **changed):
    entity = {"start": 0, "end": 4, "text": "cold", "label": "Disease", "links": list(links), **changed}
    return {"id": "1", "text": text, "entities": [entity]}


def only(*links):
    (found,) = review_mentions(record(*links))
    return found


def test_mentions():
    found = only(link("D1", score=0.5, probability=0.75))
    assert found.link == (document_key(TEXT), 0, 4, "cold", "Disease", ("D1",), 0.75, 0.5)
    assert (found.doc_id, found.best, found.text_key) == ("1", ("D1",), "cold")


def test_composites_are_as_sure_as_their_least_sure_part():
    found = only(link("D1", score=0.5, probability=0.75), link("D2", score=0.25), link("D1", score=0.75))
    assert (found.link.concept_ids, found.link.probability, found.link.score) == (("D1", "D2"), 0.75, 0.25)


def test_mentions_without_a_link():
    assert only(link(None, "D1")).best == ("D1",)
    assert only(link(None, "D1")).link.concept_ids == ()
    assert only().best == ()
    assert only().link[5:] == ((), None, None)
    assert only(link(None, "D1"), link("D2")).best == ("D2",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 3"),
        ("[]", "line 3"),
        ('{"id": "1", "entities": []}', "there is no 'text'"),
        ('{"id": "1", "text": "a", "entities": [1]}', "line 3"),
        ("[" * 100_000, "nested too deeply"),
        (json.dumps(record(link("D1"), start=1)), "the text has no 'cold' at 1"),
        (json.dumps(record(link("D1"), start=-8, end=-4)), "the text has no"),
        (json.dumps(record(link("D1"), end=99)), "the text has no"),
        (json.dumps(record(link("D1"), start=4, text="")), "the text has no"),
        (json.dumps(record(link("D1") | {"rejected": {"name": "x"}})), "there is no 'concept_id'"),
    ],
)  # fmt: skip
def test_a_broken_line_is_reported(tmp_path, line, reason):
    path = tmp_path / "links.jsonl"
    path.write_text(f"{json.dumps(record(link('D1')))}\n\n{line}\n")
    lines = read_links(path)
    assert next(lines) == record(link("D1"))
    with pytest.raises(BadRecordError, match=r"links.jsonl, line 3: ") as raised:
        next(lines)
    assert reason in str(raised.value)
