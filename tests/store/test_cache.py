"""Caches that cannot be written, and what several processes make in one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import spacy

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.storage import starter_knowledge_base
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.retrieval.concept_set import ConceptSet
from spacy_sapbert.retrieval.concept_vectors import cached_concept_vectors
from spacy_sapbert.store.cache import cache_dir, make_once
from spacy_sapbert.vectors.faiss_index import open_faiss
from spacy_sapbert.vectors.flat import cached_name_vectors, cached_table, text_hashes
from spacy_sapbert.vectors.ngram_index import cached_ngram_index


def use_index(kb, encoder, own):
    vectors = own.setdefault("vectors", cached_name_vectors(kb, encoder))  # before the cache is changed
    open_faiss(vectors, kb, "HNSW4")


def use_saved(kb, encoder, own):
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": str(kb.path)})
    nlp(nlp.make_doc("fever"))


USES = {
    "starter": lambda kb, encoder, own: starter_knowledge_base(),
    "vectors": lambda kb, encoder, own: cached_name_vectors(kb, encoder),
    "index": use_index,
    "concepts": lambda kb, encoder, own: cached_concept_vectors(ConceptSet(kb), encoder, "packed"),
    "ngrams": lambda kb, encoder, own: cached_ngram_index(kb, "biosyn"),
    "matchers": lambda kb, encoder, own: NameMatcher.cached(kb),
    "names": lambda kb, encoder, own: cached_table(kb, "forms", lambda: text_hashes(kb.names(), encoder)),
    "component": use_saved,
}


@pytest.fixture
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


@pytest.fixture
def set_cache(monkeypatch):
    return lambda path: monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(path))


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("place", ["file", "file/below", "/dev/null", "/proc/none"])
def test_a_cache_that_cannot_be_written_is_told_with_the_remedy(small_kb, encoder, use, place, set_cache, tmp_path):
    own = {"vectors": cached_name_vectors(small_kb, encoder)}
    (tmp_path / "file").write_text("mine")
    set_cache(tmp_path / place)
    with pytest.raises(SapbertError, match=r"\[E118\].*SPACY_SAPBERT_CACHE"):
        use(small_kb, encoder, own)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_complete_cache_can_be_for_reading_only(small_kb, encoder, use, set_cache, tmp_path, monkeypatch):
    set_cache(tmp_path / "cache")
    own = {}
    use(small_kb, encoder, own)
    for folder, _, files in os.walk(tmp_path / "cache"):
        for file in files:
            Path(folder, file).chmod(0o444)
        Path(folder).chmod(0o555)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("filelock.FileLock", refuse)  # root may write everywhere
    use(small_kb, encoder, own)


def test_a_full_disk_is_told_with_the_remedy(set_cache, tmp_path):
    set_cache(tmp_path)

    def fill():
        raise OSError(28, "No space left on device")

    with pytest.raises(SapbertError, match=r"\[E118\] Cannot write .*a \(No space left on device\)\. Make room"):
        make_once(tmp_path / "a", lambda: False, fill)


def test_other_errors_stay_what_they_are(tmp_path):
    def fail():
        raise SapbertError("[E585] The encoder gives no numbers.")

    with pytest.raises(SapbertError, match=r"^\[E585\]"):
        make_once(tmp_path / "a", lambda: False, fail)


def test_only_one_of_several_makes_it(tmp_path):
    path, made = tmp_path / "new/a", []

    def make():
        made.append(1)
        time.sleep(0.1)
        path.touch()

    threads = [threading.Thread(target=make_once, args=(path, path.is_file, make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_the_default_folder_is_that_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("SPACY_SAPBERT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir().name == "spacy-sapbert"


LINK = """
import sys
from spacy_sapbert.pipeline.demo import demo_pipeline
print([link.concept_id for ent in demo_pipeline()("fever and asthma").ents for link in ent._.links])
"""


def test_processes_that_fill_one_cache_at_once(tmp_path):
    environment = os.environ | {"SPACY_SAPBERT_CACHE": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", LINK], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate()[0] for process in running]
    assert len(set(outputs)) == 1
    assert outputs[0].startswith("['D005334'")
