"""Run one job after the other in a thread, while the server goes on: with a bounded queue and a time limit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar, cast

_RETRY_AFTER = 2  # seconds
CLIENT_LEFT = 499
"""The status of a request whose client left, as nginx logs it."""
Result = TypeVar("Result")
Job = Callable[[threading.Event], Result]


class Refused(Exception):
    """A request without an answer from the linker.

    Args:
        status: The HTTP status of the answer.
        message: The message for the user.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer: a server that is busy says when to ask again."""
        return {"Retry-After": str(_RETRY_AFTER)} if self.status == 503 else {}


class LinkingQueue:
    """Runs jobs in a thread of its own, in the order in which they come.

    A job that nobody waits for is not begun. If it has begun, it learns that it should stop, and holds its place until
    it ends. Therefore, jobs do not pile up.

    Args:
        max_waiting: The maximum number of waiting jobs.
        timeout: The maximum number of seconds that a job may wait and run.
        on_length: Called with the number of jobs that wait or run, whenever it changes.
    """

    def __init__(self, max_waiting: int, timeout: float, on_length: Callable[[int], object]) -> None:
        self._max_waiting = max_waiting
        self._timeout = timeout
        self._on_length = on_length
        self._length = 0
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # a daemon, so that a long job does not keep a process that is told to end
        threading.Thread(target=self._work, daemon=True).start()

    async def run(self, job: Job[Result], client_leaves: Awaitable[Any]) -> Result:
        """Run a job, and return its result.

        Args:
            job: The job. Its argument is set when the job should stop.
            client_leaves: Ends when the client leaves.

        Raises:
            Refused: Too many jobs wait, the job takes too long, or the client left.
        """
        stop = threading.Event()
        left: asyncio.Future[Any] = asyncio.ensure_future(client_leaves)
        try:
            result: asyncio.Future[Any] = asyncio.wrap_future(self._submit(lambda: job(stop)))
            await asyncio.wait({result, left}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return cast(Result, result.result())
            result.cancel()
            if left.done():
                raise Refused(CLIENT_LEFT, "The client left.")
            raise Refused(504, f"Linking took more than {self._timeout:g} seconds. Send fewer or shorter texts.")
        finally:
            stop.set()
            left.cancel()

    def start(self, job: Callable[[], Result]) -> Future[Result]:
        """Put a job into the queue that is always taken, such as loading the pipeline."""
        future: Future[Result] = Future()
        self._change(1)
        future.add_done_callback(lambda _: self._change(-1))
        self._jobs.put((future, job))
        return future

    def close(self) -> None:
        """End the thread after the jobs that are in the queue."""
        self._jobs.put(None)

    def _submit(self, job: Callable[[], Result]) -> Future[Result]:
        if self._length > self._max_waiting:  # one of them is running
            raise Refused(503, f"Too many requests wait ({self._length - 1}). Try again later.")
        return self.start(job)

    def _change(self, by: int) -> None:
        with self._lock:
            self._length += by
            self._on_length(self._length)

    def _work(self) -> None:
        while entry := self._jobs.get():
            future, job = entry
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)
