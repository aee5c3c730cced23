"""The queue: one job after the other, with a time limit for those who wait, and one for the process."""

import asyncio
import re
import subprocess
import sys
import threading

import pytest

from spacy_sapbert.serve.app import CLIENT_LEFT, LinkingQueue, Refused

ENDS_ITSELF = """
import asyncio, re
from spacy_sapbert.runs import document_linker
from spacy_sapbert.serve import app as linking_queue
document_linker.GRACE = 0.5
queue = linking_queue.LinkingQueue(1, 0.1, lambda length: None)
# all in C, which keeps Python's lock
asyncio.run(queue.run(lambda stop: re.match("(a+)+$", "a" * 100 + "b"), asyncio.sleep(100)))
"""


@pytest.fixture
def queue():
    queue = LinkingQueue(8, 0.05, lambda length: None)
    yield queue
    queue.close()


def run(queue, job, client_leaves=None):
    """RETURNS: the result of a job, or the status of its answer."""

    async def result():
        try:
            return await queue.run(job, client_leaves or asyncio.Event().wait())
        except Refused as refused:
            return refused.status_code

    return asyncio.run(result())


def test_a_job_that_takes_too_long_learns_that_it_should_stop(queue):
    ended = threading.Event()
    assert run(queue, lambda stop: stop.wait(30) and ended.set()) == 504
    assert ended.wait(30)
    queue._timeout = 30
    assert run(queue, lambda stop: stop.is_set()) is False


def test_a_job_whose_client_left_learns_it_too(queue):
    queue._timeout = 30
    begun, ended = threading.Event(), threading.Event()

    def job(stop):
        begun.set()
        assert stop.wait(30)
        ended.set()

    async def client_leaves():
        await asyncio.to_thread(begun.wait)

    assert run(queue, job, client_leaves()) == CLIENT_LEFT
    assert ended.wait(30)


def test_a_job_that_nobody_waits_for_does_not_begin(queue):
    go_on, begun = threading.Event(), []
    loading = queue.start(lambda: go_on.wait(30))  # it has no time limit
    assert run(queue, lambda stop: begun.append(1)) == 504
    go_on.set()
    assert loading.result(30) is True
    queue._timeout = 30
    assert run(queue, lambda stop: len(begun)) == 0


def test_a_job_that_hangs_ends_the_process():
    ended = subprocess.run([sys.executable, "-c", ENDS_ITSELF], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "Timeout (0:00:00.6" in ended.stderr
    assert re.search(r"/re(/__init__)?\.py", ended.stderr)  # where it was
