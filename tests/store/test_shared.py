import gc
import os
import threading

import pytest

from spacy_sapbert.store.cache import file_states, shared


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
    from spacy_sapbert.store import shared as module

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
