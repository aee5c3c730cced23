"""Keep torch, faiss and tokenizers from hanging in forked processes, such as those of `nlp.pipe(n_process=2)`."""

from __future__ import annotations

import os
import sys
from functools import cache

PARALLELISM = "TOKENIZERS_PARALLELISM"
"""The environment variable of tokenizers. What the user sets is kept."""


@cache
def use_one_thread_after_fork() -> None:
    """Let each process that is forked from now on compute with one thread. Call it before torch or faiss is used.

    OpenMP keeps its threads after their first start. A forked child does not have them, but would wait for them
    forever. Tokenizers warns of its own threads at each fork, unless the environment says that they are not used.
    """
    if hasattr(os, "register_at_fork"):  # Windows never forks
        os.register_at_fork(before=_set_parallelism, after_in_parent=_unset_parallelism, after_in_child=_use_one_thread)


# whether the variable was set for a fork, and not by the user
_for_fork = False


def _set_parallelism() -> None:
    global _for_fork
    _for_fork = PARALLELISM not in os.environ
    if _for_fork:
        os.environ[PARALLELISM] = "false"


def _unset_parallelism() -> None:
    if _for_fork:
        os.environ.pop(PARALLELISM, None)


def _use_one_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(1)
