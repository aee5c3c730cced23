import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import BadRecordError
from spacy_sapbert.review.corrections import ACTIONS, SCOPES, Correction, document_key
from spacy_sapbert.review.queue import ORDERS, ReviewQueue, doubt, read_links, review_mentions

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
    assert (found.doc_id, found.best) == ("1", ("D1",))


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


CORPORA = {"k1": ["notes"], "k2": ["notes"], "k3": ["other"]}


def correction(action, text, *ids, scope="everywhere", document="k", start=0, label=""):
    return Correction(action, scope, document, start, start + len(text), text, ids, label)


def test_doubt(mention):
    assert doubt(mention("cold", "D1", probability=0.5, score=0.1)) == 1 - 0.5**3
    assert doubt(mention("cold", "D1", score=0.75)) == 0.25
    assert doubt(mention("cold", "D1", score=1.5)) == 0
    assert doubt(mention("cold", "D1", score=-1.0)) == doubt(mention("cold", "D1")) == 1
    assert doubt(mention("cold")) == 0.5
    assert doubt(mention("cold", probability=0.2)) == doubt(mention("cold", probability=0.8)) == 0.8


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        (
            "expected-errors",
            ["rickets", "colitis", "colitis", "mumps", "gout", "gout", "gout"],
        ),  # 0.97; √2 × 0.66; 0.88; √3 × 0.01
        ("probability", ["rickets", "mumps", "colitis", "colitis", "gout", "gout", "gout"]),
        ("frequency", ["gout", "gout", "gout", "colitis", "colitis", "rickets", "mumps"]),
        ("document", ["colitis", "rickets", "gout", "colitis", "gout", "mumps", "gout"]),
    ],
)
def test_orders(mention, order, wanted):
    sure = {"colitis": 0.7, "rickets": 0.3, "gout": 1.0, "mumps": 0.5}
    texts = ["colitis", "rickets", "gout", "colitis", "gout", "mumps", "gout"]
    made = [mention(text, f"D-{text}", start=9 * i, probability=sure[text]) for i, text in enumerate(texts)]
    queue = ReviewQueue(made, ORDERS[order])
    found = []
    while (number := queue.next(found)) is not None:
        found.append(number)
    assert [texts[number] for number in found] == wanted
    assert sorted(found) == list(range(7))


def test_groups(mention):
    made = [
        mention("Cold", "D1"),
        mention("cold", "D1", start=9, document="k2"),
        mention("cold", "D2", start=20),
        mention("cold", "D1", start=30, label="Gene"),
        mention("ALL", "D1", start=40),
        mention("all", "D1", start=50),
    ]
    queue = ReviewQueue(made)
    assert [queue.group(number) for number in range(6)] == [[0, 1], [0, 1], [2], [3], [4], [5]]
    assert [queue.needs_label(number) for number in range(6)] == [True] * 4 + [False] * 2
    assert queue.progress == (0, 6, 5)


def test_a_decided_text_is_not_asked_again(mention):
    queue = ReviewQueue([mention("cold", "D1"), mention("Cold", "D1", start=9), mention("flu", "D2", start=20)])
    queue.update({1: correction("accept", "cold", "D1")}, {})
    assert (queue.next(), queue.progress) == (2, (2, 3, 1))
    assert queue.decision(1).concept_ids == ("D1",)
    assert queue.decision(2) is None
    queue.update({}, {})
    assert queue.progress == (0, 3, 2)


def test_what_was_decided_otherwise_comes_first(mention):
    made = [mention("flu", "D2", score=0.1), *(mention("cold", "D1", start=start, score=0.9) for start in (9, 20))]
    queue = ReviewQueue(made)
    queue.update({1: correction("replace", "cold", "D3", scope="occurrence", start=9)}, {})
    assert (queue.next(), queue.disagrees(2), queue.disagrees(1), queue.disagrees(0)) == (2, True, False, False)
    queue.update({2: correction("accept", "cold", "D1", scope="occurrence", start=9)}, {})
    assert (queue.next(), queue.disagrees(2)) == (0, False)


def test_rejected_links_are_decided(mention):
    queue = ReviewQueue([mention("cold", "D1", "D2"), mention("flu"), mention("gout", "D4")])
    queue.update({1: correction("reject", "cold", "D1"), 2: correction("reject", "gout", "D5")}, {})
    assert queue.progress.decided == 0
    queue.update({4: correction("reject", "cold", "D2", "D1"), 3: correction("reject", "flu", "D9")}, {})
    assert [queue.decision(number) is not None for number in range(3)] == [True, True, False]


def test_other_corpora_are_noticed(mention):
    queue = ReviewQueue([mention("cold", "D1", document="k2")])
    one = {1: correction("accept", "cold", "D1", scope="corpus", document="k1")}
    queue.update(one, {"k1": ["notes"]})
    assert queue.progress.decided == 0
    queue.update(one, {"k1": ["notes"], "k2": ["notes"]})
    assert queue.progress.decided == 1


TEXTS, LABELS, IDS = ("cold", "Cold", "flu"), ("", "Disease", "Gene"), ("D1", "D2")
made = st.builds(
    lambda action, text, one, scope, document, start, label: correction(
        action, text, *(() if action == "no_mention" else (one,)),
        scope=scope, document=document, start=start, label=label,
    ),
    *map(st.sampled_from, (ACTIONS, TEXTS, IDS, SCOPES, sorted(CORPORA), (0, 9), LABELS)),
)  # fmt: skip
steps = st.lists(st.one_of(made, st.integers(0, 9)), max_size=12)


@settings(max_examples=60)
@given(steps)
def test_a_queue_that_is_kept_up_to_date_is_like_a_new_one(mention, steps):
    mentions = [
        mention(text, *ids, document=document, start=start, label=label, score=0.5)
        for document in CORPORA
        for text, start, label, ids in [("cold", 0, "Disease", ("D1",)), ("Cold", 9, "", ("D2",)), ("flu", 0, "", ())]
    ]
    kept, corrections = ReviewQueue(mentions), {}
    for number, step in enumerate(steps):
        if isinstance(step, Correction):
            corrections[number] = step
        else:
            corrections.pop(step, None)
        kept.update(corrections, CORPORA)
    fresh = ReviewQueue(mentions)
    fresh.update(corrections, CORPORA)
    numbers = range(len(mentions))
    assert [kept.decision(one) for one in numbers] == [fresh.decision(one) for one in numbers]
    assert [kept.disagrees(one) for one in numbers] == [fresh.disagrees(one) for one in numbers]
    assert (kept.next(), kept.progress) == (fresh.next(), fresh.progress)
