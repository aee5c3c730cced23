import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.review import corrections as decisions_module
from spacy_sapbert.review.corrections import ACTIONS, SCOPES, Correction, Decision, Decisions, document_key, text_key

from ..cases import cases

ONE = Correction("accept", "occurrence", "k", 0, 4, "cold", ("D003139",))


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("scope", SCOPES)
def test_what_can_be(action, scope):
    ids = () if action == "no_mention" else ("D1", "D2")
    one = ONE._replace(action=action, scope=scope, concept_ids=ids)
    (one.with_flags(["negated"]) if action == "flag" else one).check()


@pytest.mark.parametrize(*cases(__file__, "what_cannot_be"))
def test_what_cannot_be(wrong, reason):
    with pytest.raises(SapbertError, match="E406") as raised:
        ONE._replace(**wrong).check()
    assert reason in str(raised.value)


def test_a_missed_mention_may_have_no_concept():
    ONE._replace(action="add", concept_ids=()).check()


def test_flags():
    mended = ONE._replace(action="flag", concept_ids=(), label="negated family")
    mended.check()
    none = mended._replace(label="none")
    none.check()
    for wrong in ("", "family negated", "wrong", "negated wrong"):
        with pytest.raises(SapbertError, match="flags, or none"):
            mended._replace(label=wrong).check()
    decisions = Decisions([ONE, mended], {})
    assert decisions.flags_of("k", 0, 4) == ("negated", "family")
    assert decisions.of("k", 0, 4, "cold") == Decision(ONE, frozenset())
    assert Decisions([mended, none], {}).flags_of("k", 0, 4) == ()
    assert decisions.flags_of("k", 0, 5) is None
    assert ONE.flags is None


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


CORPORA = {"k1": ["notes"], "k2": ["notes"], "k3": ["other"]}


def correction(action, *ids, scope="occurrence", document="k1", start=0, text="cold", label=""):
    return Correction(action, scope, document, start, start + len(text), text, ids, label)


def decided(*corrections, document="k1", start=0, text="cold", label=""):
    return Decisions(corrections, CORPORA).of(document, start, start + len(text), text, label)


def test_nothing_was_decided():
    assert decided() == Decision(None, frozenset())
    assert (decided().concept_ids, decided().is_no_mention) == (None, False)


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
    assert decisions.added("k1", text) == [(9, 12, "Disease", False)]  # the other one does not fit the text
    assert decisions.added("k2", text) == []
    assert decisions.of("k1", 9, 12, "flu", "Disease").concept_ids == ("D2",)
    removed = correction("no_mention", start=9, text="flu")
    assert Decisions([flu, removed], CORPORA).added("k1", text) == []
    assert len(Decisions([flu, flu._replace(concept_ids=("D4",))], CORPORA).added("k1", text)) == 1


def added(text, *corrections, document="k2"):
    return [one[:3] for one in Decisions(corrections, CORPORA).added(document, text)]


def flu(scope="corpus", label="", text="flu", action="add", ids=("D2",)):
    return correction(action, *ids, scope=scope, start=9, text=text, label=label)


@pytest.mark.parametrize(
    ("scope", "same_corpus", "elsewhere"), [("occurrence", 0, 0), ("corpus", 1, 0), ("everywhere", 1, 1)]
)
def test_where_an_added_text_is_a_mention(scope, same_corpus, elsewhere):
    wanted = [(2, 5, "")]
    assert added("a flu.", flu(scope)) == wanted * same_corpus
    assert added("a flu.", flu(scope), document="k3") == wanted * elsewhere
    assert added("a flu.", flu(scope), document="unknown") == wanted * elsewhere


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(flu), FLU? Flu;flu", [(1, 4), (12, 15), (16, 19)]),  # a short form is another text
        ("influenza, fluid, flue", []),
        ("", []),
        (" \n", []),
        ("\U0001f600 e\u0301 flu", [(5, 8)]),  # characters, not bytes or UTF-16 units
    ],
)
def test_places_of_an_added_text(text, found):
    assert [one[:2] for one in added(text, flu())] == found


@pytest.mark.parametrize(
    ("taught", "text", "found"),
    [
        ("cold", "colds, Colds", [(0, 5, True), (7, 12, True)]),
        ("lightheadedness", "lightheaded and light-headed", [(0, 11, True), (16, 28, True)]),
        ("light-headed", "a lightheaded man", [(2, 13, True)]),
        ("anuria", "anuric failure", [(0, 6, True)]),
        ("infection", "was infected", []),  # a word of general language
        ("UTI", "UTIs, uti", [(0, 4, True)]),
        ("heart attack", "heart attacks. Heart (attack", [(0, 13, True)]),
        ("cold flu", "cold, flus", []),
        ("(flu)", "flus", []),
        ("Ca2+", "Ca2 is", []),
    ],
)
def test_inflections_of_an_added_text(taught, text, found):
    places = Decisions([flu(text=taught)], CORPORA).added("k2", text)
    assert [(*one[:2], one.is_inflected) for one in places] == found


def test_inflections_of_a_text():
    cyst, cysts = correction("replace", "D1", scope="corpus", text="renal cyst"), "Renal cysts"
    assert decided(cyst, text=cysts).concept_ids == decided(cyst, text="renal-cyst").concept_ids == ("D1",)
    assert decided(cyst._replace(scope="occurrence"), text=cysts).concept_ids is None
    assert decided(cyst, text=cysts, document="k3").concept_ids is None
    assert decided(correction("reject", "D1", scope="corpus", text="cyst"), text="cysts").rejected == {"D1"}
    assert decided(correction("no_mention", scope="corpus", text="anuria"), text="anuric").is_no_mention
    assert decided(correction("accept", "D1", scope="corpus", text="oxygen"), text="oxygenation").concept_ids is None


def test_a_drug_is_no_inflection_of_its_effect():
    effect = correction("accept", "D1", scope="corpus", text="diuresis")
    assert decided(effect, text="diuretic", label="Disease").concept_ids == ("D1",)
    assert decided(effect, text="diuretic", label="Chemical").concept_ids is None
    assert decided(effect, text="Diureses", label="Chemical").concept_ids == ("D1",)


def test_the_text_itself_takes_precedence_over_its_inflections():
    own = correction("accept", "D1", scope="everywhere", text="ulcer")
    plural = correction("reject", "D1", scope="corpus", text="ulcers")
    adjective = correction("replace", "D2", scope="corpus", text="ulcerous")
    assert decided(own, plural, adjective, text="ulcer").concept_ids == ("D1",)
    assert decided(plural, adjective, text="ulcer").rejected == {"D1"}
    assert decided(own, plural, adjective, text="ulcerous").concept_ids == ("D2",)
    here = correction("no_mention", text="ulcers")
    assert decided(own, here, text="ulcers").is_no_mention


def test_short_forms_keep_their_case():
    assert added("all ALL All", flu(text="ALL")) == [(4, 7, "")]


def test_punctuation_of_an_added_text():
    assert added("a (flu) b", flu(text="(flu)")) == [(2, 7, "")]
    assert added("flu", flu(text="(flu)")) == added("flu a (flu", flu(text="(flu)")) == []
    assert added("cold flu, COLD\n flu, cold-flu", flu(text="Cold  flu")) == [(0, 8, ""), (10, 19, ""), (21, 29, "")]
    assert added("+++ a", flu(text="+++")) == []  # only words are searched


def test_several_labels_of_an_added_text():
    both = flu(label="Disease"), flu(label="Virus")
    assert added("flu", *both) == [(0, 3, "Disease"), (0, 3, "Virus")]
    none = flu(label="Virus", action="no_mention", ids=())
    assert added("flu", *both, none) == [(0, 3, "Disease")]
    assert added("flu", *both, flu(action="no_mention", ids=())) == []


def test_an_added_text_that_is_not_a_mention_any_more():
    none = flu(action="no_mention", ids=())
    assert added("flu", flu("everywhere"), none) == []
    assert added("flu", flu("everywhere"), none, document="k3") == [(0, 3, "")]
    assert added("flu", flu("corpus"), none._replace(scope="everywhere")) == [(0, 3, "")]  # the narrower scope
    assert added("flu", none, flu()) == [(0, 3, "")]


def test_other_decisions_leave_it_a_mention():
    for action in ("accept", "replace", "reject"):
        assert added("flu", flu(), flu(action=action)) == [(0, 3, "")]
    here = flu("occurrence")
    assert added("cold and flu", here, here._replace(action="reject"), document="k1") == [(9, 12, "")]
    assert added("flu", flu(), flu("everywhere", action="reject"), document="k3") == []


def test_words_are_looked_at_once_for_any_length(monkeypatch):
    looked = []
    split = decisions_module.read_words
    monkeypatch.setattr(decisions_module, "read_words", lambda *one: looked.append(len(one[0])) or split(*one))
    decisions = Decisions([flu(text=f"flu {number}") for number in range(50)], CORPORA)
    looked.clear()
    text = "cold flu 7 " * 3000
    assert len(decisions.added("k2", text)) == 3000
    assert looked == [len(text)]


def test_a_narrower_rejection_holds_against_a_wider_acceptance():
    rejected, everywhere = correction("reject", "D1"), correction("accept", "D1", scope="everywhere")
    for corrections in ((rejected, everywhere), (everywhere, rejected)):
        found = decided(*corrections)
        assert (found.concept_ids, found.rejected) == (None, {"D1"})
        assert decided(*corrections, start=9).concept_ids == ("D1",)
    assert decided(rejected, correction("accept", "D2", scope="everywhere")).concept_ids == ("D2",)


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
