from itertools import pairwise

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Span

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.pipeline.repeated_mentions import RepeatedMentions

from ..cases import cases

NLP = spacy.blank("en")
NLP.add_pipe("abbreviation_resolver")


def look(text, *found, **config):
    """Return all mentions after a second look, as texts with offsets and labels.

    Args:
        text: The text.
        found: What the NER found: a text, its label, and which of its places in the text.
        config: The settings.
    """
    doc = with_entities(text, *found)
    RepeatedMentions(NLP, **config)(doc)
    return [(ent.start_char, ent.text, ent.label_) for ent in doc.ents]


def with_entities(text, *found):
    doc = NLP(text)
    spans = []
    for one, label, *places in found:
        starts = [start for start in range(len(text)) if text.startswith(one, start)]
        spans += [doc.char_span(starts[place], starts[place] + len(one), label=label) for place in places]
    doc.ents = spans
    return doc


def texts(mentions):
    return [text for _, text, _ in mentions]


# --- the same text


GOUT = "Gout or gout? A gout, no Gout, gouts."


@pytest.mark.parametrize(
    ("text", "found", "config", "expected"),
    [
        (GOUT, [("gout", "D", 0, 1)], {}, ["Gout", "gout", "gout", "Gout", "gouts"]),
        ("Gout and gout.", [("gout", "D", 0)], {}, ["gout"]),  # found once
        ("Gout and gout.", [("gout", "D", 0)], {"min_found": 1}, ["Gout", "gout"]),
        ("gout " * 10, [("gout", "D", 0, 1)], {}, ["gout"] * 10),
        ("gout " * 11, [("gout", "D", 0, 1)], {}, ["gout"] * 2),  # missed in most places
        ("gout " * 11, [("gout", "D", 0, 1)], {"min_share": 0.1}, ["gout"] * 11),
        ("gout " * 5, [("gout", "A", 0, 1), ("gout", "B", 2, 3)], {}, ["gout"] * 4),  # two labels as often
        ("", [], {}, []),
        (" ", [], {}, []),
        ("gout", [], {}, []),
    ],
)
def test_what_was_found_often_enough_is_found_everywhere(text, found, config, expected):
    mentions = look(text, *found, **config)
    assert texts(mentions) == expected
    assert {label for *_, label in mentions} == {label for _, label, *_ in found}


def test_the_inside_of_another_mention_does_not_count_as_missed():
    text = "gout gout " + "big gout " * 9 + "gout"
    found = look(text, ("gout", "D", 0, 1), ("big gout", "X", *range(9)))
    assert found[-1] == (len(text) - 4, "gout", "D")
    assert len(found) == 12


def test_labels_that_are_not_looked_at():
    text = "gout gout gout flu flu flu"
    found = look(text, ("gout", "A", 0, 1), ("flu", "B", 0, 1), only_labels=["A"])
    assert [label for *_, label in found] == ["A", "A", "A", "B", "B"]
    assert look(text, ("gout", "A", 0, 1), only_labels=["B"]) == [(0, "gout", "A"), (5, "gout", "A")]


# --- short and long forms

GBM = "glioblastoma multiforme (GBM). GBM, GBM and glioblastoma multiforme."


def test_a_short_form_follows_its_long_form():
    found = look(GBM, ("glioblastoma multiforme", "D", 0))
    assert texts(found) == ["glioblastoma multiforme", "GBM", "GBM", "GBM"]
    without_definition = GBM.replace("(", "").replace(")", "")
    assert len(look(without_definition, ("glioblastoma multiforme", "D", 0))) == 1


def test_a_long_form_follows_its_short_form():
    assert texts(look(GBM, ("GBM", "D", 1, 2)))[0] == "glioblastoma multiforme"
    assert len(look(GBM, ("GBM", "D", 1, 2))) == 5
    assert len(look(GBM, ("GBM", "D", 1))) == 1


@pytest.mark.parametrize(
    ("found", "correct", "labels"),
    [
        ([("glioblastoma multiforme", "D", 0), ("GBM", "C", 0, 1)], True, "DDDDD"),
        ([("glioblastoma multiforme", "D", 0), ("GBM", "C", 0, 1)], False, "DCCC"),
        ([("glioblastoma multiforme", "D", 0), ("glioblastoma multiforme", "C", 1), ("GBM", "C", 0, 1)], True, "DCCCC"),
    ],
)
def test_the_label_of_the_long_form_comes_before_the_own_label_of_a_short_form(found, correct, labels):
    assert "".join(label for *_, label in look(GBM, *found, correct=correct)) == labels


@pytest.mark.parametrize(
    ("text", "head", "labels"),
    [
        ("drug-induced anemia (DIA). DIA", "anemia", "DDD"),
        ("lost in cancer (LIC). LIC", "cancer", "DGG"),
        ("cancer genes (CGE). CGE", "cancer", "DGG"),
    ],
)
def test_a_short_form_has_the_label_of_what_ends_its_long_form(text, head, labels):
    short = text[-3:]
    assert "".join(label for *_, label in look(text, (head, "D", 0), (short, "G", 0, 1))) == labels


def test_a_short_form_that_is_found_a_plural():
    text = "Brain tumors (BTs). A BT is a BT, but BTs are not."
    assert texts(look(text, ("Brain tumors", "D", 0))).count("BT") == 2


CISPLATIN = "Cisplatin {} was given. {} and XYZ were not."


@pytest.mark.parametrize(*cases(__file__, "what_stands_in_brackets_behind_a_chemical_is_its_short_form"))
def test_what_stands_in_brackets_behind_a_chemical_is_its_short_form(brackets, label, is_short_form):
    short = brackets.strip("()[] of")
    text = CISPLATIN.format(brackets, short)
    found = look(text, ("Cisplatin", label, 0))
    assert texts(found) == ["Cisplatin", short, short] if is_short_form else ["Cisplatin"]
    assert texts(look(text, ("Cisplatin", label, 0), bracketed=[])) == ["Cisplatin"]


def test_a_mention_in_brackets_behind_a_chemical_keeps_its_label():
    text = CISPLATIN.format("(CDDP)", "CDDP")
    found = look(text, ("Cisplatin", "Chemical", 0), ("CDDP", "Gene", 0))
    assert [label for *_, label in found] == ["Chemical", "Gene"]


# --- corrections


def test_a_part_of_a_long_form_is_widened():
    text = "glioblastoma multiforme (GBM)"
    found = (("glioblastoma", "D", 0), ("GBM", "D", 0))
    assert texts(look(text, *found)) == ["glioblastoma multiforme", "GBM"]
    assert texts(look(text, *found, correct=False)) == ["glioblastoma", "GBM"]


@pytest.mark.parametrize(
    "found",
    [
        [("glioblastoma", "C", 0), ("GBM", "D", 0)],
        [("glioblastoma", "D", 0)],
        [("A glioblastoma", "D", 0), ("GBM", "D", 0)],
        [("glioblastoma", "D", 0), ("multiforme", "D", 0), ("GBM", "D", 0)],
    ],
    ids=["another label", "no short form", "begins before", "two inside"],
)
def test_a_part_that_stays(found):
    text = "A glioblastoma multiforme (GBM)"
    assert texts(look(text, *found)) == texts(look(text, *found, correct=False))
    assert "glioblastoma multiforme" not in texts(look(text, *found))


def test_two_long_forms_that_overlap_are_not_both_widened():
    doc = with_entities("acute heart failure stage (x) y", ("acute", "D", 0), ("stage", "D", 0), ("x", "D", 0))
    doc.user_data["._.", "abbreviations", None, None] = [
        [27, 28, "acute heart failure", 0, 19],
        [30, 31, "heart failure stage", 6, 25],
    ]
    doc.ents = [*doc.ents, Span(doc, len(doc) - 1, len(doc), label="D")]
    RepeatedMentions(NLP)(doc)
    assert [ent.text for ent in doc.ents] == ["acute heart failure", "stage", "x", "y"]


def test_one_text_gets_the_label_of_a_clear_majority():
    text = "gout, gout and gout"
    assert {label for *_, label in look(text, ("gout", "A", 0, 2), ("gout", "B", 1))} == {"A"}
    kept = look(text, ("gout", "A", 0, 2), ("gout", "B", 1), correct=False)
    assert [label for *_, label in kept] == ["A", "B", "A"]
    unclear = look(text + " gout gout", ("gout", "A", 0, 1, 2), ("gout", "B", 3, 4))
    assert [label for *_, label in unclear] == ["A", "A", "A", "B", "B"]


# --- the document


def test_entities_keep_their_ids():
    doc = with_entities("gout gout gout", ("gout", "D", 0))
    doc.ents = [*doc.ents, Span(doc, 1, 2, label="D", kb_id="MESH:1", span_id="one")]
    RepeatedMentions(NLP)(doc)
    assert [(ent.kb_id_, ent.id_) for ent in doc.ents] == [("", ""), ("MESH:1", "one"), ("", "")]


def test_unknown_tokens_stay_unknown_if_there_is_nothing_to_add():
    doc = NLP("gout and flu")
    doc.set_ents([Span(doc, 0, 1, label="D")], default="missing")
    assert [token.ent_iob_ for token in RepeatedMentions(NLP)(doc)] == ["B", "", ""]


def test_predict_leaves_the_document_alone():
    doc = with_entities("gout gout gout", ("gout", "D", 0, 1))
    (found,) = RepeatedMentions(NLP).predict([doc])
    assert found == [(0, 1, "D"), (1, 2, "D"), (2, 3, "D")]
    assert len(doc.ents) == 2


def test_a_second_look_at_the_result_changes_nothing():
    doc = with_entities(GBM, ("GBM", "D", 1, 2))
    component = RepeatedMentions(NLP)
    first = [(ent.start, ent.end) for ent in component(doc).ents]
    assert [(ent.start, ent.end) for ent in component(doc).ents] == first


WORDS = st.lists(
    st.sampled_from(["gout", "Gout", "GBM", "(GBM)", "glioblastoma", "multiforme", "-9", ","]), max_size=25
)


@given(WORDS, st.data())
@settings(max_examples=100, deadline=None)
def test_no_mention_overlaps_another_and_none_is_lost(words, data):
    doc = NLP(" ".join(words))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(doc)), max_size=8)))
    labels = st.sampled_from(["A", "B"])
    doc.ents = [Span(doc, *place, label=data.draw(labels)) for place in [*pairwise(cuts)][::2]]
    before = list(doc.ents)
    component = RepeatedMentions(NLP, min_found=1, correct=False)
    (places,) = component.predict([doc])
    assert all(first.end <= second.start for first, second in pairwise(places))
    assert {(ent.start, ent.end, ent.label_) for ent in before} <= set(places)
    component.correct = True
    after = component(doc).ents  # spaCy refuses entities that overlap
    assert all(any(ent.start <= old.start and old.end <= ent.end for ent in after) for old in before)


def test_one_long_token():
    doc = NLP.make_doc("gout " + "a" * 100_000 + " gout")
    doc.ents = [Span(doc, 1, 2, label="D")]
    assert [ent.label_ for ent in RepeatedMentions(NLP, min_found=1)(doc).ents] == ["D"]


@pytest.mark.parametrize("config", [{"min_found": 0}, {"min_share": -0.1}, {"min_share": 1.1}])
def test_settings_outside_their_range(config):
    (setting,) = config
    with pytest.raises(SapbertError, match=rf"E406.*{setting}"):
        RepeatedMentions(NLP, **config)
