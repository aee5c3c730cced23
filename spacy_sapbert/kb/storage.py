"""Load a knowledge base by name or path, and save it as an artifact of a component."""

from __future__ import annotations

import logging
import shutil
from itertools import chain
from pathlib import Path
from typing import Any

from .. import starter
from ..errors import OptionError
from ..files.opening import sha256_of
from ..store.artifact import KB, Artifact, saved_artifacts
from ..store.cache import cache_dir, make_once, shared
from ..text.normalize import lower
from .database import FORMAT
from .knowledge_base import KnowledgeBase

KB_FILE = "concepts.kb"
STARTER, CLINICAL = "starter", "clinical"
"""The names of the vocabulary in the package, and of the same one with the names that clinical notes use."""
_OWN_SOURCE = "spacy-sapbert"  # of names that were written for notes
_SUFFIX = ".kb"  # of the file in a saved pipeline

logger = logging.getLogger(__name__)


def load_knowledge_base(kb: str | Path) -> KnowledgeBase:
    """Open a knowledge base. All users of one file in a process share one object.

    Args:
        kb: "starter" for the vocabulary in the package, "clinical" for the one with the names that clinical notes use,
            the path of a file that `kb build` wrote, or the folder of a saved pipeline, for its vocabulary.

    Raises:
        OptionError: The pipeline has several vocabularies.
        NotFoundError: The file does not exist.
        DamagedError: It is damaged or not a knowledge base.
    """
    opened = KnowledgeBase(vocabulary_path(kb))
    return shared((KnowledgeBase, opened.path.resolve(), opened.fingerprint), lambda: opened)


def vocabulary_path(kb: str | Path) -> Path:
    """Return the file that `load_knowledge_base` opens, whether it exists or not."""
    if kb == CLINICAL:
        return _clinical_vocabulary()
    path = starter.VOCABULARY if kb == STARTER else Path(kb)
    saved = saved_artifacts(path, KB, _SUFFIX)
    if len(saved) > 1:
        remedy = f"Give the path of one of them: {', '.join(map(str, saved))}."
        raise OptionError(option=path, reason="this pipeline has several vocabularies", remedy=remedy)
    return saved[0] if saved else path


def _clinical_vocabulary() -> Path:
    """Return the vocabulary for clinical notes. The first use makes it in the cache folder."""
    base = KnowledgeBase(starter.VOCABULARY)
    state = f"{base.fingerprint[:16]}-{sha256_of(starter.CLINICAL_NAMES)[:16]}"
    path = cache_dir() / "vocabularies" / f"{CLINICAL}-{FORMAT}-{state}{_SUFFIX}"
    make_once(path, path.is_file, lambda: _join_clinical_names(base, path))
    return path


def _join_clinical_names(base: KnowledgeBase, path: Path) -> None:
    from .build import build_knowledge_base  # imported here, since a made vocabulary needs none of them
    from .export import stream_records
    from .readers import ReadReport, read_vocabulary
    from .stop_names import StopNameRules

    logger.info("Joining the vocabulary in the package and the names of clinical notes into %s", path)
    records = list(read_vocabulary(starter.CLINICAL_NAMES, "table", report=ReadReport()))
    # such as "depression" and "tired": stop names elsewhere, since they mean something else in abstracts
    own = {lower(name.text) for record in records for name in record.names if name.source == _OWN_SOURCE}
    stop_names = StopNameRules.from_json(base.meta["stop_names"])._replace(kept=frozenset(own))
    title = f"{base.meta.get('catalog', {}).get('title', STARTER)}, with findings of notes"
    meta: dict[str, Any] = {key: base.meta[key] for key in ("release", "sources") if key in base.meta}
    meta["catalog"] = {"name": CLINICAL, "title": title, "home": ""}
    meta["licence"] = f"{base.meta.get('licence', '')} {starter.CLINICAL_LICENSE}".strip()
    build_knowledge_base(chain(stream_records(base), records), path, meta, stop_names)


def kb_artifact(kb: KnowledgeBase) -> Artifact:
    """Return the file of a knowledge base as an artifact. It may stay where it is."""
    return Artifact(
        KB, kb.fingerprint, lambda path: shutil.copyfile(kb.path, path), _SUFFIX, large=True, source=kb.path
    )
