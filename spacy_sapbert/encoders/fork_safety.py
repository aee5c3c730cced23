"""Keep torch and faiss from hanging in forked processes, such as those of `nlp.pipe(n_process=2)`."""

from __future__ import annotations

import os
import sys
from functools import cache


@cache
def use_one_thread_after_fork() -> None:
    """Let each process that is forked from now on compute with one thread. Call it before torch or faiss is used.

    OpenMP keeps its threads after their first start. A forked child does not have them, but would wait for them
    forever.
    """
    if hasattr(os, "register_at_fork"):  # Windows never forks
        os.register_at_fork(after_in_child=_use_one_thread)


def _use_one_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(1)
