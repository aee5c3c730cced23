import json

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Span

from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.outputs.records import doc_record
from spacy_sapbert.pipeline.attributes import set_assertion, set_concepts, set_drug, set_links
from spacy_sapbert.text.notes.drugs import Drug
from spacy_sapbert.text.snippets import REACH, part_offsets, snippet
from spacy_sapbert.types import Alternative, Document, DocumentConcept, Link, Mention

from ..cases import cases

NLP = spacy.blank("en")
LONG = "She was seen in the clinic of the town for the treatment of her long-standing "


@pytest.mark.parametrize(
    ("before", "mention", "after", "shown"),
    [
        ("A ", "cold", ".", "A [cold]."),
        ("", "cold", "", "[cold]"),
        ("post-", "cold", "\n\n\tand  more", "post-[cold] and more"),
        (LONG, "cold", "", "...clinic of the town for the treatment of her long-standing [cold]"),
        ("", "cold", f" {LONG[::-1]}", "[cold] gnidnats-gnol reh fo tnemtaert eht rof nwot eht fo cinilc..."),
        ("x" * 100, "cold", "y" * 100, f"...{'x' * 60}[cold]{'y' * 60}..."),
        ("", "a" * 200, "", f"[{'a' * 60}...{'a' * 60}]"),
    ],
)
def test_snippets(before, mention, after, shown):
    assert snippet(before + mention + after, len(before), len(before + mention)) == shown


@given(st.text(), st.text(min_size=1), st.text())
def test_a_snippet_is_a_short_line_with_the_mention(before, mention, after):
    shown = snippet(before + mention + after, len(before), len(before + mention))
    assert len(shown.splitlines()) == 1
    assert len(shown) <= 4 * REACH + 11
    if len(mention) <= 2 * REACH:
        assert " ".join(f"[{mention}]".split()) in shown


@pytest.mark.parametrize(*cases(__file__, "pieces_of_a_part"))
def test_pieces_of_a_part(mention, part, pieces):
    assert [mention[start:end] for start, end in part_offsets(mention, part)] == pieces


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_the_pieces_have_the_words_of_the_part_if_the_mention_has_them_in_order(words, part):
    remaining = iter(words)
    inside = bool(part) and all(word in remaining for word in part)
    mention = " ".join(words)
    found = part_offsets(mention, " ".join(part))
    assert bool(found) == inside
    if inside:
        assert " ".join(mention[start:end] for start, end in found).split() == part
        assert found == sorted(found)


def test_record_of_a_document(small_kb):
    doc = NLP("A cold\nday")
    doc.ents = [Span(doc, 1, 2, "Disease", kb_id="D003139")]
    other = Alternative("D003080", 0.5, "cold", 0.25)
    why = {"tie": "why", "reasons": ("instead of D003080", "words 90%")}
    set_links(doc.ents[0], [Link("cold", "D003139", 1.0, "cold", probability=0.75, runner_up=other, **why)])
    set_assertion(doc.ents[0], ["negated", "family"])
    set_drug(doc.ents[0], Drug("stopped", "5 mg"))
    set_concepts(doc, [DocumentConcept("D001241", 0.5, "Aspirin", (doc[:1],), (("prior", 1.5),))])
    record = doc_record(doc, doc.ents, small_kb, document=Document("7", doc.text, (), "A", {"year": 1}))
    runner_up = {"concept_id": "D003080", "name": "cold", "preferred_name": "cold", "score": 0.5, "probability": 0.25}
    link = {
        "text": "cold", "concept_id": "D003139", "name": "cold", "preferred_name": "Common Cold", "types": ["Disease"],
        "score": 1.0, "probability": 0.75, "long_form": None, "split": False, "reason": None, "tie": "why",
        "reasons": ["instead of D003080", "words 90%"], "runner_up": runner_up, "rejected": None,
    }  # fmt: skip
    entity = {
        "start": 2, "end": 6, "text": "cold", "label": "Disease", "snippet": "A [cold] day",
        "assertion": ["negated", "family"], "drug_state": "stopped", "dosage": "5 mg", "value": None, "section": None,
        "kb_id": "D003139", "kb_ents": [], "links": [link],
    }  # fmt: skip
    concept = {
        "id": "D001241", "score": 0.5, "name": "Aspirin",
        "evidence": [{"start": 0, "end": 1, "text": "A"}], "contributions": {"prior": 1.5},
    }  # fmt: skip
    expected = {"id": "7", "text": "A cold\nday", "title": "A", "entities": [entity], "abbreviations": []}
    assert record == {**expected, "concepts": [concept], "meta": {"year": 1}} == json.loads(json.dumps(record))


def test_a_discontinuous_mention_has_its_pieces(small_kb):
    mention = Mention(2, 21, "breast and skin ache", "Disease", offsets=((2, 8), (18, 22)))
    whole = mention._replace(end=22)
    doc = to_doc(NLP, Document("1", "A breast and skin ache", (whole,)))
    (entity,) = doc_record(doc, list(doc.spans["gold"]), small_kb)["entities"]
    assert entity["offsets"] == [[2, 8], [18, 22]]
    doc.user_data.clear()
    (entity,) = doc_record(doc, list(doc.spans["gold"]), small_kb)["entities"]
    assert "offsets" not in entity


def test_names_are_read_at_once(small_kb, monkeypatch):
    doc = NLP("a b c")
    doc.ents = [Span(doc, i, i + 1, "X") for i in range(3)]
    for ent, concept_id in zip(doc.ents, ("D003550", "D012640", "none"), strict=True):
        set_links(ent, [Link("x", concept_id, 1.0, "x", runner_up=Alternative("D009020", 0.5, "x"))])
    monkeypatch.setattr(small_kb, "_labels", {})
    queries = []
    small_kb._connection().set_trace_callback(queries.append)
    record = doc_record(doc, doc.ents, small_kb)
    small_kb._connection().set_trace_callback(None)
    names = [entity["links"][0]["preferred_name"] for entity in record["entities"]]
    assert names == ["Cystic Fibrosis", "Seizures", None]
    assert len(queries) == 2  # of names and of types
