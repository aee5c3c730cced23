"""The queue: a job that takes too long is stopped inside, and the thread is free for the next one."""

import asyncio
import re
import subprocess
import sys
import threading
from concurrent.futures import Future

import pytest

from spacy_sapbert.serve import linking_queue
from spacy_sapbert.serve.linking_queue import CLIENT_LEFT, LinkingQueue, Refused, Stopped

ENDS_ITSELF = """
import asyncio, re
from spacy_sapbert.serve import linking_queue
linking_queue.GRACE = 0.5
queue = linking_queue.LinkingQueue(1, 0.1, lambda length: None)
# all in C, which keeps Python's lock
asyncio.run(queue.run(lambda stop: re.match("(a+)+$", "a" * 100 + "b"), asyncio.sleep(100)))
"""

IS_PROFILED = """
import asyncio, sys
from spacy_sapbert.serve.linking_queue import LinkingQueue, Refused, Stopped

def deaf(stop):
    try:
        while True:
            pass
    except Stopped:
        return 7

async def jobs():
    for job in (lambda stop: 7, deaf, lambda stop: 7):
        try:
            await queue.run(job, asyncio.sleep(100))
        except Refused:
            pass

queue = LinkingQueue(1, 0.1, lambda length: None)
asyncio.run(jobs())
calls = []
sys.setprofile(lambda *event: calls.append(event))
(lambda: None)()
sys.setprofile(None)
print(len(calls))
"""


@pytest.fixture
def stops():
    return []


@pytest.fixture
def queue(stops):
    made = LinkingQueue(8, 0.05, lambda length: None, lambda: stops.append(threading.current_thread()))
    yield made
    made.close()


def run(queue, *jobs):
    """Run one job after the other. RETURNS: their results, or the statuses of their answers."""

    async def all_of_them():
        found = []
        for job in jobs:
            try:
                found.append(await queue.run(job, asyncio.Event().wait()))
            except Refused as refused:
                found.append(refused.status)
        return found

    return asyncio.run(all_of_them())


def endless(stop):
    while True:
        pass


def deaf(stop):
    """Ignore the first stop, as a method that frees an object does."""
    try:
        endless(stop)
    except Stopped:
        endless(stop)


def test_a_job_that_never_ends_is_stopped_and_the_next_one_runs(queue, stops):
    assert run(queue, endless) == [504]
    queue._timeout = 30
    ((n_stops, thread),) = run(queue, lambda stop: (len(stops), threading.current_thread()))
    assert (n_stops, stops) == (1, [thread])


def test_a_job_that_ignores_the_stop_is_stopped_again(queue, stops, monkeypatch):
    monkeypatch.setattr(linking_queue, "_AGAIN", 0.01)

    async def both():
        with pytest.raises(Refused):
            await queue.run(deaf, asyncio.Event().wait())
        queue._timeout = 30
        return await queue.run(lambda stop: len(stops), asyncio.Event().wait())

    assert asyncio.run(both()) == 1


def test_a_job_whose_client_left_is_stopped_at_the_same_time(queue, stops):
    begun = threading.Event()

    def begin(stop):
        begun.set()
        endless(stop)

    async def both():
        queue._timeout = 0.5
        with pytest.raises(Refused) as refused:
            await queue.run(begin, asyncio.to_thread(begun.wait))
        queue._timeout = 30
        return refused.value.status, await queue.run(lambda stop: len(stops), asyncio.Event().wait())

    assert asyncio.run(both()) == (CLIENT_LEFT, 1)


def test_an_error_and_a_result_at_the_last_moment(queue, stops):
    def fail(stop):
        raise KeyError("an error of its own")

    queue._timeout = 30
    with pytest.raises(KeyError, match="of its own"):
        run(queue, fail)
    assert run(queue, lambda stop: 7) == [7]
    assert stops == []


def test_a_job_that_nobody_waits_for_does_not_begin(queue):
    stop = threading.Event()
    stop.set()
    begun = []
    with pytest.raises(Stopped):
        queue._bounded(lambda: begun.append(1), stop)
    assert begun == []


def test_loading_has_no_time_limit(queue):
    go_on = threading.Event()
    loading: Future = queue.start(lambda: go_on.wait(30))
    assert run(queue, lambda stop: 7) == [504]  # it waits
    go_on.set()
    assert loading.result(30) is True


def test_a_job_that_keeps_pythons_lock_ends_the_process():
    ended = subprocess.run([sys.executable, "-c", ENDS_ITSELF], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "Timeout (0:00:00.6" in ended.stderr
    assert re.search(r"/re(/__init__)?\.py", ended.stderr)  # where it was


def test_a_process_can_be_profiled_after_jobs_that_were_stopped_and_others():
    ended = subprocess.run([sys.executable, "-c", IS_PROFILED], capture_output=True, text=True, timeout=60)
    assert int(ended.stdout) >= 2, ended.stderr
