"""Sentences of notes with the state of each drug that a reader expects, and what stands beside drugs and values."""

from pathlib import Path

import pytest
import spacy

from spacy_sapbert.text.notes.drugs import LANGUAGES

SENTENCES = Path(__file__).parents[2] / "pipeline" / "drug_sentences.tsv"
ROWS = [line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines()[1:]]


@pytest.fixture(scope="module")
def read():
    """A function that reads a sentence with marks. RETURNS: what is found of each drug, and the states expected."""
    pipelines = {language: spacy.blank(language) for language in LANGUAGES}
    for nlp in pipelines.values():
        nlp.add_pipe("note_sections")
        nlp.add_pipe("assertion_detector")

    def run(marked, language="en", label="Chemical"):
        text, mentions = "", []
        for piece in marked.replace("\\n", "\n").split("["):
            mention, closed, after = piece.rpartition("]")
            words, _, state = mention.partition("/")
            if closed:
                mentions.append((len(text), len(text) + len(words), state))
            text += words + after
        doc = pipelines[language].make_doc(text)
        doc.ents = [doc.char_span(start, end, label=label, alignment_mode="expand") for start, end, _ in mentions]
        return [ent._.drug for ent in pipelines[language](doc).ents], [state for *_, state in mentions]

    return run


def test_most_states_of_every_language_are_right(read):
    wrong, n = [], 0
    for language, marked in ROWS:
        found, expected = read(marked, language)
        n += len(expected)
        wrong += [(marked, drug) for drug, state in zip(found, expected, strict=True) if drug.state != state]
    assert {language for language, _ in ROWS} == set(LANGUAGES)
    assert len(wrong) <= 0.05 * n, wrong


@pytest.mark.parametrize(
    ("marked", "dosage", "value"),
    [
        ("[lisinopril] 20 mg PO daily.", "20 mg PO daily", ""),
        ("[albuterol] 2 puffs every 4 hours as needed for cough", "2 puffs every 4 hours as needed for cough", ""),
        ("[furosemide] was increased.", "", ""),
        ("Increase [furosemide] to 80 mg daily", "80 mg daily", ""),
        ("25 mg per day of [hydrochlorothiazide].", "25 mg per day", ""),
        ("[aspirin] 81 daily", "81 daily", ""),
        ("[metformin] 500 mg (BID) with meals, and", "500 mg (BID) with meals", ""),
        ("[glucose] 95", "", "95"),
        ("[creatinine]: 1.4 mg/dL (H)", "", "1.4 mg/dL (H)"),
        ("[troponin] <0.01 ng/mL", "", "<0.01 ng/mL"),
        ("[sodium] of 140, 3 days ago", "", "140"),
        ("[sodium 140]", "", "140"),
        ("[glucose] 5 hours later", "", ""),
        ("[potassium] 40 mEq", "40 mEq", ""),
        ("[vancomycin] level was 15", "", "15"),
        ("[warfarin] 2019", "", ""),
    ],
)
def test_what_stands_beside_is_kept_as_text(read, marked, dosage, value):
    (drug,), _ = read(marked)
    assert (drug.dosage, drug.value) == (dosage, value)


def test_other_mentions_have_no_state(read):
    assert read("[Asthma] 95 mg daily.", label="Disease")[0] == [("", "", "")]


def test_documents_that_are_no_notes_have_no_states():
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Chemical", "pattern": "aspirin"}])
    nlp.add_pipe("assertion_detector")
    assert nlp("He takes aspirin.").ents[0]._.drug == ("", "", "")
    nlp.add_pipe("note_sections", first=True)
    doc = nlp("He takes aspirin.")
    assert doc.ents[0]._.drug.state == "active"
    assert nlp.get_pipe("assertion_detector")(doc).ents[0]._.drug.state == "active"
