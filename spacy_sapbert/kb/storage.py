"""Load a knowledge base by name or path, and save it as an artifact of a component."""

from __future__ import annotations

import shutil
from pathlib import Path

from .. import starter
from ..errors import OptionError
from ..store.artifact import KB, Artifact, saved_artifacts
from ..store.cache import shared
from .knowledge_base import KnowledgeBase

KB_FILE = "concepts.kb"
_SUFFIX = ".kb"  # of the file in a saved pipeline


def load_knowledge_base(kb: str | Path) -> KnowledgeBase:
    """Open a knowledge base. All users of one file in a process share one object.

    Args:
        kb: "starter" for the vocabulary in the package, the path of a file that `kb build` wrote, or the folder of a
            saved pipeline, for its vocabulary.

    Raises:
        OptionError: The pipeline has several vocabularies.
        NotFoundError: The file does not exist.
        DamagedError: It is damaged or not a knowledge base.
    """
    opened = KnowledgeBase(vocabulary_path(kb))
    return shared((KnowledgeBase, opened.path.resolve(), opened.fingerprint), lambda: opened)


def vocabulary_path(kb: str | Path) -> Path:
    """Return the file that `load_knowledge_base` opens, whether it exists or not."""
    path = starter.VOCABULARY if kb == "starter" else Path(kb)
    saved = saved_artifacts(path, KB, _SUFFIX)
    if len(saved) > 1:
        remedy = f"Give the path of one of them: {', '.join(map(str, saved))}."
        raise OptionError(option=path, reason="this pipeline has several vocabularies", remedy=remedy)
    return saved[0] if saved else path


def kb_artifact(kb: KnowledgeBase) -> Artifact:
    """Return the file of a knowledge base as an artifact. It may stay where it is."""
    return Artifact(
        KB, kb.fingerprint, lambda path: shutil.copyfile(kb.path, path), _SUFFIX, large=True, source=kb.path
    )
