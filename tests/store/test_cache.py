"""Caches that cannot be written, and what several processes make in one."""

import gc
import os
import threading
import time

import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.retrieval.concepts import ConceptSet, cached_concept_vectors
from spacy_sapbert.store.cache import cache_dir, file_states, make_once, shared
from spacy_sapbert.vectors.flat import cached_name_vectors, cached_table, text_hashes
from spacy_sapbert.vectors.ngram_index import open_ngram_index

USES = {
    "vectors": lambda kb, encoder: cached_name_vectors(kb, encoder),
    "concepts": lambda kb, encoder: cached_concept_vectors(ConceptSet(kb), encoder, "packed"),
    "ngrams": lambda kb, encoder: open_ngram_index(kb, "biosyn"),
    "matchers": lambda kb, encoder: NameMatcher.cached(kb),
    "names": lambda kb, encoder: cached_table(kb, "forms", lambda: text_hashes(kb.names(), encoder)),
}


@pytest.fixture
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


@pytest.fixture
def set_cache(monkeypatch):
    return lambda path: monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(path))


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_cache_that_cannot_be_written_is_reported_with_the_remedy(small_kb, encoder, use, set_cache, tmp_path):
    (tmp_path / "file").write_text("mine")
    set_cache(tmp_path / "file" / "below")
    with pytest.raises(SapbertError, match=r"\[E507\].*SPACY_SAPBERT_CACHE"):
        use(small_kb, encoder)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("is_full", [False, True])
def test_where_nothing_may_be_written_a_folder_of_the_process_serves(
    small_kb, encoder, set_cache, tmp_path, monkeypatch, is_full
):
    folder = tmp_path / "read only"
    folder.mkdir()
    set_cache(folder / "below")
    monkeypatch.setattr("os.access", lambda path, mode: folder not in (path, *path.parents))
    if is_full:
        monkeypatch.setattr("tempfile.gettempdir", lambda: str(folder / "missing"))
    assert len(cached_name_vectors(small_kb, encoder).vectors) == small_kb.n_names
    assert cache_dir().name.startswith("spacy-sapbert-")
    assert list(folder.iterdir()) == []


def test_a_complete_cache_can_be_for_reading_only(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("filelock.FileLock", refuse)
    make_once(tmp_path / "a", lambda: True, refuse)


def test_a_full_disk_is_reported_with_the_remedy(set_cache, tmp_path):
    set_cache(tmp_path)

    def fill():
        raise OSError(28, "No space left on device")

    with pytest.raises(SapbertError, match=r"\[E507\] Cannot write .*a \(No space left on device\)\. Make room"):
        make_once(tmp_path / "a", lambda: False, fill)


def test_other_errors_stay_what_they_are(tmp_path):
    def fail():
        raise SapbertError("[E121] The encoder gives no numbers.")

    with pytest.raises(SapbertError, match=r"^\[E121\]"):
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


class Thing:
    pass


def test_users_of_one_key_share_an_object():
    first = shared(("thing", 1), Thing)
    assert shared(("thing", 1), Thing) is first
    assert shared(("thing", 2), Thing) is not first


def test_nothing_outlives_its_users():
    first = shared(("thing", 3), Thing)
    first.marked = True
    del first
    gc.collect()
    assert not hasattr(shared(("thing", 3), Thing), "marked")


def test_threads_that_ask_at_once_get_one_object():
    together, found = threading.Barrier(8), []

    def make():
        together.wait()  # no thread is done before all of them make one
        return Thing()

    threads = [threading.Thread(target=lambda: found.append(shared(("thing", 4), make))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_an_object_may_be_made_of_others():
    outer = shared(("thing", 5), lambda: [shared(("thing", 6), Thing)][0])
    assert shared(("thing", 6), Thing) is outer


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_holds_the_lock(monkeypatch):
    from spacy_sapbert.store import cache as module

    held = threading.Lock()
    held.acquire()
    monkeypatch.setattr(module, "_lock", held)
    child = os.fork()
    if not child:
        shared(("thing", 7), Thing)  # would wait for ever
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_the_state_of_files_changes_with_them(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a").write_text("one")
    before = file_states(tmp_path)
    assert [(name, size) for name, size, *_ in before] == [("inner/a", 3)]
    assert file_states(tmp_path) == before
    (tmp_path / "b").write_text("two")
    os.replace(tmp_path / "b", tmp_path / "inner" / "a")
    assert file_states(tmp_path) != before
