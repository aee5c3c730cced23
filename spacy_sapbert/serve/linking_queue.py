"""Run one job after the other in a thread, with a bounded queue, while the server answers other requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from ..runs.document_linker import watched
from .safety import Refused

CLIENT_LEFT = 499
"""The status of a request whose client left, as nginx logs it."""
Result = TypeVar("Result")


class LinkingQueue:
    """Runs jobs in a thread of its own, in the order in which they come, each within a time limit.

    Nothing can end a job from outside. When its client has left or its time is over, it learns that it should stop. It
    keeps the thread until it ends, so that jobs do not pile up. A job that does not stop ends its process, see
    `watched`. `on_length` gets the number of jobs that wait or run.
    """

    def __init__(self, max_waiting: int, timeout: float, on_length: Callable[[int], object]) -> None:
        self._max_waiting = max_waiting
        self._timeout = timeout
        self._on_length = on_length
        self._length = 0
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # a daemon, so that a long job does not keep a process that should end
        threading.Thread(target=self._work, daemon=True).start()

    async def run(self, job: Callable[[threading.Event], Result], client_leaves: Awaitable[Any]) -> Result:
        """Run a job, and return its result. Its argument is set when it should stop; `client_leaves` ends with its
        client.
        """
        stop = threading.Event()
        left = asyncio.ensure_future(client_leaves)
        try:
            if self._length > self._max_waiting:  # one of them is running
                raise Refused(503, f"Too many requests wait ({self._length - 1}). Try again later.")
            result = asyncio.wrap_future(self.start(partial(self._watched, job, stop)))
            await asyncio.wait({result, left}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return result.result()
            result.cancel()
            if left.done():
                raise Refused(CLIENT_LEFT, "The client left.")
            raise Refused(504, f"Linking took more than {self._timeout:g} seconds. Send fewer or shorter texts.")
        finally:
            stop.set()
            left.cancel()

    def close(self) -> None:
        """End the thread after the jobs that are in the queue."""
        self._jobs.put(None)

    def start(self, job: Callable[[], Result]) -> Future[Result]:
        """Put a job into the queue that is always taken and has no time limit, such as loading the pipeline."""
        future: Future[Result] = Future()
        self._change(1)
        future.add_done_callback(lambda _: self._change(-1))
        self._jobs.put((future, job))
        return future

    def _change(self, by: int) -> None:
        with self._lock:
            self._length += by
            self._on_length(self._length)

    def _work(self) -> None:
        while entry := self._jobs.get():
            future, job = entry
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(job())
                except BaseException as error:
                    future.set_exception(error)

    def _watched(self, job: Callable[[threading.Event], Result], stop: threading.Event) -> Result:
        with watched(self._timeout):
            return job(stop)
