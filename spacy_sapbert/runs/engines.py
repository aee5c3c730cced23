"""Engines do work in processes: of this machine, on a Ray cluster or on Spark.

An engine takes work, tasks and a number of workers, and yields the result of each task. Closing it ends what still
runs. A task is tried again if its process ends, up to `TRIES` times.

On this machine, each worker is a process that loads the pipeline once. A process that dies takes no other with it, so
each worker is an executor of its own. The processes share the files of the pipeline in memory, since they map them.
Their memory grows slowly, since libraries keep some of what they once needed. So a new process takes the place of one
that has linked many documents.
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
from functools import partial
from itertools import islice
from multiprocessing.synchronize import Event
from typing import Any, Protocol

from ..errors import Errors, SapbertError, requiring

TRIES = 3
"""How often a task is tried in one run, if its process ends each time."""
DOCUMENTS_PER_PROCESS = 20_000  # a new process costs the start of Python and the loading of the pipeline
_SECONDS_BETWEEN_LOOKS = 1.0
ENGINES = ("local", "ray", "spark")


class Work(Protocol):
    """What a process does with a task. It travels to the processes. Its results have the attribute `counts`."""

    def done(self, task: Any, /) -> Any:
        """Return the result of a task that an earlier run has done; None if none has."""

    def __call__(self, task: Any, /) -> Any:
        """Do a task."""

    def lost(self, task: Any, /, reason: str = ...) -> Any:
        """Return the result of a task that no process could do, or raise an error that ends the run."""


Results = Generator[Any, None, None]
Engine = Callable[[Work, Iterable[Any]], Results]


def engine(name: str, workers: int, address: str | None = None) -> Engine:
    """Return one of `ENGINES`, with a number of workers. Ray and Spark run on this machine, or at an address."""
    if name == "local":
        return partial(run_local, workers=workers)
    return partial({"ray": run_on_ray, "spark": run_on_spark}[name], workers=workers, address=address)


def run_local(work: Work, tasks: Iterable[Any], workers: int) -> Results:
    """Do tasks in processes of this machine. A task is taken when a process is free.

    Yields:
        The results, in the order in which the tasks end.
    """
    # a forked process would inherit the threads of torch, and hang
    context = multiprocessing.get_context("spawn")
    can_start = context.Event()
    threads = max(1, (os.cpu_count() or 1) // workers)
    waiting = iter(tasks)
    executors: set[ProcessPoolExecutor] = set()
    running: dict[Future[Any], tuple[ProcessPoolExecutor, Any, int]] = {}
    documents: Counter[ProcessPoolExecutor] = Counter()

    def start() -> ProcessPoolExecutor:
        executor = ProcessPoolExecutor(1, context, start_worker, (threads, os.getpid(), can_start))
        executors.add(executor)
        return executor

    def end(executor: ProcessPoolExecutor) -> None:
        executor.shutdown()
        executors.remove(executor)

    def submit(executor: ProcessPoolExecutor, task: Any, tries: int = 1) -> None:
        with _hiding_ctrl_c():  # the first call starts the process
            running[executor.submit(work, task)] = executor, task, tries

    try:
        for task in islice(waiting, workers):
            submit(start(), task)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                executor, task, tries = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool as error:
                    if not can_start.is_set():
                        raise SapbertError(Errors.E575) from error
                    end(executor)
                    executor = start()
                    if tries < TRIES:
                        submit(executor, task, tries + 1)
                        continue
                    result = work.lost(task)
                yield result
                documents[executor] += result.counts["documents"]
                if documents[executor] >= DOCUMENTS_PER_PROCESS:
                    end(executor)
                    executor = start()
                for following in islice(waiting, 1):
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


def start_worker(threads: int, parent: int, can_start: Event) -> None:
    """Prepare a process: bound its threads, and end it when its parent ends, however that ends.

    `can_start` shows the parent that processes can start.
    """
    can_start.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent ends this one
    for name, setting in (("torch", "set_num_threads"), ("faiss", "omp_set_num_threads")):
        if name in sys.modules:  # spaCy imports torch
            getattr(sys.modules[name], setting)(threads)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)


# --- clusters


def run_on_ray(work: Work, tasks: Iterable[Any], workers: int, address: str | None) -> Results:
    """Do tasks on a Ray cluster: that of the address or of RAY_ADDRESS, or one on this machine.

    Yields:
        The results, in the order in which the tasks end.
    """
    with requiring("ray", "The engine ray"):
        import ray
    started = not ray.is_initialized()
    if started:
        quiet = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
        try:
            if address or os.environ.get("RAY_ADDRESS"):
                ray.init(address, log_to_driver=False)
            else:
                ray.init("local", num_cpus=workers, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise SapbertError(Errors.E568.format(engine="Ray", address=address or "here", reason=error)) from error
    try:
        do = ray.remote(num_cpus=1, max_retries=TRIES - 1)(_do)
        shared = ray.put(work)
        waiting = iter(tasks)
        running = {do.remote(shared, task): task for task in islice(waiting, workers)}
        while running:
            done, _ = ray.wait(list(running))
            for reference in done:
                task = running.pop(reference)
                try:
                    yield ray.get(reference)
                except ray.exceptions.RayError as error:
                    yield work.lost(task, f"Ray lost it: {error}")
                running |= {do.remote(shared, task): task for task in islice(waiting, 1)}
    finally:
        if started:
            ray.shutdown()


def _do(work: Work, task: Any) -> Any:
    return work(task)


def run_on_spark(work: Work, tasks: Iterable[Any], workers: int, address: str | None) -> Results:
    """Do tasks as those of a Spark job, with the master at the address or on this machine.

    Yields:
        The results, when the last task has ended.
    """
    with requiring("spark", "The engine spark"):
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    if address is None:
        # by default, Spark takes the first python3 of the PATH, which is another one if no environment is activated
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = address or f"local[{workers},{TRIES + 1}]"
    builder = SparkSession.builder.appName("spacy-sapbert").config("spark.task.maxFailures", TRIES + 1)
    started = SparkSession.getActiveSession() is None
    try:
        session = builder.master(master).getOrCreate()
    except (PySparkException, OSError) as error:
        raise SapbertError(Errors.E568.format(engine="Spark", address=master, reason=error)) from error
    try:
        listed = list(tasks)
        yield from (
            session.sparkContext.parallelize(listed, max(1, len(listed))).map(partial(_do_on_spark, work)).collect()
        )
    finally:
        if started:
            session.stop()


def _do_on_spark(work: Work, task: Any) -> Any:
    """Do a task. After its last try, it is lost, since a task that fails too often ends the whole job."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    return work.lost(task) if context.attemptNumber() >= TRIES else work(task)
