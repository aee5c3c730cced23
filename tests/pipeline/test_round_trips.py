import json
import multiprocessing
import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
from subprocess import PIPE

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.linking.ranker import PROBABLE
from spacy_sapbert.store.artifact import MANIFEST_FILE

COMPONENTS = (
    *("note_sections", "abbreviation_resolver", "concept_matcher", "composite_splitter", "spelling_corrector"),
    *("sapbert_linker", "assertion_detector"),
)
HEAVY = ("concept_matcher", "spelling_corrector", "sapbert_linker")
WITH_KB = ("concept_matcher", "sapbert_linker")
TEXT = """\
Cystic fibrosis (CF) and breast and ovarian cancer. CF patients were given aspirins, lithium or stuff.
ALLERGIES: no aspirin."""


@pytest.fixture(params=["sparse", "dense", "both"])
def sources(request, small_kb, tiny_encoder, tmp_path):
    """Settings that name copies of vocabulary and encoder, which a test can delete."""
    shutil.copyfile(small_kb.path, tmp_path / "copy.kb")
    shutil.copytree(tiny_encoder, tmp_path / "encoder")
    encoder = "none" if request.param == "sparse" else str(tmp_path / "encoder")
    return {"kb": str(tmp_path / "copy.kb"), "encoder": encoder, "sparse": request.param != "dense"}


def make(kb, encoder="none", sparse=True):
    nlp = spacy.blank("en")
    nlp.add_pipe("note_sections")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("concept_matcher", config={"kb": kb})
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("spelling_corrector", config={"kb": kb})
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": encoder, "candidates": {"sparse": sparse}})
    nlp.add_pipe("assertion_detector")
    return nlp


@pytest.fixture
def nlp(kb):
    return make(kb)


def forget(sources):
    os.remove(sources["kb"])
    shutil.rmtree(os.path.join(os.path.dirname(sources["kb"]), "encoder"))
    shutil.rmtree(os.environ["SPACY_SAPBERT_CACHE"], ignore_errors=True)


def content(doc):
    """All that our components say of a document, as plain values."""
    return (
        [(ent.text, ent.label_, ent.kb_id_, ent._.kb_ents, ent._.links, ent._.composite_splits) for ent in doc.ents],
        [(ent._.assertion, ent._.section) for ent in doc.ents],
        doc._.sections,
        [(short.text, short.start, short._.long_form.text) for short in doc._.abbreviations],
    )


def test_the_example_has_something_of_everything(nlp):
    mentions, flags, sections, abbreviations = content(nlp(TEXT))
    assert [text for text, *_ in mentions] == [
        "Cystic fibrosis", "CF", "breast and ovarian cancer", "CF", "aspirins", "lithium", "aspirin",
    ]  # fmt: skip
    assert [kb_id for _, _, kb_id, *_ in mentions] == [
        "D003550", "D003550", "D001943|D010051", "D003550", "D001241", "D008094", "D001241",
    ]  # fmt: skip
    assert any(link.long_form for *_, links, _ in mentions for link in links)
    assert len(abbreviations) == 2
    assert flags == [*[((), None)] * 6, (("negated",), "allergies")]
    assert [section.label for section in sections] == ["allergies"]


# --- pipelines


def test_disk_bytes_and_pickle(sources, tmp_path):
    nlp = make(**sources)
    expected = content(nlp(TEXT))
    nlp.to_disk(tmp_path / "saved")
    data, pickled = nlp.to_bytes(), pickle.dumps(nlp)
    del nlp
    forget(sources)
    of_bytes = make("/not/there.kb", "/not/there", sparse=sources["sparse"]).from_bytes(data)
    for again in (spacy.load(tmp_path / "saved"), of_bytes, pickle.loads(pickled)):
        assert content(again(TEXT)) == expected
    (tmp_path / "saved").rename(tmp_path / "moved")
    assert content(spacy.load(tmp_path / "moved")(TEXT)) == expected


def test_saving_before_first_use(kb, tmp_path):
    make(kb).to_disk(tmp_path / "saved")
    assert content(spacy.load(tmp_path / "saved")(TEXT)) == content(make(kb)(TEXT))


def test_saving_over_another_pipeline_leaves_nothing_of_it(kb, tiny_encoder, tmp_path):
    make(kb, str(tiny_encoder)).to_disk(tmp_path / "saved")
    sparse = make(kb)
    sparse.to_disk(tmp_path / "saved")
    sparse.to_disk(tmp_path / "fresh")
    for name in (*HEAVY, "shared"):
        assert files(tmp_path / "saved" / name) == files(tmp_path / "fresh" / name)
    assert spacy.load(tmp_path / "saved").get_pipe("sapbert_linker").linker.generator.vectors is None


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_that_are_not_ours_stay(nlp, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for _ in range(2):
        nlp.get_pipe("concept_matcher").to_disk(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_who_may_read_the_pipeline_may_read_all_of_it(kb, tiny_encoder, tmp_path):
    make(kb, str(tiny_encoder)).to_disk(tmp_path / "saved")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "saved").rglob("*") if path.is_file()}
    assert modes == {stat.S_IMODE((tmp_path / "saved" / "meta.json").stat().st_mode)}


def test_a_save_that_fails_leaves_the_old_one(nlp, tmp_path, monkeypatch):
    linker = nlp.get_pipe("sapbert_linker")
    linker.to_disk(tmp_path)
    before = files(tmp_path)

    def copy_half(source, target):
        target.write_text("half")
        raise ZeroDivisionError

    index = type(linker.linker.generator.ngrams)
    monkeypatch.setattr(index, "fingerprint", "f" * 64)  # another content, which is not saved yet
    monkeypatch.setattr("spacy_sapbert.store.artifact.shutil.copyfile", copy_half)
    with pytest.raises(ZeroDivisionError):
        linker.to_disk(tmp_path)
    assert files(tmp_path) == before


# --- settings


def test_settings_can_be_overridden_at_load(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    components = {
        "sapbert_linker": {"threshold": 1.0, "max_entities_per_mention": 1, "resolve_abbreviations": False},
        "concept_matcher": {"label": "ANY"},
    }
    again = spacy.load(tmp_path, config={"components": components})
    assert again.get_pipe("sapbert_linker").threshold == 1.0
    by_text = {ent.text: ent for ent in again(TEXT).ents}
    assert {ent.label_ for ent in by_text.values()} == {"ANY"}
    assert {ent.kb_id_ for ent in by_text.values()} == {"NIL"}
    assert {link.long_form for ent in by_text.values() for link in ent._.links} == {None}
    assert spacy.load(tmp_path).get_pipe("sapbert_linker").linker.threshold == PROBABLE


@pytest.mark.parametrize("saved", [True, False])
def test_the_sparse_score_can_be_switched_at_load(kb, tiny_encoder, tmp_path, saved):
    make(kb, str(tiny_encoder), saved).to_disk(tmp_path)
    again = spacy.load(tmp_path, config={"components": {"sapbert_linker": {"candidates": {"sparse": not saved}}}})
    assert content(again(TEXT)) == content(make(kb, str(tiny_encoder), not saved)(TEXT))


def test_what_is_saved_goes_before_the_paths_of_the_config(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path, config={"components": {name: {"kb": "/not/there.kb"} for name in HEAVY}})
    assert content(again(TEXT)) == content(nlp(TEXT))


def test_no_setting_is_saved_outside_the_config(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    assert not (tmp_path / "abbreviation_resolver").exists()
    assert not (tmp_path / "composite_splitter").exists()
    manifest = srsly.read_json(tmp_path / "sapbert_linker" / MANIFEST_FILE)
    assert manifest.keys() == {"format", "version", "files", "assets", "external"}


def test_a_saved_normal_form_goes_before_the_setting(kb, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none", "candidates": {"text_normalizer": "lower"}})
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("sapbert_linker").linker.generator.ngram_encoder.text_normalizer == "lower"
    with pytest.warns(UserWarning, match="W401"):
        again = spacy.load(
            tmp_path, config={"components": {"sapbert_linker": {"candidates": {"text_normalizer": "biosyn"}}}}
        )
    linker = again.get_pipe("sapbert_linker")
    assert linker.linker.generator.ngram_encoder.text_normalizer == "lower"
    linker.set_kb("starter")
    assert linker.linker.generator.ngram_encoder.text_normalizer == "lower"


# --- components


@pytest.mark.parametrize("name", COMPONENTS)
def test_pickled_component(nlp, name):
    component = nlp.get_pipe(name)
    again = pickle.loads(pickle.dumps(component))
    assert (type(again), again.name) == (type(component), name)
    doc = nlp.make_doc(TEXT)
    for each, original in nlp.pipeline:
        doc = again(doc) if each == name else original(doc)
    assert content(doc) == content(nlp(TEXT))


def test_pickled_component_keeps_changed_settings(nlp):
    linker = nlp.get_pipe("sapbert_linker")
    linker.threshold, linker.types = 0.9, ["Drug"]
    linker.candidates.sparse_weight, linker.selection.split_margin = 0.3, 0.4
    again = pickle.loads(pickle.dumps(linker))
    assert (again.threshold, again.types) == (0.9, ["Drug"])
    assert (again.candidates, again.selection) == (linker.candidates, linker.selection)


@pytest.mark.parametrize("name", HEAVY)
def test_component_alone(nlp, name, tmp_path):
    component = nlp.get_pipe(name)
    component.to_disk(tmp_path)
    other = make("/not/there.kb").get_pipe(name).from_disk(tmp_path)
    assert other.to_bytes() == component.to_bytes()
    if name in WITH_KB:
        assert other.kb.fingerprint == component.kb.fingerprint


# --- what was saved is damaged


@pytest.fixture
def saved(nlp, tmp_path):
    """RETURNS: a linker, and the folder in which it is saved."""
    linker = nlp.get_pipe("sapbert_linker")
    linker.to_disk(tmp_path)
    return linker, tmp_path


def test_nothing_was_saved(nlp, tmp_path):
    for name in HEAVY:
        with pytest.raises(SapbertError, match="E504"):
            nlp.get_pipe(name).from_disk(tmp_path)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{", r"E121.*component\.json"),
        ("[]", r"E121.*component\.json"),
        ("{}", r"E121.*component\.json"),
        ('{"format": 2, "version": "0", "files": 3}', r"E121.*component\.json"),
        ('{"format": 99, "version": "9.9", "files": {}}', r"E600.*format 99"),
    ],
)
def test_a_manifest_that_cannot_be_read(saved, manifest, message):
    linker, folder = saved
    (folder / MANIFEST_FILE).write_text(manifest)
    with pytest.raises(SapbertError, match=message):
        linker.from_disk(folder)


def test_a_missing_file_is_named(kb, tiny_encoder, tmp_path):
    nlp = make(kb, str(tiny_encoder))
    for name in HEAVY:
        component, folder = nlp.get_pipe(name), tmp_path / name
        component.to_disk(folder)
        for file in srsly.read_json(folder / MANIFEST_FILE)["files"]:
            data = (folder / file).read_bytes()
            os.remove(folder / file)
            with pytest.raises(SapbertError, match=f"E121.*{file} is missing"):
                component.from_disk(folder)
            (folder / file).write_bytes(data)
        component.from_disk(folder)


def test_saving_over_a_bad_manifest_touches_nothing_outside(saved):
    linker, folder = saved
    outside = folder.parent / "outside.txt"
    outside.write_text("mine")
    manifest = srsly.read_json(folder / MANIFEST_FILE)
    manifest["files"]["../outside.txt"] = 4
    srsly.write_json(folder / MANIFEST_FILE, manifest)
    linker.to_disk(folder)
    assert outside.read_text() == "mine"
    assert linker.from_disk(folder)


def test_bytes_of_nothing_leave_the_component_as_it_was(nlp):
    linker = nlp.get_pipe("sapbert_linker").from_bytes(nlp.get_pipe("sapbert_linker").to_bytes())
    expected = linker.to_bytes()
    for data in (b"", b"\xc1", *map(srsly.msgpack_dumps, ([1], {"a": 1}, {1: b"a"}, {}))):
        with pytest.raises(SapbertError, match=r"E121|E504"):
            linker.from_bytes(data)
        assert linker.to_bytes() == expected


# --- documents


def test_doc_bin(nlp):
    docs = list(nlp.pipe([TEXT, "", "aspirin"]))
    data = DocBin(docs=docs, store_user_data=True).to_bytes()
    again = list(DocBin().from_bytes(data).get_docs(spacy.blank("en").vocab))
    assert list(map(content, again)) == list(map(content, docs))


@pytest.mark.parametrize("write", [dict, lambda data: json.loads(srsly.json_dumps(data))])
def test_json_of_spacy(nlp, write):
    doc = nlp(TEXT)
    attributes = ["links", "kb_ents", "matched_name", "composite_splits", "corrections", "assertion", "abbreviations"]
    doc.ents[-3]._.corrections = {"aspirins": "aspirin"}
    again = Doc(nlp.vocab).from_json(write(doc.to_json(underscore=[*attributes, "sections"])))
    for ent, ent_again in zip(doc.ents, again.ents, strict=True):
        assert ent_again._.links == ent._.links
        assert all(ent_again._.get(name) == ent._.get(name) for name in attributes[1:-1])
    assert content(again)[2:] == content(doc)[2:]


def test_span_groups(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": kb, "spans_key": "all"})
    nlp.add_pipe("composite_splitter", config={"spans_key": "all"})
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "spans_key": "all"})
    doc = nlp("breast and ovarian cancer")
    data = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (binned,) = DocBin().from_bytes(data).get_docs(nlp.vocab)
    for again in (Doc(nlp.vocab).from_bytes(doc.to_bytes()), pickle.loads(pickle.dumps(doc)), binned):
        group, expected = again.spans["all"], doc.spans["all"]
        assert len(group) == 2
        assert [(span.text, span.kb_id_, span._.links, span._.composite_splits) for span in group] == [
            (span.text, span.kb_id_, span._.links, span._.composite_splits) for span in expected
        ]


def test_a_pipeline_of_version_1_0_0(nlp, tmp_path):
    expected = content(nlp(TEXT))
    nlp.to_disk(tmp_path)
    config = (tmp_path / "config.cfg").read_text()
    # in the order of that version, with settings that are gone
    config = config.replace("approximate = null\n", "").replace(
        "composites = true", "composites = true\napproximate = null"
    )
    (tmp_path / "config.cfg").write_text(config)
    for path in tmp_path.glob(f"*/{MANIFEST_FILE}"):
        manifest = srsly.read_json(path)
        assert manifest["format"] == 2
        srsly.write_json(path, {**manifest, "version": "1.0.0"})
    assert content(spacy.load(tmp_path)(TEXT)) == expected
    with pytest.raises(ValueError, match="approximate"):
        spacy.load(tmp_path, config={"components.concept_matcher.approximate": 0.6})


# --- several processes


def test_two_processes(nlp):
    texts = [TEXT, "aspirin", "", TEXT]
    expected = [content(doc) for doc in make(nlp.get_pipe("sapbert_linker")._kb).pipe(texts)]
    assert [content(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=2)] == expected


NEEDS_FORK = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
METHODS = [pytest.param("fork", marks=NEEDS_FORK), pytest.param("spawn", marks=pytest.mark.slow)]

# Each run has mentions of its own, so that nothing is known beforehand, and enough for operations in parallel.
SEVERAL_PROCESSES = """
import multiprocessing, sys
import spacy, torch

def texts(run):
    return [" ".join(f"q{run}{'abcdef'[i % 6] * (j + 2)}{i}" for j in range(9)) for i in range(20)]

def content(doc):
    return [(ent.text, ent.kb_id_, ent._.links[0].name) for ent in doc.ents]

def scores(docs):
    return [ent._.links[0].score for doc in docs for ent in doc.ents]

if __name__ == "__main__":
    kb, encoder, method = sys.argv[1:]
    multiprocessing.set_start_method(method)
    torch.set_num_threads(2)
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "ANY", "pattern": [{"TEXT": {"REGEX": "^q"}}]}])
    linker = nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": encoder, "threshold": 0.0, "index": "HNSW"})
    for exact_limit in (1, 1000):  # with and without faiss
        linker.linker.generator.exact_limit = exact_limit
        assert len(list(nlp.pipe(texts(f"before{exact_limit}")))) == 20
        two = list(nlp.pipe(texts(exact_limit), n_process=2, batch_size=10))
        one = list(nlp.pipe(texts(exact_limit)))
        assert len(one[0].ents) == 9 and list(map(content, two)) == list(map(content, one))
        # the last digits depend on what else is in a batch
        assert max(abs(a - b) for a, b in zip(scores(one), scores(two))) < 1e-4
    assert {"torch", "faiss"} <= set(sys.modules)
    assert torch.get_num_threads() == 2
    print("done")
"""


@pytest.mark.parametrize("method", METHODS)
def test_processes_after_the_parent_has_used_torch_and_faiss(kb, tiny_encoder, tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(SEVERAL_PROCESSES)
    command = [sys.executable, str(script), kb, str(tiny_encoder), method]
    # a process group of its own, so that no hanging child is left
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert (process.returncode, output) == (0, "done\n"), errors
