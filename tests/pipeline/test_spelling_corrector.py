import pickle

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Span
from thinc.api import ConfigValidationError

from spacy_sapbert.errors import BadRecordError, DamagedError, SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.pipeline.attributes import set_abbreviation_occurrences, set_composite_splits, set_matched_name
from spacy_sapbert.pipeline.spelling_corrector import WORDS_FILE, SpellingCorrector, read_corrections
from spacy_sapbert.text.abbreviations import AbbreviationOccurrence
from spacy_sapbert.text.spelling import KnownWords
from spacy_sapbert.types import Name, Record

EMPTY = spacy.blank("en")


@pytest.fixture
def speller(kb):
    """A function that makes a pipeline which corrects spelling, by a list or by the vocabulary."""

    def make(corrections=None):
        nlp = spacy.blank("en")
        nlp.add_pipe("spelling_corrector", config={"kb": kb, "corrections": corrections})
        nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none"})
        return nlp

    return make


def texts_and_ids(nlp, doc):
    return [[(link.text, link.concept_id) for link in ent._.links] for ent in nlp(doc).ents]


# --- what is corrected


def test_a_misspelt_mention_is_linked_as_it_was_meant(speller, mark):
    nlp = speller()
    doc = mark(nlp, "Brest cancer, coloretcal cancer", "Brest cancer", "coloretcal cancer")
    assert texts_and_ids(nlp, doc) == [[("Breast cancer", "D001943")], [("colorectal cancer", "D015179")]]
    assert [ent.text for ent in doc.ents] == ["Brest cancer", "coloretcal cancer"]
    assert [ent._.corrections for ent in doc.ents] == [
        {"Brest cancer": "Breast cancer"},
        {"coloretcal cancer": "colorectal cancer"},
    ]


def test_names_are_looked_up_as_they_stand(speller, mark, looked_up):
    nlp = speller()
    doc = nlp(mark(nlp, "Breast cancers, ovarian cancer", "Breast cancers", "ovarian cancer"))
    assert looked_up == [["Breast cancers", "ovarian cancer"]]
    assert [ent._.corrections for ent in doc.ents] == [{}, {}]


def test_a_correction_that_is_no_better_is_not_taken(speller, mark, tmp_path):
    (tmp_path / "list.txt").write_text("aspirin||morphine\ncold||cool\nmorfine||morphine\n")
    nlp = speller(str(tmp_path / "list.txt"))
    doc = mark(nlp, "aspirin cold morfine", "aspirin", "cold", "morfine")
    assert texts_and_ids(nlp, doc)[::2] == [[("aspirin", "D001241")], [("morphine", "D009020")]]
    corrections = [{"aspirin": "morphine"}, {"cold": "cool"}, {"morfine": "morphine"}]
    assert [ent._.corrections for ent in doc.ents] == corrections
    nlp.get_pipe("sapbert_linker").selection.spelling_margin = 2.0
    assert nlp(doc).ents[2]._.links[0].text == "morfine"


def test_parts_and_long_forms_are_corrected(speller, mark):
    nlp = speller()
    doc = mark(nlp, "brest and ovarain cancer, CF", "brest and ovarain cancer", "CF")
    set_composite_splits(doc.ents[0], [("brest cancer", "ovarain cancer")])
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(26, 28, "cystic fibosis", None, None)])
    composite, short = nlp(doc).ents
    assert [(link.text, link.split) for link in composite._.links] == [
        ("breast cancer", True),
        ("ovarian cancer", True),
    ]
    (link,) = short._.links
    assert (link.concept_id, link.text, link.long_form) == ("D003550", "cystic fibrosis", "cystic fibosis")


def test_correcting_again_writes_over_what_was_there(speller, mark):
    nlp = speller()
    corrector = nlp.get_pipe("spelling_corrector")
    doc = corrector(mark(nlp, "brest cancer", "brest cancer"))
    assert doc.ents[0]._.corrections == {"brest cancer": "breast cancer"}
    assert corrector(doc).ents[0]._.corrections == {"brest cancer": "breast cancer"}
    set_matched_name(doc.ents[0], "breast cancer")
    assert corrector(doc).ents[0]._.corrections == {}


def test_span_groups(kb, mark):
    nlp = spacy.blank("en")
    nlp.add_pipe("spelling_corrector", config={"kb": kb, "spans_key": "found"})
    doc = mark(nlp, "brest cancer and ovarain cancer", "ovarain cancer")
    doc.spans["found"] = [Span(doc, 0, 2, label="X")]
    nlp(doc)
    assert doc.spans["found"][0]._.corrections == {"brest cancer": "breast cancer"}
    assert doc.ents[0]._.corrections == {}


# --- the vocabulary and the list


def test_words_of_another_vocabulary(speller, tmp_path):
    record = Record("X", (Name("brest cancar", "preferred", "S"), Name("cystic", "exact", "S")))
    build_knowledge_base([record], tmp_path / "other.kb")
    component = speller().get_pipe("spelling_corrector")
    assert component.corrector("brest cancer") == "breast cancer"
    component.set_kb(str(tmp_path / "other.kb"))
    assert component.corrector("brest cancer") == "brest cancar"


@pytest.mark.parametrize("used", [False, True])
def test_a_list_stays_with_another_vocabulary(speller, tmp_path, used):
    (tmp_path / "list.txt").write_text("brest||chest\n")
    component = speller(str(tmp_path / "list.txt")).get_pipe("spelling_corrector")
    if used:
        assert component.corrector("brest") == "chest"
    component.set_kb("starter")
    assert component.corrector("brest cancer") == "chest cancer"


def test_a_list_is_read(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("Brest||breast\n\n smallbowel || small bowel \r\nbrest||breast\nœdema||edema", encoding="utf-8")
    pairs = {"brest": "breast", "smallbowel": "small bowel", "œdema": "edema"}
    assert read_corrections(path).pairs == pairs


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("brest", "it must have exactly two sides"),
        ("brest|breast", "it must have exactly two sides"),
        ("brest||breast||bust", "it must have exactly two sides"),
        ("small bowl||small bowel", "'small bowl' is not one word"),
        ("||breast", "'' is not one word"),
        ("brest||", "there is no correction of 'brest'"),
        ("FIST||fits", "'fist' is already corrected to 'first'"),
    ],
)
def test_bad_lines(tmp_path, line, reason):
    path = tmp_path / "list.txt"
    path.write_text(f"fist||first\n{line}\n")
    with pytest.raises(BadRecordError) as caught:
        read_corrections(path)
    assert f"{path}, line 2: {reason}" in str(caught.value)


def test_impossible_settings(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E406\] The setting corrections of mine is ; it must be null"):
        spacy.blank("en").add_pipe("spelling_corrector", name="mine", config={"corrections": ""})
    with pytest.raises(ConfigValidationError, match="corections"):
        spacy.blank("en").add_pipe("spelling_corrector", config={"corections": "list.txt"})
    component = SpellingCorrector(spacy.blank("en"), corrections=str(tmp_path / "missing.txt"))
    with pytest.raises(SapbertError, match=r"E120.*missing\.txt"):
        _ = component.corrector


# --- round trips

MISSPELT = "Patients had a brest cancer."


def said(nlp, doc):
    return [(ent.text, ent.kb_id_, ent._.corrections, ent._.links) for ent in nlp(doc).ents]


@pytest.fixture(params=["vocabulary", "list"])
def nlp_and_file(request, speller, tmp_path):
    """A pipeline that corrects spelling, and the file that it needs no more once it is saved."""
    path = tmp_path / "list.txt"
    path.write_text("brest||breast\n")
    nlp = speller(None if request.param == "vocabulary" else str(path))
    return nlp, path


def test_disk_bytes_and_pickle(nlp_and_file, mark, tmp_path):
    nlp, path = nlp_and_file
    expected = said(nlp, mark(nlp, MISSPELT, "brest cancer"))
    assert [said_of[1:3] for said_of in expected] == [("D001943", {"brest cancer": "breast cancer"})]
    nlp.to_disk(tmp_path / "saved")
    pickled, data = pickle.dumps(nlp), nlp.to_bytes()
    path.unlink()
    empty = spacy.blank("en")
    empty.add_pipe("spelling_corrector", config={"kb": "/not/there.kb"})
    empty.add_pipe("sapbert_linker", config={"kb": "/not/there.kb", "encoder": "none"})
    for again in (spacy.load(tmp_path / "saved"), pickle.loads(pickled), empty.from_bytes(data)):
        assert said(again, mark(again, MISSPELT, "brest cancer")) == expected
        for name in ("spelling_corrector", "sapbert_linker"):
            assert again.get_pipe(name).to_bytes() == nlp.get_pipe(name).to_bytes()


@settings(max_examples=20)
@given(st.lists(st.text(max_size=12), max_size=8))
def test_the_words_of_any_vocabulary_survive(names):
    component, other = SpellingCorrector(EMPTY), SpellingCorrector(EMPTY)
    component._corrector = KnownWords.of_names(names)
    assert other.from_bytes(component.to_bytes()).corrector.counts == component.corrector.counts


def test_damaged_words(speller, tmp_path):
    speller().get_pipe("spelling_corrector").to_disk(tmp_path / "saved")
    (tmp_path / "saved" / WORDS_FILE).write_text("breast\tmany\n")
    with pytest.raises(DamagedError, match="saved"):
        SpellingCorrector(spacy.blank("en")).from_disk(tmp_path / "saved")


def test_what_was_saved_there_before_is_replaced(speller, tmp_path):
    (tmp_path / "list.txt").write_text("brest||chest\n")
    by_list = speller(str(tmp_path / "list.txt")).get_pipe("spelling_corrector")
    by_words = speller().get_pipe("spelling_corrector")
    for component, expected in ((by_list, "chest cancer"), (by_words, "breast cancer"), (by_list, "chest cancer")):
        component.to_disk(tmp_path / "saved")
        again = SpellingCorrector(spacy.blank("en")).from_disk(tmp_path / "saved")
        assert again.corrector("brest cancer") == expected
