import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.corrections.correction import SCOPES, Correction
from spacy_sapbert.corrections.decisions import NOTHING, Decisions

CORPORA = {"k1": ["notes"], "k2": ["notes"], "k3": ["other"]}


def correction(action, *ids, scope="occurrence", document="k1", start=0, text="cold", label=""):
    return Correction(action, scope, document, start, start + len(text), text, ids, label)


def decided(*corrections, document="k1", start=0, text="cold", label=""):
    return Decisions(corrections, CORPORA).of(document, start, start + len(text), text, label)


def test_nothing_was_decided():
    assert decided() == NOTHING
    assert (NOTHING.concept_ids, NOTHING.is_no_mention) == (None, False)


@pytest.mark.parametrize(
    ("scope", "same_place", "same_document", "same_corpus", "elsewhere"),
    [("occurrence", 1, 0, 0, 0), ("corpus", 1, 1, 1, 0), ("everywhere", 1, 1, 1, 1)],
)
def test_scopes(scope, same_place, same_document, same_corpus, elsewhere):
    one = correction("replace", "D1", scope=scope)
    found = [
        decided(one).concept_ids == ("D1",),
        decided(one, start=20).concept_ids == ("D1",),
        decided(one, document="k2").concept_ids == ("D1",),
        decided(one, document="k3").concept_ids == ("D1",),
    ]
    assert found == [same_place, same_document, same_corpus, elsewhere]
    assert decided(one, text="colt").concept_ids is None


def test_a_document_of_no_corpus():
    one = correction("replace", "D1", scope="corpus", document="k9")
    assert decided(one, document="k9").concept_ids is None


def test_a_narrower_scope_takes_precedence():
    everywhere = correction("replace", "D1", scope="everywhere")
    corpus = correction("no_mention", scope="corpus")
    here = correction("accept", "D3")
    assert decided(here, corpus, everywhere).concept_ids == ("D3",)
    assert decided(here, corpus, everywhere, start=9).is_no_mention
    assert decided(here, corpus, everywhere, document="k3").concept_ids == ("D1",)


def test_a_later_correction_takes_precedence():
    assert decided(correction("accept", "D1"), correction("no_mention")).is_no_mention
    assert decided(correction("no_mention"), correction("accept", "D1")).concept_ids == ("D1",)


def test_rejected_concepts():
    found = decided(correction("reject", "D1"), correction("reject", "D2", scope="everywhere"))
    assert (found.concept_ids, found.rejected) == (None, {"D1", "D2"})
    found = decided(correction("reject", "D1"), correction("accept", "D1"))
    assert (found.concept_ids, found.rejected) == (("D1",), set())
    found = decided(correction("accept", "D1"), correction("reject", "D1"))
    assert (found.concept_ids, found.rejected) == (None, {"D1"})
    found = decided(correction("reject", "D1", scope="everywhere"), correction("accept", "D1"))
    assert (found.concept_ids, found.rejected) == (("D1",), set())


def test_labels():
    one = correction("replace", "D1", label="Disease")
    assert decided(one, label="Disease").concept_ids == decided(one).concept_ids == ("D1",)
    assert decided(one, label="Gene").concept_ids is None
    assert decided(correction("replace", "D1"), label="Gene").concept_ids == ("D1",)


def test_added_mentions():
    text = "cold and flu"
    flu = correction("add", "D2", start=9, text="flu", label="Disease")
    decisions = Decisions([correction("accept", "D1"), flu, correction("add", "D3", start=3, text="flu")], CORPORA)
    assert decisions.added("k1", text) == [flu]  # the other one does not fit the text
    assert decisions.added("k2", text) == []
    assert decisions.of("k1", 9, 12, "flu", "Disease").concept_ids == ("D2",)
    removed = correction("no_mention", start=9, text="flu")
    assert Decisions([flu, removed], CORPORA).added("k1", text) == []
    assert Decisions([flu, flu._replace(concept_ids=("D4",))], CORPORA).added("k1", text)[0].concept_ids == ("D4",)


def test_the_number_of_corrections():
    decisions = Decisions([correction("accept", "D1"), correction("add", "D2", scope="corpus")], CORPORA)
    assert len(decisions) == 2


made = st.builds(
    correction,
    st.sampled_from(["accept", "replace", "reject"]),
    st.sampled_from(["D1", "D2"]),
    scope=st.sampled_from(SCOPES),
    document=st.sampled_from(sorted(CORPORA)),
    start=st.sampled_from([0, 9]),
)


@settings(max_examples=60)
@given(st.lists(made, max_size=6), st.sampled_from(sorted(CORPORA)), st.sampled_from([0, 9]))
def test_what_is_chosen_is_not_rejected(corrections, document, start):
    found = decided(*corrections, document=document, start=start)
    assert found.rejected.isdisjoint(found.concept_ids or ())
    if corrections and corrections[-1].action != "reject" and corrections[-1].scope == "occurrence":
        last = corrections[-1]
        assert decided(*corrections, document=last.document, start=last.start).concept_ids == last.concept_ids
