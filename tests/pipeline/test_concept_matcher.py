import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Span
from spacy.training import Example

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.pipeline.attributes import set_abbreviation_occurrences
from spacy_sapbert.text.abbreviations import AbbreviationOccurrence
from spacy_sapbert.types import Name, Record

from ..cases import cases


@pytest.fixture
def make(kb):
    """A function that makes a pipeline of a matcher with some settings."""

    def make(**config):
        nlp = spacy.blank("en")
        nlp.add_pipe("concept_matcher", config={"kb": kb, **config})
        return nlp

    return make


def found(nlp, text):
    return [(ent.text, ent.label_) for ent in nlp(text).ents]


# --- what is a name


@pytest.mark.parametrize(*cases(__file__, "names_are_found"))
def test_names_are_found(make, text, names):
    assert [name for name, _ in found(make(), text)] == names


@pytest.mark.parametrize(
    ("text", "name"), [("He has flu C.", "flu C"), ("Flu C. He left (flu A.)", "Flu C"), ("flu C. difficile", "flu C.")]
)
def test_the_period_of_a_sentence_is_no_part_of_a_name(make, tmp_path, text, name):
    flu = Record("X:1", (Name("flu C", "exact", "t"),), types=("Disease",))
    doc = make(kb=str(build_knowledge_base([flu], tmp_path / "flu.kb").path))(text)
    assert ([ent.text for ent in doc.ents], doc.text) == ([name], text)


def test_tokens_that_hold_more_than_a_name(make):
    nlp = make()
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)  # splits at blanks alone
    assert found(nlp, "some aspirin, and an aspirin-like effect") == [("aspirin", "Chemical")] * 2


@pytest.mark.parametrize(*cases(__file__, "texts_without_blanks"))
def test_texts_without_blanks(make, text, names):
    nlp = make()
    doc = nlp(text)
    assert [ent.text for ent in doc.ents] == names
    assert doc.text == text
    given = nlp.make_doc(text)
    given.spans["other"] = [given[:1]]
    assert list(nlp(given).spans["other"]) == [given[:1]]  # no token is split


@pytest.mark.parametrize(*cases(__file__, "numbers_that_share_a_name"))
def test_numbers_that_share_a_name(make, tmp_path, text, names):
    texts = "diabetes", *(f"type {n} diabetes" for n in (1, 2, 3)), "HSV-1 infection", "HSV-2 infection"
    records = [Record(f"F{i}", (Name(name, "preferred", "test"),)) for i, name in enumerate(texts)]
    build_knowledge_base(records, tmp_path / "numbers.kb")
    nlp = make(kb=str(tmp_path / "numbers.kb"))
    assert [name for name, _ in found(nlp, text)] == names
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(tmp_path / "numbers.kb"), "encoder": "none"})
    links = [link.concept_id for ent in nlp(text).ents for link in ent._.links]
    assert len(links) == (1 if names == ["diabetes"] else 3 if "3" in text else 2)


def test_composites_are_one_mention(make):
    text = "breast and ovarian cancer or aspirin"
    assert [name for name, _ in found(make(), text)] == ["breast and ovarian cancer", "aspirin"]
    assert [name for name, _ in found(make(composites=False), text)] == ["ovarian cancer", "aspirin"]


# --- labels and filters


@pytest.mark.parametrize(*cases(__file__, "labels_are_types_unless_a_label_is_set"))
def test_labels_are_types_unless_a_label_is_set(make, config, text, mentions):
    assert found(make(**config), text) == mentions


def test_the_label_of_a_concept_without_a_type(make, tmp_path):
    build_knowledge_base([Record("X1", (Name("untyped thing", "preferred", "one"),))], tmp_path / "one.kb")
    assert found(make(kb=str(tmp_path / "one.kb")), "untyped things") == [("untyped things", "CONCEPT")]


def test_a_filter_can_be_changed(make):
    nlp = make(types=["Disease"])
    assert found(nlp, "aspirin, cold") == [("cold", "Disease")]
    nlp.get_pipe("concept_matcher").types = ["Drug"]
    assert found(nlp, "aspirin, cold") == [("aspirin", "Chemical")]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"types": ["Disease", "Gene"]}, r"E125.*'Gene'.*: Chemical, Disease, Drug"),
        ({"sources": ["UMLS"]}, r"E125.*'UMLS'.*: CTD, HPO, MEDIC"),
    ],
)
@pytest.mark.parametrize("text", ["aspirin", "nothing of the kind"])
def test_types_and_sources_that_the_vocabulary_does_not_have(make, config, message, text):
    with pytest.raises(SapbertError, match=message):
        make(**config)(text)


def test_the_vocabulary_is_asked_once_for_a_filter(make, monkeypatch):
    calls = []
    matching_entries = KnowledgeBase.matching_entries
    monkeypatch.setattr(
        KnowledgeBase, "matching_entries", lambda self, *filter: calls.append(filter) or matching_entries(self, *filter)
    )
    nlp = make(types=["Disease"])
    for _ in range(3):
        nlp("cold")
    assert calls == [(("Disease",), ())]


def test_min_length_and_stop_names(make):
    text = "ASA or ALL cancers"
    assert [name for name, _ in found(make(), text)] == ["ASA", "ALL", "cancers"]
    assert [name for name, _ in found(make(min_length=4), text)] == ["cancers"]
    assert [name for name, _ in found(make(stop_names=["asa", "cancers"]), text)] == ["ALL"]


def test_stop_names_are_stopped_in_the_plural_too(make, tmp_path):
    names = [Name(name, "exact", "one") for name in ("Drugs", "Strain", "drug allergy", "Diseases")]
    build_knowledge_base([Record("X1", tuple(names))], tmp_path / "one.kb")
    text = "drugs, Drug, strains, drug allergies, disease"
    assert [name for name, _ in found(make(kb=str(tmp_path / "one.kb")), text)] == ["drug allergies"]


def test_general_words_are_marked_for_an_ner_alone(make, tmp_path):
    names = [Name(name, "exact", "one") for name in ("Salts", "bath salt", "Placebo")]
    kb = str(build_knowledge_base([Record("X1", tuple(names))], tmp_path / "one.kb").path)
    text = "Salt, bath salts or placebos"
    assert [name for name, _ in found(make(kb=kb), text)] == ["bath salts"]
    assert len(make(kb=kb, spans_key="names")(text).spans["names"]) == 3
    assert len(found(make(kb=kb, stop_names=[]), text)) == 3


@pytest.mark.parametrize(*cases(__file__, "short_forms_stay_where_their_long_form_is_cut_short"))
def test_short_forms_stay_where_their_long_form_is_cut_short(make, long_form, names):
    nlp = make()
    doc = nlp.make_doc("Patients with ALS.")
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(14, 17, long_form, None, None)])
    assert [ent.text for ent in nlp(doc).ents] == names


def test_symbols_stay_where_their_long_form_is_not_a_name(make, tmp_path):
    genes = {"G1": ("COX-2", "PTGS2"), "G2": ("RP1", "RNA polymerase 1"), "G3": ("CAD", "carbamoylase")}
    records = [
        Record(id, tuple(Name(name, "exact", "test") for name in names), types=("Gene",)) for id, names in genes.items()
    ]
    build_knowledge_base(records, tmp_path / "genes.kb")
    nlp = make(kb=str(tmp_path / "genes.kb"), other_words=[])
    text = "The COX-2, RP1 and CAD"
    forms = ((4, 9, "cyclooxygenase-2"), (11, 14, "retinitis pigmentosa 1"), (19, 22, "coronary artery disease"))
    doc = nlp.make_doc(text)
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(*form, None, None) for form in forms])
    assert [ent.text for ent in nlp(doc).ents] == ["COX-2"]


def test_short_forms_of_a_name_are_marked_whatever_their_length(make):
    nlp = make()
    doc = nlp.make_doc("BC was seen, and XY.")
    forms = ((0, 2, "breast cancer"), (17, 19, "unknown thing"))
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(*form, None, None) for form in forms])
    assert [(ent.text, ent.label_) for ent in nlp(doc).ents] == [("BC", "Disease")]


# --- where it writes


def test_entities_stay_and_only_free_places_are_filled(make):
    nlp = make()
    doc = nlp.make_doc("severe cold with aspirin and breast cancer")
    given = [Span(doc, 0, 2, label="MINE", kb_id="Q1", span_id="first"), Span(doc, 6, 7, label="ORGAN")]
    doc.ents = given
    ents = nlp(doc).ents
    assert [(ent.text, ent.label_, ent.kb_id_, ent.id_) for ent in ents] == [
        ("severe cold", "MINE", "Q1", "first"),
        ("aspirin", "Chemical", "", ""),
        ("cancer", "ORGAN", "", ""),
    ]


def test_matches_can_take_the_place_of_entities(make):
    nlp = make(overwrite_ents=True)
    doc = nlp.make_doc("severe cold with nothing")
    doc.ents = [Span(doc, 0, 2, label="MINE"), Span(doc, 3, 4, label="MINE")]
    assert [(ent.text, ent.label_) for ent in nlp(doc).ents] == [("cold", "Phenomenon"), ("nothing", "MINE")]


def test_a_span_group_takes_all_spans_and_leaves_the_entities(make):
    nlp = make(spans_key="names")
    doc = nlp("breast and ovarian cancer")
    assert [span.text for span in doc.spans["names"]] == ["ovarian cancer", "breast and ovarian cancer"]
    assert doc.ents == ()
    assert list(nlp("nothing").spans["names"]) == []


def test_another_vocabulary_can_be_set(make, tmp_path):
    nlp = make(types=["Disease"])
    assert [name for name, _ in found(nlp, "cold and gadget")] == ["cold"]
    build_knowledge_base([Record("X1", (Name("gadget", "preferred", "one"),), (), ("Disease",))], tmp_path / "one.kb")
    nlp.get_pipe("concept_matcher").set_kb(str(tmp_path / "one.kb"))
    assert [name for name, _ in found(nlp, "cold and gadget")] == ["gadget"]


# --- texts of all kinds


@settings(deadline=None)
@given(
    st.text(st.sampled_from("aspirn cold,.()\x00\n\u0301\u202e\ufeff\U0001f48aALbe-"), max_size=60)
    | st.text(max_size=60)
)
def test_any_text_keeps_its_characters(text):
    doc = ANY(ANY.make_doc(text))
    assert doc.text == text
    for span in doc.spans["names"]:
        assert span.text.strip()


ANY = spacy.blank("en")
ANY.add_pipe("concept_matcher", config={"spans_key": "names"})


def test_a_vocabulary_of_punctuation(make, tmp_path):
    build_knowledge_base([Record("X1", (Name("?!", "preferred", "one"),))], tmp_path / "one.kb")
    assert found(make(kb=str(tmp_path / "one.kb")), "What?! ?! of") == []


def test_the_linker_looks_the_matched_name_up():
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher")
    nlp.add_pipe("sapbert_linker", config={"encoder": "none"})
    doc = nlp("Failure of the heart and strokes.")
    assert [ent._.matched_name.lower() for ent in doc.ents] == ["heart failure", "stroke"]
    assert [(ent.kb_id_, ent._.links[0].score) for ent in doc.ents] == [("D006333", 1.0), ("D020521", 1.0)]


# --- modifiers before a name


@pytest.mark.parametrize(
    ("modifiers", "names"),
    [
        ("outside", ["colorectal cancer", "cancer"]),
        ("kind", ["familial colorectal cancer", "Malignant cancer"]),
        ("all", ["severe familial colorectal cancer", "Malignant cancer"]),
    ],
)
def test_modifiers_before_a_name(make, modifiers, names):
    doc = make(modifiers=modifiers)("A severe familial colorectal cancer. Malignant cancer, familial.")
    assert [ent.text for ent in doc.ents] == names
    assert [ent._.matched_name.lower() for ent in doc.ents] == ["colorectal cancer", "cancer"]


def test_modifiers_never_take_another_match(make):
    text = "colorectal cancer severe cancer"
    assert [name for name, _ in found(make(modifiers="all"), text)] == ["colorectal cancer", "severe cancer"]
    doc = make(modifiers="all", spans_key="names")("severe colorectal cancer")
    texts = [span.text for span in doc.spans["names"]]
    assert "severe colorectal cancer" in texts
    assert len(set(texts)) == len(texts)


def test_modifiers_keep_composite_mentions(make):
    (plain,) = make()("severe breast and ovarian cancer").ents
    (wide,) = make(modifiers="all")("severe breast and ovarian cancer").ents
    assert (plain.text, wide.text) == ("breast and ovarian cancer", "severe breast and ovarian cancer")
    assert wide._.matched_name is plain._.matched_name is None


def test_modifiers_need_a_known_value_and_language(kb):
    with pytest.raises(SapbertError, match=r"E406.*modifiers.*outside, kind, all"):
        spacy.blank("en").add_pipe("concept_matcher", config={"kb": kb, "modifiers": "inside"})
    with pytest.raises(SapbertError, match=r"E406.*modifiers"):
        spacy.blank("de").add_pipe("concept_matcher", config={"kb": kb, "modifiers": "kind"})


# --- scores


def test_spacy_measures_the_entities(kb):
    nlp = spacy.blank("en")
    matcher = nlp.add_pipe("concept_matcher", config={"kb": kb})
    assert nlp.get_pipe_config("concept_matcher")["scorer"] == {"@scorers": "spacy.entity_ruler_scorer.v1"}
    reference = nlp.make_doc("aspirin for a cold, or lithium")
    reference.ents = [
        Span(reference, 0, 1, "Chemical"),
        Span(reference, 3, 4, "Phenomenon"),
        Span(reference, 1, 2, "X"),
    ]
    example = Example(nlp.make_doc(reference.text), reference)
    found = nlp.evaluate([example])
    assert (found["ents_p"], found["ents_r"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert nlp.config["training"]["score_weights"] == {}  # it does not learn, so training is not judged by it
    matcher.spans_key = "found"
    assert "ents_f" not in nlp.evaluate([example])
    matcher.spans_key, matcher.scorer = None, None
    assert "ents_f" not in nlp.evaluate([example])


def test_a_name_of_two_types_has_one_span_for_each_on_demand(tmp_path):
    records = [
        Record("D1", (Name("cold", "preferred", "test"),), types=("Disease",)),
        Record("S1", (Name("low temperature", "preferred", "test"), Name("cold", "synonym", "test")), types=("State",)),
    ]
    kb = build_knowledge_base(records, tmp_path / "two.kb")
    for all_types, expected in {False: ["Disease"], True: ["Disease", "State"]}.items():
        nlp = spacy.blank("en")
        nlp.add_pipe("concept_matcher", config={"kb": str(kb.path), "spans_key": "names", "all_types": all_types})
        doc = nlp("A cold")
        assert [span.label_ for span in doc.spans["names"]] == expected
        # entities cannot overlap
        nlp = spacy.blank("en")
        nlp.add_pipe("concept_matcher", config={"kb": str(kb.path), "all_types": all_types})
        assert [entity.label_ for entity in nlp("A cold").ents] == ["Disease"]


# --- names in other words


@pytest.fixture
def clinic(tmp_path):
    """The path of a vocabulary with findings and a substance."""
    names = {
        "F1": "Abnormality of the kidney",
        "F2": "Decreased muscle mass",
        "F3": "Kidney",
        "S1": "Renal anomaly acid",
    }
    records = [
        Record(id, (Name(name, "preferred", "test"),), types=("Substance" if id == "S1" else "Finding",))
        for id, name in names.items()
    ]
    build_knowledge_base(records, tmp_path / "clinic.kb")
    return str(tmp_path / "clinic.kb")


def test_names_in_other_words(make, clinic):
    nlp = make(kb=clinic)
    nlp.add_pipe("sapbert_linker", config={"kb": clinic, "encoder": "none", "threshold": 0.8})
    doc = nlp("Renal anomalies and reduced muscle mass of the kidney.")
    assert [(ent.text, ent._.matched_name, ent.kb_id_) for ent in doc.ents] == [
        ("Renal anomalies", "Abnormality of the kidney", "F1"),
        ("reduced muscle mass", "Decreased muscle mass", "F2"),
        ("kidney", "Kidney", "F3"),
    ]
    loose, _, exact = (ent._.links[0] for ent in doc.ents)
    assert 0.8 <= loose.score < 0.99 <= exact.score
    assert loose.reasons[0] == "“anomalies” is “Abnormality”, “Renal” is “kidney”"
    assert not exact.reasons


@pytest.mark.parametrize("settings", [{}, {"nested": True, "spans_key": "all"}])
def test_a_name_with_a_word_between_does_not_hide_one_with_this_word(make, tmp_path, settings):
    names = {"H1": "Abnormal growth of cancer", "C1": "Colon cancer"}
    records = [Record(id, (Name(name, "preferred", "test"),)) for id, name in names.items()]
    build_knowledge_base(records, tmp_path / "growth.kb")
    nlp = make(kb=str(tmp_path / "growth.kb"), **settings)
    assert found(nlp, "Abnormal growth of colon cancer.") == [("colon cancer", "CONCEPT")]
    assert found(nlp, "Abnormal growth of skin cancer.") == [("Abnormal growth of skin cancer", "CONCEPT")]


@pytest.mark.parametrize(*cases(__file__, "the_types_of_names_in_other_words"))
def test_the_types_of_names_in_other_words(make, clinic, other_words, text, names):
    doc = make(kb=clinic, other_words=other_words, spans_key="all", nested=True)(text)
    assert [span.text for span in doc.spans["all"]] == names


@pytest.mark.parametrize(*cases(__file__, "composites_in_other_words"))
def test_composites_in_other_words(make, tmp_path, text, names):
    texts = "Kidney neoplasm", "Liver neoplasm", "Increased weight", "Skin pain"
    records = [Record(f"F{i}", (Name(name, "preferred", "test"),)) for i, name in enumerate(texts)]
    build_knowledge_base(records, tmp_path / "tumors.kb")
    nlp = make(kb=str(tmp_path / "tumors.kb"))
    assert [name for name, _ in found(nlp, text)] == names
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(tmp_path / "tumors.kb"), "encoder": "none"})
    links = [link for ent in nlp(text).ents for link in ent._.links]
    assert [link.concept_id for link in links] == ["F0", "F1"][: 2 * len(names)]
    assert all("“tumors” is “neoplasm”" in link.reasons[0] and link.score < 0.99 for link in links)


def test_nested_names(make, clinic):
    text = "abnormality of the kidney"
    doc = make(kb=clinic, spans_key="all", nested=True)(text)
    assert sorted(span.text for span in doc.spans["all"]) == [text, "kidney"]
    assert [ent.text for ent in doc.ents] == [text]
    with pytest.raises(SapbertError, match="E406"):
        make(nested=True)


def test_a_saved_pipeline_without_words(make, clinic, tmp_path):
    nlp = make(kb=clinic)
    nlp.to_disk(tmp_path / "with")
    make(kb=clinic, other_words=[]).to_disk(tmp_path / "without")
    assert list((tmp_path / "with" / "shared").glob("finder-*"))
    assert not list((tmp_path / "without" / "shared").glob("finder-*"))
    for folder, config in (("with", {}), ("without", {"components.concept_matcher.other_words": ["Finding"]})):
        again = spacy.load(tmp_path / folder, config=config)
        assert found(again, "renal anomalies") == [("renal anomalies", "Finding")]


@pytest.mark.parametrize(("version", "n_found"), [(None, 0), (0, 1)])
def test_a_pipeline_of_an_older_version_needs_no_cache(make, clinic, tmp_path, monkeypatch, version, n_found):
    nlp = make(kb=clinic, other_words=[] if version is None else None)
    if version is not None:
        monkeypatch.setattr("spacy_sapbert.linking.other_words.OtherWords.VERSION", version)
    nlp.to_disk(tmp_path / "saved")
    monkeypatch.undo()
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", "/dev/null/cache")
    again = spacy.load(tmp_path / "saved", config={"components.concept_matcher.other_words": None})
    assert len(found(again, "renal anomalies")) == n_found
    again.to_disk(tmp_path / "again")
