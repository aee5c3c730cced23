import csv
import gzip
import json
import pickle
from collections import defaultdict
from pathlib import Path

import pytest
import spacy

import spacy_sapbert
from spacy_sapbert.pipeline.box import LABELS, load, types_of_labels
from spacy_sapbert.starter import BOX

TEXT = (
    "Cisplatin (CDDP) caused nephrotoxicity in mice. CDDP was given to patients with ovarian cancer, and their tumors "
    "had mutations of BRCA1."
)


@pytest.fixture
def box(whole_vocabulary):
    return spacy.load("spacy_sapbert")


def entities(doc):
    return {(entity.text, entity.label_) for entity in doc.ents}


def test_mentions_of_several_types_are_found_and_linked(box):
    doc = box(TEXT)
    found = {
        ("Cisplatin", "Chemical"),
        ("CDDP", "Chemical"),
        ("nephrotoxicity", "Disease"),
        ("mice", "Species"),
        ("patients", "Species"),
        ("ovarian cancer", "Disease"),
        ("BRCA1", "Gene"),
    }
    assert found <= entities(doc)
    ids = {entity.text: entity.kb_id_ for entity in doc.ents}
    assert ids["ovarian cancer"] == "D010051"
    assert all(0 <= link.probability <= 1 for entity in doc.ents for link in entity._.links if link.concept_id)


@pytest.mark.slow
def test_chemicals_of_articles_are_found(box, data_dir):
    marked = defaultdict(set)
    with Path(__file__).with_name("article_chemicals.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            marked[row["document"]].add((int(row["start"]), int(row["end"])))
    with gzip.open(data_dir / "documents/more_texts/more_texts.jsonl.gz", "rt", encoding="utf-8") as lines:
        articles = [article for article in map(json.loads, lines) if article["id"] in marked]
    found, right = 0, 0
    for article in articles:
        chemicals = [entity for entity in box(article["text"]).ents if entity.label_ == "Chemical"]
        found += len(chemicals)
        right += sum((one.start_char, one.end_char) in marked[article["id"]] for one in chemicals)
    assert right >= 0.9 * sum(map(len, marked.values()))
    assert right >= 0.78 * found


def test_everyday_text_and_ions(box):
    letter = box("Dear Ms. Le, the cat ate apple pie, see NIH grant R01 CA000001.")
    assert {label for _, label in entities(letter)} == {"Species"}
    ions = entities(box("The enzyme needs Mg2+ and ATP, and the water has Hg2+ and Cd2+."))
    assert {("Mg2+", "Chemical"), ("Cd2+", "Chemical")} <= ions
    assert ("hepatitis C", "Disease") in entities(box("He has hepatitis C."))


def test_the_function_and_the_name_load_the_same(box):
    assert spacy_sapbert.load is load
    nlp = load(exclude=["sapbert_linker", "gene_species"], disable=["repeated_mentions"])
    assert nlp.component_names == [
        name for name in box.component_names if name not in ("sapbert_linker", "gene_species")
    ]
    assert nlp.disabled == ["repeated_mentions"]
    assert nlp.meta["name"] == "spacy_sapbert"


def test_spacy_knows_the_package_as_a_pipeline(box):
    info = spacy.info("spacy_sapbert")
    assert (info["version"], info["pipeline"]) == (spacy_sapbert.__version__, box.pipe_names)
    assert "spacy_sapbert" in spacy.util.get_installed_models()


def test_settings_can_be_given(whole_vocabulary):
    nlp = load(config={"components": {"ner": {"only_labels": ["Gene"]}, "sapbert_linker": {"k": 3}}})
    assert {label for _, label in entities(nlp(TEXT))} == {"Gene"}
    assert nlp.get_pipe("sapbert_linker").k == 3


def test_it_stays_so_when_saved_and_pickled(box, tmp_path):
    box.to_disk(tmp_path)
    found = entities(box(TEXT))
    for nlp in (spacy.load(tmp_path), pickle.loads(pickle.dumps(box))):
        assert entities(nlp(TEXT)) == found


def test_the_files_are_small_and_have_a_card():
    sizes = {path.relative_to(BOX).as_posix(): path.stat().st_size for path in BOX.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 14_000_000
    assert {"README.md", "config.cfg", "ner/model", "vocab/vectors"} <= set(sizes)
    assert "# " in (BOX / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("types", "labels"),
    [
        (["Disease", "chemical"], {"Disease": ["Disease"], "Chemical": ["chemical"]}),
        (["Symptom", "Drug", "cellline"], {"Disease": ["Symptom"], "Chemical": ["Drug"], "CellLine": ["cellline"]}),
        (["T047", "T191", "T028"], {"Disease": ["T047", "T191"], "Gene": ["T028"]}),
        (["Phenotype", "T061"], {}),
        ([], {}),
    ],
)
def test_types_of_a_vocabulary_that_the_labels_fit(types, labels):
    assert types_of_labels(types) == labels
    assert set(labels) <= set(LABELS)
