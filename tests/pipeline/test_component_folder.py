"""Components of one pipeline share vocabulary, encoder and vectors: in memory, on disk and in a package."""

import gc
import shutil
import weakref

import numpy as np
import pytest
import spacy
import srsly
from spacy.training import Example
from thinc.api import Adam

from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.store import artifact as component_folder
from spacy_sapbert.store.artifact import ARTIFACTS_FOLDER, FORMAT, MANIFEST_FILE
from spacy_sapbert.types import Document, Mention, Name, Record

NAMES = ("concept_matcher", "sapbert_linker", "concept_retriever")
TEXTS = ["Cystic fibrosis and ovarian cancer.", "Aspirin for a common cold."]
LOSS = {"@losses": "spacy-sapbert.MarginalLikelihood.v1"}
BIOSYN = {"@misc": "spacy-sapbert.BioSyn.v1", "loss": LOSS, "k": 20, "dropout": False}


def make(kb, encoder, **linker):
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": kb})
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": encoder, **linker})
    nlp.add_pipe("concept_retriever", config={"kb": kb, "encoder": encoder, "signals": ["phrases"], "threshold": 0.0})
    return nlp


@pytest.fixture
def nlp(kb, tiny_encoder):
    return make(kb, str(tiny_encoder))


@pytest.fixture
def saved(nlp, tmp_path):
    nlp.to_disk(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture
def other_kb(tmp_path):
    record = Record("X1", (Name("cystic fibrosis", "preferred", "own"), Name("mucoviscidosis", "exact", "own")))
    return str(build_knowledge_base([record], tmp_path / "other.kb").path)


def parts(nlp):
    """RETURNS (tuple): knowledge bases, vectors and encoders of the components."""
    matcher, linker, retriever = map(nlp.get_pipe, NAMES)
    generator, retrieving = linker.linker.generator, retriever.retriever
    return (
        [matcher.kb, generator.kb, retrieving.kb],
        [generator.vectors, retrieving.name_vectors],
        [generator.vectors.encoder, retrieving.encoder, retrieving.name_vectors.encoder],
    )


def are_shared(nlp):
    return [len(set(map(id, part))) == 1 for part in parts(nlp)]


def content(doc):
    links = [(ent.text, ent.kb_id_, ent._.kb_ents) for ent in doc.ents]
    return links, [(concept.concept_id, round(concept.score, 5)) for concept in doc._.concepts]


def contents(nlp, **settings):
    return [content(doc) for doc in nlp.pipe(TEXTS, **settings)]


def kinds(folder):
    return sorted(path.name.partition("-")[0] for path in (folder / ARTIFACTS_FOLDER).iterdir())


def states(folder):
    """RETURNS (dict): inode and time of each file, which change when it is written again."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


# --- in memory


def test_components_share_objects(nlp, saved):
    assert are_shared(nlp) == [True, True, True]
    first, second = spacy.load(saved), spacy.load(saved)
    assert are_shared(first) == [True, True, True]
    for ours, theirs in zip(parts(first), parts(second), strict=True):
        assert ours[0] is theirs[0]


def test_other_settings_make_other_objects(kb, tiny_encoder):
    nlp = make(kb, str(tiny_encoder), index="SQ8", vectors={"pooling": "cls"})
    assert are_shared(nlp) == [True, False, False]


def test_an_index_is_shared_too(kb, tiny_encoder):
    linkers = [make(kb, str(tiny_encoder), index="SQ8").get_pipe("sapbert_linker") for _ in range(2)]
    first, second = (linker.linker.generator.vectors for linker in linkers)
    assert first is second
    assert not first.exact


def test_nothing_outlives_the_pipeline(saved):
    nlp = spacy.load(saved)
    alive = [weakref.ref(part[0]) for part in parts(nlp)]
    assert all(one() is not None for one in alive)
    del nlp
    gc.collect()
    assert [one() for one in alive] == [None, None, None]


def test_an_encoder_that_was_replaced_is_opened_again(make_encoder):
    folder = make_encoder(seed=1)
    first = open_encoder(str(folder), device="cpu")
    assert open_encoder(str(folder), device="cpu") is first
    before = first.fingerprint
    shutil.copyfile(make_encoder(seed=2) / "model.safetensors", folder / "model.safetensors")
    second = open_encoder(str(folder), device="cpu")
    assert second is not first
    assert second.fingerprint != before


# --- on disk


def test_each_asset_is_on_disk_once(nlp, saved):
    assert kinds(saved) == ["encoder", "finder", "kb", "matcher", "ngrams", "vectors"]
    assert len(list(saved.rglob("*.kb"))) == len(list(saved.rglob("model.safetensors"))) == 1
    assert len(list(saved.rglob("vectors.npy"))) == 1
    expected = contents(nlp)
    assert contents(spacy.load(saved)) == expected
    saved.rename(saved.with_name("moved"))
    assert contents(spacy.load(saved.with_name("moved"))) == expected


def test_linker_and_retriever_share_their_ngrams(kb, tiny_encoder, monkeypatch, tmp_path):
    monkeypatch.setattr("spacy_sapbert.retrieval.retriever.FEW_NAMES", 3)
    make(kb, str(tiny_encoder), index="auto").to_disk(tmp_path / "saved")
    assert kinds(tmp_path / "saved") == ["encoder", "finder", "kb", "matcher", "ngrams", "vectors"]
    again = spacy.load(tmp_path / "saved")
    linker, retriever = again.get_pipe("sapbert_linker").linker, again.get_pipe("concept_retriever").retriever
    assert retriever.ngrams is linker.generator.ngrams


def test_the_manifest_lists_the_assets(saved):
    manifest = srsly.read_json(saved / "sapbert_linker" / MANIFEST_FILE)
    assert manifest["format"] == FORMAT
    assert sorted(manifest["assets"]) == ["encoder", "kb", "ngrams", "vectors"]
    path = saved / "sapbert_linker" / manifest["assets"]["kb"]
    assert manifest["files"][manifest["assets"]["kb"]] == path.stat().st_size


def test_an_index_is_an_asset(kb, tiny_encoder, tmp_path):
    nlp = make(kb, str(tiny_encoder), index="SQ8")
    nlp.to_disk(tmp_path / "saved")
    assert kinds(tmp_path / "saved") == ["encoder", "finder", "index", "kb", "matcher", "ngrams", "vectors"]
    assert len(list((tmp_path / "saved").rglob("vectors.npy"))) == 1
    again = spacy.load(tmp_path / "saved")
    assert not again.get_pipe("sapbert_linker").linker.generator.vectors.exact
    assert contents(again) == contents(nlp)
    config = {"components": {"sapbert_linker": {"index": "Flat"}}}
    assert spacy.load(tmp_path / "saved", config=config).get_pipe("sapbert_linker").linker.generator.vectors.exact


def test_saving_again_writes_no_asset_again(saved):
    nlp, before = spacy.load(saved), states(saved / ARTIFACTS_FOLDER)
    expected = contents(nlp)
    nlp.to_disk(saved)
    assert states(saved / ARTIFACTS_FOLDER) == before
    assert contents(nlp) == contents(spacy.load(saved)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_component_alone_holds_its_assets(nlp, tmp_path, name):
    component = nlp.get_pipe(name)
    component.to_disk(tmp_path / name)
    assert "kb" in kinds(tmp_path / name)
    before = states(tmp_path / name / ARTIFACTS_FOLDER)
    component.to_disk(tmp_path / name)
    assert states(tmp_path / name / ARTIFACTS_FOLDER) == before
    assert [path.name for path in tmp_path.iterdir()] == [name]
    (tmp_path / name).rename(tmp_path / "moved")
    component.from_disk(tmp_path / "moved")
    assert component.kb.path.parent == tmp_path / "moved" / ARTIFACTS_FOLDER


# --- another vocabulary


def test_an_asset_stays_as_long_as_a_component_needs_it(saved, other_kb):
    nlp, before = spacy.load(saved), set(states(saved / ARTIFACTS_FOLDER))
    nlp.get_pipe("sapbert_linker").set_kb(other_kb)
    nlp.to_disk(saved)
    left = before - set(states(saved / ARTIFACTS_FOLDER))
    assert {name.partition("-")[0] for name in left} == {"ngrams"}  # only the linker has them
    assert kinds(saved) == ["encoder", "finder", "kb", "kb", "matcher", "ngrams", "vectors", "vectors"]
    again = spacy.load(saved)
    assert [again.get_pipe(name).kb.concept_id(0) for name in NAMES] == ["D009369", "X1", "D009369"]


def test_what_no_component_needs_any_more_is_removed(nlp, other_kb, tmp_path):
    saved = tmp_path / "saved"
    nlp.remove_pipe("concept_retriever")
    nlp.to_disk(saved)
    (saved / ARTIFACTS_FOLDER / "mine.txt").write_text("mine")
    before = set(states(saved / ARTIFACTS_FOLDER))
    again = spacy.load(saved)
    for name in NAMES[:2]:
        again.get_pipe(name).set_kb(other_kb)
    again.to_disk(saved)
    assert kinds(saved) == ["encoder", "kb", "matcher", "mine.txt", "ngrams", "vectors"]
    kept = {name.partition("/")[0].partition("-")[0] for name in before & set(states(saved / ARTIFACTS_FOLDER))}
    assert kept == {"encoder", "mine.txt"}
    assert [ent.kb_id_ for ent in spacy.load(saved)("Mucoviscidosis").ents] == ["X1"]


def test_an_asset_stays_as_long_as_a_manifest_cannot_be_read(saved, other_kb):
    nlp, before = spacy.load(saved), set(states(saved / ARTIFACTS_FOLDER))
    (saved / "concept_retriever" / MANIFEST_FILE).write_text("{")
    for name in NAMES[:2]:
        nlp.get_pipe(name).set_kb(other_kb)
        nlp.get_pipe(name).to_disk(saved / name)
    assert set(states(saved / ARTIFACTS_FOLDER)) > before


# --- damage


def test_a_missing_artifact(nlp, saved):
    expected = contents(nlp)
    (path,) = (saved / ARTIFACTS_FOLDER).glob("kb-*.kb")
    path.unlink()
    for name in NAMES:
        with pytest.raises(SapbertError, match=r"E121.*\.\./shared/kb-.*copy the pipeline with its folder 'shared'"):
            nlp.get_pipe(name).from_disk(saved / name)
    nlp.to_disk(saved)  # writes it again
    assert contents(spacy.load(saved)) == expected


@pytest.mark.parametrize(
    "name", ["../shared/../x", "../other/x", "../x", "/tmp/x", "a/../../x", "../shared//tmp/x", ".."]
)
@pytest.mark.parametrize("part", ["files", "assets"])
def test_names_that_lead_out_of_the_pipeline(nlp, saved, name, part):
    path = saved / "concept_matcher" / MANIFEST_FILE
    manifest = srsly.read_json(path)
    manifest[part].update({name: 1} if part == "files" else {"kb": name})
    srsly.write_json(path, manifest)
    with pytest.raises(SapbertError, match="E403"):
        nlp.get_pipe("concept_matcher").from_disk(saved / "concept_matcher")


def test_bytes_may_not_refer_to_other_files(nlp, saved):
    matcher = nlp.get_pipe("concept_matcher")
    files = srsly.msgpack_loads(matcher.to_bytes())
    manifest = (saved / "concept_matcher" / MANIFEST_FILE).read_bytes()
    for other in ({MANIFEST_FILE: manifest}, {"../x": b"x"}, {"/tmp/x": b"x"}):
        with pytest.raises(SapbertError, match="E403"):
            matcher.from_bytes(srsly.msgpack_dumps({**files, **other}))


@pytest.mark.parametrize("step", ["_move_artifacts", "_move_files"])
def test_an_interrupted_save_leaves_nothing_that_looks_whole(saved, other_kb, monkeypatch, step):
    nlp, matcher = spacy.load(saved), saved / "concept_matcher"
    nlp.get_pipe("concept_matcher").set_kb(other_kb)
    with monkeypatch.context() as patch:
        patch.setattr(component_folder, step, lambda *args, **named: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            nlp.get_pipe("concept_matcher").to_disk(matcher)
    if step == "_move_files":
        with pytest.raises(SapbertError, match="E504"):
            spacy.load(saved)
    assert contents(spacy.load(saved, exclude=["concept_matcher"]))  # the others are as before
    nlp.to_disk(saved)
    assert spacy.load(saved).get_pipe("concept_matcher").kb.concept_id(0) == "X1"


def ranked(nlp):
    docs = map(nlp.make_doc, TEXTS)
    found = nlp.get_pipe("concept_retriever").rank(list(docs), 5)
    return [[(concept.concept_id, round(concept.score, 5)) for concept in of_doc] for of_doc in found]


def test_training_the_linker_does_not_change_the_retriever(kb, tiny_encoder, tmp_path):
    nlp = make(kb, str(tiny_encoder), training=BIOSYN)
    linker, retriever = nlp.get_pipe("sapbert_linker"), nlp.get_pipe("concept_retriever").retriever
    shared, vectors = retriever.encoder, np.array(retriever.name_vectors.vectors)
    assert linker.linker.generator.vectors.encoder is shared
    before, fingerprint = shared.encode(["a lump"]), shared.fingerprint
    expected = ranked(nlp)
    document = Document("1", "Sticky lungs.", (Mention(0, 12, "Sticky lungs", "X", ("D003550",)),))
    reference = to_doc(nlp, document, split_tokens=True)
    examples = [Example(nlp.make_doc(reference.text), reference)]
    linker.initialize(lambda: examples, nlp=nlp)
    optimizer = Adam(1e-2, L2=0.0)
    for _ in range(3):
        linker.update(examples, sgd=optimizer)
    trained = linker.linker.generator.vectors
    assert trained.encoder is not shared
    assert trained.encoder.fingerprint != fingerprint
    assert (np.asarray(trained.vectors) != vectors).any()
    assert retriever.encoder is retriever.name_vectors.encoder is shared
    del shared.__dict__["fingerprint"]  # so that it is computed again
    assert shared.fingerprint == fingerprint
    assert (shared.encode(["a lump"]) == before).all()
    assert (np.asarray(retriever.name_vectors.vectors) == vectors).all()
    assert ranked(nlp) == expected
    nlp.to_disk(tmp_path / "saved")
    assert kinds(tmp_path / "saved").count("encoder") == 2
    again = spacy.load(tmp_path / "saved")
    assert again.get_pipe("sapbert_linker").linker.generator.vectors.encoder.fingerprint == trained.encoder.fingerprint
    assert again.get_pipe("concept_retriever").retriever.encoder.fingerprint == fingerprint
