"""Run one job after the other in a thread, while the server goes on: with a bounded queue and a time limit.

Only the main thread can be interrupted by a signal, and the server needs it. Therefore, a job that takes too long is
stopped by an exception that Python raises in its thread, before the next instruction of Python.
"""

from __future__ import annotations

import asyncio
import ctypes
import faulthandler
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar, cast

GRACE = 60.0
"""Seconds after which a process ends that does not notice its time limit, since it runs no Python code."""
_AGAIN = 1.0  # seconds
_LONGEST = 1e6  # seconds; a longer time is more than a timer may hold
_STANDARD_ERROR = 2  # the file itself: a notebook replaces sys.stderr by an object without one
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


class Stopped(BaseException):
    """The time of a job is over. It is no `Exception`, so that no component handles it as an error of its own."""


class LinkingQueue:
    """Runs jobs in a thread of its own, in the order in which they come.

    A job that nobody waits for is not begun. If it has begun, it learns that it should stop, and holds its place until
    it ends. Therefore, jobs do not pile up.

    When the time of a job is over, `Stopped` is raised in it. Code in C notices this when it returns to Python. If it
    does not within another `GRACE` seconds, the process ends, with a traceback on standard error.

    Args:
        max_waiting: The maximum number of waiting jobs.
        timeout: The maximum number of seconds that a job may wait and run.
        on_length: Called with the number of jobs that wait or run, whenever it changes.
        after_stop: Called in the thread after a job that was stopped, before the next one.
    """

    def __init__(
        self,
        max_waiting: int,
        timeout: float,
        on_length: Callable[[int], object],
        after_stop: Callable[[], object] = lambda: None,
    ) -> None:
        self._max_waiting = max_waiting
        self._timeout = timeout
        self._on_length = on_length
        self._after_stop = after_stop
        self._length = 0
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any], threading.Event | None] | None] = SimpleQueue()
        self._running: threading.Event | None = None  # that of the job that can be stopped
        self._was_stopped = False  # the job that runs, or has just ended
        # a daemon, so that a long job does not keep a process that is told to end
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

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
        too_long = Refused(504, f"Linking took more than {self._timeout:g} seconds. Send fewer or shorter texts.")
        try:
            future = self._submit(lambda: job(stop), stop)
            end = asyncio.get_running_loop().call_later(self._timeout, self._stop, stop)
            result: asyncio.Future[Any] = asyncio.wrap_future(future)
            await asyncio.wait({result, left}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                end.cancel()  # else it is stopped at its end, even if the client has left
                return cast(Result, result.result())
            result.cancel()
            raise Refused(CLIENT_LEFT, "The client left.") if left.done() else too_long
        except Stopped as error:  # just before the wait ended
            raise too_long from error
        finally:
            stop.set()
            left.cancel()

    def start(self, job: Callable[[], Result]) -> Future[Result]:
        """Put a job into the queue that is always taken and never stopped, such as loading the pipeline."""
        return self._put(job, None)

    def close(self) -> None:
        """End the thread after the jobs that are in the queue."""
        self._jobs.put(None)

    def _submit(self, job: Callable[[], Result], stop: threading.Event) -> Future[Result]:
        if self._length > self._max_waiting:  # one of them is running
            raise Refused(503, f"Too many requests wait ({self._length - 1}). Try again later.")
        return self._put(job, stop)

    def _put(self, job: Callable[[], Result], stop: threading.Event | None) -> Future[Result]:
        future: Future[Result] = Future()
        self._change(1)
        future.add_done_callback(lambda _: self._change(-1))
        self._jobs.put((future, job, stop))
        return future

    def _change(self, by: int) -> None:
        with self._lock:
            self._length += by
            self._on_length(self._length)

    def _work(self) -> None:
        while entry := self._jobs.get():
            future, job, stop = entry
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._bounded(job, stop) if stop else job())
            except BaseException as error:
                if isinstance(error, Stopped):
                    self._take_back()
                    self._after_stop()
                future.set_exception(error)

    def _bounded(self, job: Callable[[], Any], stop: threading.Event) -> Any:
        """Run a job that `_stop` can stop. After it, no `Stopped` is raised any more."""
        # this also ends a process in which no other thread gets Python's lock
        faulthandler.dump_traceback_later(min(self._timeout, _LONGEST) + GRACE, exit=True, file=_STANDARD_ERROR)
        try:
            with self._lock:
                if stop.is_set():
                    raise Stopped
                self._running = stop
            return job()
        finally:
            self._take_back()

    def _take_back(self) -> None:
        """End the time limit of a job, and take a stop that came too late to be raised in it."""
        try:
            with self._lock:
                self._running = None
            faulthandler.cancel_dump_traceback_later()
            if self._was_stopped:
                self._was_stopped = False
                # It takes the place of one that waits. If that one were deleted instead, Python 3.11 would look for it
                # in all threads ever after, and loop forever in a thread with a profiler or a debugger.
                _raise_in(self._thread, Stopped)
                while True:
                    pass
        except Stopped:
            self._take_back()

    def _stop(self, stop: threading.Event) -> None:
        """Stop a job, again and again: Python ignores an error in a method that frees an object."""
        with self._lock:
            stop.set()
            if self._running is stop:
                self._was_stopped = True
                _raise_in(self._thread, Stopped)
                asyncio.get_running_loop().call_later(_AGAIN, self._stop, stop)


def _raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    """Raise an error in a thread before one of its next instructions of Python. Only the last such error is raised."""
    assert thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(error))
