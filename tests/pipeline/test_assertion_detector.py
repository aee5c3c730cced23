"""Sentences in a clinical and a scientific style with the flags that a reader expects.

They were written before the cues were. A mention that is denied has no time, and a chronic disease of the past is
present in a note.
"""

import pickle
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Span

import spacy_sapbert.pipeline.assertion_detector as module
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.pipeline.attributes import DECIDED, get_assertion, register, set_assertion

from ..cases import cases

TEXT = "No evidence of pneumonia. Denies chest pain. Father had colon cancer."


OWN = [
    line.split("\t")[1:]
    for line in (Path(__file__).parent / "assertion_sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
]


def read(marked):
    """Return a sentence without marks, and the place and the flags of each mention."""
    text, mentions = "", []
    for piece in marked.split("["):
        mention, closed, after = piece.rpartition("]")
        words, _, flags = mention.partition("/")
        if closed:
            mentions.append((len(text), len(text) + len(words), tuple(flags.split(",")) if flags else ()))
        text += words + after
    return text, mentions


def flags_of(nlp, marked):
    """Return the flags that the pipeline finds, and those that are expected."""
    text, mentions = read(marked)
    doc = nlp.make_doc(text)
    doc.ents = [doc.char_span(start, end, label="FINDING") for start, end, _ in mentions]
    return [ent._.assertion for ent in nlp(doc).ents], [flags for _, _, flags in mentions]


def make(lang="en", **settings):
    nlp = spacy.blank(lang)
    nlp.add_pipe("assertion_detector", config=settings)
    return nlp


@pytest.fixture(scope="module")
def nlp():
    return make()


@pytest.fixture
def found():
    """A pipeline that finds three mentions and their flags."""
    nlp = make()
    ruler = nlp.add_pipe("entity_ruler", first=True)
    names = ("pneumonia", "chest pain", "colon cancer")
    ruler.add_patterns([{"label": "FINDING", "pattern": name} for name in names])
    return nlp


def check(doc):
    assert [(ent.text, ent._.assertion) for ent in doc.ents] == [
        ("pneumonia", ("negated",)),
        ("chest pain", ("negated",)),
        ("colon cancer", ("family",)),
    ]


@pytest.mark.parametrize(*cases(__file__, "sentence"))
def test_sentence(nlp, marked):
    flags, expected = flags_of(nlp, marked)
    assert flags == expected


@pytest.mark.parametrize(*cases(__file__, "known_misses_stay_known"))
def test_known_misses_stay_known(nlp, marked):
    flags, expected = flags_of(nlp, marked)
    assert flags != expected


def test_most_sentences_of_every_language_are_right():
    pipelines = {language: spacy.blank(language) for language in ("en", "es", "de", "fr", "nl", "pt")}
    for nlp in pipelines.values():
        nlp.add_pipe("note_sections")
        nlp.add_pipe("assertion_detector")
    wrong = []
    for language, marked in OWN:
        flags, expected = flags_of(pipelines[language], marked.replace("\\n", "\n"))
        wrong += [] if flags == expected else [(marked, flags)]
    assert len(wrong) <= 0.05 * len(OWN), wrong


# --- what a cue reaches


def test_a_cue_does_not_leave_its_sentence(found):
    doc = found("No evidence of sepsis. Pneumonia was found. No pneumonia\n\npneumonia")
    assert [ent._.assertion for ent in doc.ents] == [("negated",), ()]
    check(found(TEXT))


def test_the_end_of_a_line_ends_a_cue_if_wanted(found):
    text = "No pneumonia\nchest pain\n"
    assert [ent._.assertion for ent in found(text).ents] == [("negated",), ("negated",)]
    found.get_pipe("assertion_detector").break_at_lines = True
    assert [ent._.assertion for ent in found(text).ents] == [("negated",), ()]


def test_a_name_that_holds_a_cue_denies_nothing(nlp):
    marked = "[Migraine without aura] causes [headache], and no [Migraine without aura/negated] causes [rash/negated]."
    flags, expected = flags_of(nlp, marked)
    assert flags == expected


def test_sentences_of_the_document_are_used(found):
    doc = found.make_doc("No sepsis and pneumonia today")
    doc[3].is_sent_start = True
    assert [ent._.assertion for ent in found(doc).ents] == [()]
    assert [ent._.assertion for ent in found(doc.text).ents] == [("negated",)]
    assert not found(doc.text).has_annotation("SENT_START")  # what is guessed is not written


def test_a_cue_does_not_reach_far(found):
    doc = found("No pneumonia " + "and pneumonia " * 9 + "word " * 60 + "pneumonia")
    assert [ent._.assertion for ent in doc.ents] == [("negated",)] * 10 + [()]


def test_a_mention_over_two_sentences_counts_in_the_first(nlp):
    doc = nlp.make_doc("No fever. Chills.")
    doc.spans["both"] = [Span(doc, 1, 4), Span(doc, 3, 4)]
    nlp.get_pipe("assertion_detector").spans_key = "both"
    try:
        assert [span._.assertion for span in nlp(doc).spans["both"]] == [("negated",), ()]
    finally:
        nlp.get_pipe("assertion_detector").spans_key = None


def test_mentions_of_a_span_group_may_overlap_and_stand_in_any_order(nlp):
    doc = nlp.make_doc("Mild asthma. No severe chronic pain.")
    doc.spans["found"] = [Span(doc, 6, 8), Span(doc, 1, 2), Span(doc, 5, 8), Span(doc, 7, 8)]
    other = make(spans_key="found")
    other.tokenizer = nlp.tokenizer
    found = [span._.assertion for span in other.get_pipe("assertion_detector")(doc).spans["found"]]
    assert found == [("negated",), (), ("negated",), ("negated",)]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "no", "No evidence."])
def test_texts_without_mentions_stay_as_they_are(text):
    assert not make()(text).user_data


def test_every_memory_zone_has_the_same_flags(found):
    for _ in range(3):
        with found.memory_zone():
            check(found(TEXT))


# --- settings


def test_flags_of_another_run_are_replaced(found):
    doc = found.make_doc("A pneumonia.")
    doc.ents = [Span(doc, 1, 2, label="FINDING")]
    set_assertion(doc.ents[0], ["negated"])
    assert found.get_pipe("assertion_detector")(doc).ents[0]._.assertion == ()


def test_own_cues_replace_all(found):
    cues = module.default_cues()
    cues["negated"]["after"].append("absent")
    assert flags_of(make(cues=cues), "[Jaundice/negated] was absent. Father had [gout/family].") == (
        [("negated",), ("family",)],
        [("negated",), ("family",)],
    )
    spanish = make("es", cues={"negated": {"before": ["sin"]}})
    assert flags_of(spanish, "Sin [fiebre/negated]. Posible [gripe].") == ([("negated",), ()], [("negated",), ()])
    assert spanish.get_pipe("assertion_detector").flags == ("negated",)
    assert "absent" not in module.default_cues()["negated"]["after"]


@pytest.mark.parametrize("cues", [{"doubtful": {}}, {"negated": {"behind": ["no"]}}])
def test_unknown_flags_and_lists_are_refused(cues):
    with pytest.raises(SapbertError, match="E406"):
        make(cues=cues)


def test_a_language_without_cues_is_an_error():
    with pytest.raises(SapbertError, match=r"\[E125\] 'it' is not a language with cues\. .*setting cues"):
        make("it")
    assert make("it", cues={"negated": {"before": ["senza"]}}).get_pipe("assertion_detector").flags == ("negated",)


# --- the attribute


def test_a_mention_has_no_flags_without_the_component():
    doc = spacy.blank("en")("No pneumonia")
    register()
    assert doc[1:2]._.assertion == ()
    doc[1:2]._.assertion = ["negated"]
    assert doc[1:2]._.assertion == get_assertion(doc[1:2]) == ("negated",)


def test_pipelines_keep_the_component(found, tmp_path):
    found.to_disk(tmp_path / "saved")
    check(spacy.load(tmp_path / "saved")(TEXT))
    check(pickle.loads(pickle.dumps(found))(TEXT))
    for doc in found.pipe([TEXT] * 3, n_process=2):
        check(doc)


def test_links_carry_the_flags(small_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": str(small_kb.path)})
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    (mention,) = nlp("No cystic fibrosis.").ents
    assert mention._.links[0].assertion == ()
    nlp.add_pipe("assertion_detector")
    (mention,) = nlp("No cystic fibrosis.").ents
    assert [(link.concept_id, link.assertion) for link in mention._.links] == [("D003550", ("negated",))]
    mention._.links = mention._.links
    assert mention._.links[0].assertion == ("negated",)


def test_decided_flags_hold_for_the_state_of_a_drug_too():
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Chemical", "pattern": "aspirin"}])
    nlp.add_pipe("note_sections")
    doc = nlp("PLAN: No evidence of aspirin.")
    DECIDED.set(doc.ents[0], ())
    doc = nlp.add_pipe("assertion_detector")(doc)
    assert (doc.ents[0]._.assertion, doc.ents[0]._.drug.state) == ((), "planned")
