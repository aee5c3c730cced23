"""The engine of one machine: each worker is a process that loads the pipeline once.

A process that dies takes no other with it, so each worker is an executor of its own. The processes share the
files of the pipeline in memory, since they map them.

The memory of a process grows slowly, since libraries keep some of what they once needed. So a new process takes the
place of one that has linked many documents.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Protocol, TypeVar

from ..errors import Errors, SapbertError

IN_USE = "another process is writing it"
TRIES = 3
"""How often a task is tried in one run, if its process ends each time."""
DOCUMENTS_PER_PROCESS = 20_000  # a new process costs the start of Python and the loading of the pipeline
_SECONDS_BETWEEN_LOOKS = 1.0


class Task(Protocol):
    """A part of the input, which one process links."""

    @property
    def name(self) -> str: ...


class Result(Protocol):
    """What was made of a task."""

    @property
    def counts(self) -> Counter[str]: ...


T = TypeVar("T", bound=Task)
R = TypeVar("R", bound=Result)


def run_local(work: Callable[[T], R], tasks: Iterable[T], workers: int) -> Generator[R, None, None]:
    """Link tasks in processes of this machine. Closing the generator ends the processes.

    Args:
        work: What a process does with a task.
        tasks: The tasks. Each is taken when a process is free.
        workers: The number of processes.

    Yields:
        The results, in the order in which the tasks end.
    """
    waiting = iter(tasks)
    executors: set[ProcessPoolExecutor] = set()
    running: dict[Future[R], tuple[ProcessPoolExecutor, T]] = {}
    deaths: Counter[str] = Counter()
    documents: Counter[ProcessPoolExecutor] = Counter()

    def start() -> ProcessPoolExecutor:
        executor = _executor(workers)
        executors.add(executor)
        return executor

    def end(executor: ProcessPoolExecutor) -> None:
        executor.shutdown()
        executors.remove(executor)

    def submit(executor: ProcessPoolExecutor, task: T) -> None:
        with _hiding_ctrl_c():  # the first call starts the process
            running[executor.submit(work, task)] = executor, task

    try:
        for task in islice(waiting, workers):
            submit(start(), task)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                executor, task = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool as error:
                    deaths[task.name] += 1
                    if deaths[task.name] > TRIES:  # it dies before the work can count its tries
                        raise SapbertError(Errors.E575) from error
                    end(executor)
                    submit(start(), task)
                    continue
                yield result
                documents[executor] += result.counts["documents"]
                if documents[executor] >= DOCUMENTS_PER_PROCESS:
                    end(executor)
                    executor = start()
                following = next(waiting, None)
                if following is not None:
                    submit(executor, following)
    finally:
        for executor in executors:
            for process in list((executor._processes or {}).values()):
                process.terminate()
            executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _hiding_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C, which reaches all processes of a terminal, from those that start in the block.

    A process inherits which signals are blocked, so it has no moment in which Ctrl-C would show a traceback of it.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _executor(workers: int) -> ProcessPoolExecutor:
    # a forked process would inherit the threads of torch, and hang
    context = multiprocessing.get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // workers)
    return ProcessPoolExecutor(1, mp_context=context, initializer=start_worker, initargs=(threads, os.getpid()))


def start_worker(threads: int, parent: int) -> None:
    """Prepare a process: bound its threads, and end it when its parent ends, however that ends.

    Args:
        threads: The number of threads that torch and faiss may use.
        parent: The number of the parent process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent ends this one
    for name, setting in (("torch", "set_num_threads"), ("faiss", "omp_set_num_threads")):
        if name in sys.modules:  # spaCy imports torch
            getattr(sys.modules[name], setting)(threads)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)
