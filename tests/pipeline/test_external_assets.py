"""Pipelines that keep the path and the checksum of a vocabulary, instead of a copy."""

import os
import pickle
import shutil

import pytest
import spacy
import srsly
from spacy.training import Example
from thinc.api import Adam

from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.store.artifact import MANIFEST_FILE
from spacy_sapbert.types import Document, Mention, Name, Record

NAMES = ("concept_matcher", "sapbert_linker", "concept_retriever")
TEXT = "Cystic fibrosis and ovarian cancer."
LOSS = {"@losses": "spacy-sapbert.MarginalLikelihood.v1"}
BIOSYN = {"@misc": "spacy-sapbert.BioSyn.v1", "loss": LOSS, "k": 20, "dropout": False}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def file(kb, tmp_path):
    (tmp_path / "vocabulary").mkdir()
    return shutil.copyfile(kb, tmp_path / "vocabulary" / "my.kb")


@pytest.fixture
def make(file, tiny_encoder):
    def make(storage="external", index="Flat", **linker):
        settings = {"kb": str(file), "encoder": str(tiny_encoder), "index": index, "storage": storage}
        nlp = spacy.blank("en")
        nlp.add_pipe("concept_matcher", config={"kb": str(file), "storage": storage})
        nlp.add_pipe("sapbert_linker", config={**settings, **linker})
        signals = ["phrases", "document"]
        nlp.add_pipe("concept_retriever", config={**settings, "signals": signals, "threshold": 0.0})
        return nlp

    return make


@pytest.fixture
def saved(make, tmp_path):
    make().to_disk(tmp_path / "saved")
    return tmp_path / "saved"


def content(nlp):
    doc = nlp(TEXT)
    links = [(ent.text, ent.kb_id_, ent._.kb_ents) for ent in doc.ents]
    return links, [(concept.concept_id, round(concept.score, 5)) for concept in doc._.concepts]


def moved(path):
    """RETURNS (dict): the config that says where the knowledge base is now."""
    return {f"components.{name}.kb": str(path) for name in NAMES}


def kinds(folder):
    return sorted(path.name.partition("-")[0] for path in (folder / "shared").iterdir())


def test_the_pipeline_holds_paths_and_checksums(saved, file, make):
    assert kinds(saved) == ["encoder"]
    assert not [*saved.rglob("*.kb"), *saved.rglob("vectors.npy"), *saved.rglob("concepts.npy")]
    manifest = srsly.read_json(saved / "sapbert_linker" / MANIFEST_FILE)
    assert sorted(manifest["external"]) == ["kb", "ngrams", "vectors"]
    assert manifest["external"]["kb"] == {
        "path": str(file),
        "fingerprint": load_knowledge_base(file).fingerprint,
        "files": {".": file.stat().st_size},
    }
    assert sorted(srsly.read_json(saved / "concept_matcher" / MANIFEST_FILE)["external"]) == ["finder", "kb", "matcher"]
    assert sorted(srsly.read_json(saved / "concept_retriever" / MANIFEST_FILE)["external"]) == [
        "concept_vectors", "kb", "vectors",
    ]  # fmt: skip
    nlp = spacy.load(saved)
    assert content(nlp) == content(make("inside"))
    assert nlp.get_pipe("sapbert_linker").kb is nlp.get_pipe("concept_matcher").kb
    assert nlp.get_pipe("sapbert_linker").kb.path == file


def test_an_index_stays_in_the_cache(make, tmp_path):
    nlp = make(index="SQ8")
    nlp.to_disk(tmp_path / "saved")
    assert kinds(tmp_path / "saved") == ["encoder"]
    again = spacy.load(tmp_path / "saved")
    assert again.get_pipe("sapbert_linker").linker.generator.vectors.path.is_relative_to(tmp_path / "cache")
    assert content(again) == content(nlp)


@pytest.mark.parametrize("trip", ["bytes", "pickle", "processes", "alone"])
def test_round_trips(make, saved, tmp_path, trip):
    nlp = spacy.load(saved)
    expected = content(nlp)
    if trip == "bytes":
        data = nlp.to_bytes()
        assert b"SQLite format 3" not in data
        nlp = make("inside").from_bytes(data)
    elif trip == "pickle":
        nlp = pickle.loads(pickle.dumps(nlp))
    elif trip == "alone":
        nlp.get_pipe("sapbert_linker").to_disk(tmp_path / "linker")
        nlp.get_pipe("sapbert_linker").from_disk(tmp_path / "linker")
    else:
        assert [doc.text for doc in nlp.pipe([TEXT] * 3, n_process=2)] == [TEXT] * 3
    assert content(nlp) == expected


def test_from_one_storage_to_the_other_in_place(saved, file):
    expected = content(spacy.load(saved))
    inside = {f"components.{name}.storage": "inside" for name in NAMES}
    spacy.load(saved, config=inside).to_disk(saved)
    assert kinds(saved) == ["concepts", "encoder", "finder", "kb", "matcher", "ngrams", "vectors"]
    file.unlink()
    external = {f"components.{name}.storage": "external" for name in NAMES}
    nlp = spacy.load(saved, config=external)
    nlp.to_disk(saved)  # a file in the pipeline itself is no external file, so it goes to the cache
    assert kinds(saved) == ["encoder"]
    assert content(nlp) == content(spacy.load(saved)) == expected


def test_names_that_training_adds_go_to_the_cache(make, tmp_path):
    nlp = make(training=BIOSYN)
    nlp.remove_pipe("concept_retriever")
    document = Document("1", "Sticky lungs.", (Mention(0, 12, "Sticky lungs", "X", ("D003550",)),))
    reference = to_doc(nlp, document, split_tokens=True)
    examples = [Example(nlp.make_doc(reference.text), reference)]
    linker = nlp.get_pipe("sapbert_linker")
    linker.initialize(lambda: examples, nlp=nlp)
    linker.update(examples, sgd=Adam(1e-2, L2=0.0))
    nlp.to_disk(tmp_path / "saved")
    del nlp, linker
    again = spacy.load(tmp_path / "saved").get_pipe("sapbert_linker")
    assert again.kb.path.parent == tmp_path / "cache" / "assets"
    assert again.kb.find_name("Sticky lungs") == ("D003550",)
    assert again.linker.generator.vectors.folder.parent == tmp_path / "cache" / "assets"


def test_a_knowledge_base_that_moved(saved, file, tmp_path):
    expected = content(spacy.load(saved))
    new = file.rename(tmp_path / "new place.kb")
    with pytest.raises(SapbertError, match=r"E305.*my\.kb does not exist.*components\.concept_matcher\.kb"):
        spacy.load(saved)
    nlp = spacy.load(saved, config=moved(new))
    assert nlp.get_pipe("sapbert_linker").kb.path == new
    assert content(nlp) == expected
    nlp.to_disk(saved)
    assert content(spacy.load(saved)) == expected


@pytest.mark.parametrize(
    ("names", "reason"), [(1, "holds another vocabulary"), (2000, r"has \d+ bytes instead of \d+")]
)
def test_another_knowledge_base_in_its_place(saved, file, tmp_path, names, reason):
    records = [Record(f"X{i}", (Name(f"name {i}", "preferred", "own"),)) for i in range(names)]
    os.replace(build_knowledge_base(records, tmp_path / "other.kb").path, file)
    with pytest.raises(SapbertError, match=rf"E305.*my\.kb {reason}"):
        spacy.load(saved)
    with pytest.raises(SapbertError, match=r"E305.*; .*new\.kb does not exist"):
        spacy.load(saved, config=moved(tmp_path / "new.kb"))


def test_a_knowledge_base_that_is_none(saved, file):
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(SapbertError, match=r"E305.*my\.kb cannot be opened: \[E121\]"):
        spacy.load(saved)


@pytest.mark.parametrize("damage", ["cut", "missing"])
@pytest.mark.parametrize(
    ("component", "name"),
    [("sapbert_linker", "vectors.npy"), ("concept_retriever", "concepts.npy"), ("concept_matcher", "name_hashes.npy")],
)
def test_damaged_vectors(saved, tmp_path, damage, component, name):
    (path,) = (tmp_path / "cache").rglob(name)
    data = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(data[:-1])
    with pytest.raises(SapbertError, match=rf"E305.*{component}.*{name}.*SPACY_SAPBERT_CACHE"):
        spacy.load(saved)


def test_a_cache_that_moved(saved, tmp_path, monkeypatch):
    expected = content(spacy.load(saved))
    (tmp_path / "cache").rename(tmp_path / "other_cache")
    with pytest.raises(SapbertError, match="E305"):
        spacy.load(saved)
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "other_cache"))
    assert content(spacy.load(saved)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_another_value_of_the_setting(name):
    with pytest.raises(SapbertError, match=rf"E406.*storage of {name} is outside.*'inside' or 'external'"):
        spacy.blank("en").add_pipe(name, config={"storage": "outside"})
