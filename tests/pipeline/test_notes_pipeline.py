"""The pipeline in the package for clinical notes: `spacy_sapbert.load("notes")`."""

import csv
import gzip
import json
import pickle
import warnings
from collections import Counter
from pathlib import Path

import pytest
import spacy

import spacy_sapbert
from spacy_sapbert import starter
from spacy_sapbert.errors import ChoiceError
from spacy_sapbert.kb.storage import CLINICAL, load_knowledge_base
from spacy_sapbert.pipeline.assemble import assemble
from spacy_sapbert.text.notes.sections import is_note

WARD_DRUGS = Path(__file__).with_name("ward_drugs.tsv")
NOTE = """CHIEF COMPLAINT: Swelling.

REVIEW OF SYSTEMS
• Cardiovascular: Endorses cough.
• Constitutional: Denies fever, reports pitting edema. He is tired, and had an injury.

PHYSICAL EXAMINATION
• Neck: No JVD.
"""
TABLE = """id\tname\tsynonyms\ttypes\tsource
HP:0030848\tElevated jugular venous pressure\t\tDisease\tHPO
HP:0030848\tjugular venous distention\tJVD\tDisease\tspacy-sapbert
D004487\tpitting edema\t\tDisease\tspacy-sapbert
D005221\ttired\t\tDisease\tspacy-sapbert
D014947\tinjury\t\tDisease\tspacy-sapbert
"""


@pytest.fixture(autouse=True)
def clinical_names(monkeypatch, tmp_path_factory):
    """A short list of the names of notes, and a cache for its vocabulary."""
    folder = tmp_path_factory.mktemp("clinical")
    (folder / "names.tsv.gz").write_bytes(gzip.compress(TABLE.encode(), mtime=0))
    monkeypatch.setattr(starter, "CLINICAL_NAMES", folder / "names.tsv.gz")
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(folder / "cache"))


@pytest.fixture
def nlp():
    return spacy_sapbert.load("notes")


def findings(doc):
    return {ent.text: (ent.kb_id_, ent._.section, *ent._.assertion) for ent in doc.ents if ent.label_ == "Disease"}


def test_findings_have_ids_sections_and_flags(nlp):
    found = findings(nlp(NOTE))
    assert found["JVD"] == ("HP:0030848", "examination", "negated")
    assert found["pitting edema"][:2] == ("D004487", "review of systems")
    assert found["fever"][2:] == ("negated",)
    assert {"tired", "injury"} <= found.keys()  # general words elsewhere
    assert not any(text.startswith(("Denies", "Endorses", "CHIEF", "Neck")) for text in found)


def test_it_is_what_assemble_saves(nlp, tmp_path):
    saved = assemble(tmp_path / "notes", notes=True)
    assert nlp.pipe_names == saved.pipe_names
    assert nlp.config["components"] == saved.config["components"]
    found = findings(nlp(NOTE))
    for other in (spacy.load(tmp_path / "notes"), pickle.loads(pickle.dumps(nlp))):
        assert findings(other(NOTE)) == found


def test_arguments_are_those_of_spacy():
    nlp = spacy_sapbert.load("notes", exclude=["ner"], disable="assertion_detector", config={"nlp": {"batch_size": 7}})
    assert "ner" not in nlp.component_names
    assert (nlp.disabled, nlp.batch_size) == (["assertion_detector"], 7)
    with pytest.raises(ChoiceError, match=r"'letters' is not a pipeline in the package\. Choose one of: abstracts"):
        spacy_sapbert.load("letters")


def test_the_vocabulary_is_that_of_the_package_with_more_names():
    kb, base = load_knowledge_base(CLINICAL), load_knowledge_base("starter")
    assert load_knowledge_base(CLINICAL) is kb
    ids = {line.split("\t")[0] for line in TABLE.splitlines()[1:]}
    assert len(kb) == len(base) + sum(base.get(id) is None for id in ids)
    assert "HPO license" in kb.meta["licence"]
    assert kb.get("HP:0030848").canonical_name == "Elevated jugular venous pressure"


def test_the_pipeline_for_abstracts_names_the_one_for_notes():
    nlp = spacy.load("spacy_sapbert", exclude=["sapbert_linker", "gene_species"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("BACKGROUND: Cough. METHODS: Trial. RESULTS: Fever. CONCLUSION: Edema.")
        spacy_sapbert.load("notes")(NOTE)
    with pytest.warns(UserWarning, match=r"\[W421\] A text has the headings of a clinical note") as seen:
        list(nlp.pipe([NOTE, NOTE]))
    assert len([warning for warning in seen if "W421" in str(warning.message)]) == 1


def test_the_marks_of_the_benchmark_are_words_of_notes(data_dir):
    with (data_dir / "documents" / "aci_notes" / "aci_notes.jsonl").open(encoding="utf-8") as lines:
        texts = {note["id"]: note["text"] for note in map(json.loads, lines)}
    with Path(__file__).with_name("note_findings.tsv").open(encoding="utf-8") as file:
        marks = list(csv.DictReader(file, delimiter="\t"))
    assert {mark["part"] for mark in marks} == {"tune", "figure"}
    marked = [texts[mark["document"]][int(mark["start"]) : int(mark["end"])] for mark in marks]
    assert all(text == text.strip() and text for text in marked)


def test_what_is_a_note():
    assert is_note(NOTE, "en")
    assert not is_note("Physical examination: normal. Results: none.", "en")
    assert not is_note(NOTE, "it")


@pytest.mark.slow
def test_drugs_as_wards_write_them(monkeypatch, request):
    monkeypatch.undo()  # the whole list of names
    request.getfixturevalue("whole_vocabulary")
    nlp = spacy_sapbert.load("notes")
    kb, outcomes = nlp.get_pipe("sapbert_linker").kb, Counter[str]()
    with WARD_DRUGS.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t") if " / " not in row["substance"]]
    docs = nlp.pipe(f"MEDICATIONS\n{row['written']} daily.\n" for row in rows)
    for row, doc in zip(rows, docs, strict=True):
        ids = [link.concept_id for ent in doc.ents for link in ent._.links if link.concept_id]
        names = {name.text.lower() for concept_id in ids for name in kb.names_of(concept_id)}
        outcomes["right" if row["substance"].lower() in names else "another" if ids else "none"] += 1
    assert outcomes["right"] >= 88
    assert outcomes["another"] == 0
