"""Load a knowledge base by name or path, and copy it into a saved pipeline."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from ..files import cache_dir
from ..starter import VOCABULARY
from .build import build_knowledge_base
from .knowledge_base import FORMAT, KnowledgeBase
from .readers import ReadReport, read_vocabulary

KB_FILE = "concepts.kb"


def load_knowledge_base(kb: str | Path) -> KnowledgeBase:
    """Open a knowledge base.

    Args:
        kb: "starter" for the vocabulary in the package, or the path of a file that `kb build` wrote.

    Raises:
        SapbertError: E101 if the file does not exist; E102 if it is damaged or not a knowledge base; E103 if it has
            another format version.
    """
    return starter_knowledge_base() if kb == "starter" else KnowledgeBase(kb)


def starter_knowledge_base() -> KnowledgeBase:
    """Return the vocabulary in the package. The first call builds its file in the cache folder."""
    digest = hashlib.sha256(VOCABULARY.read_bytes()).hexdigest()
    path = cache_dir() / f"starter-{digest[:16]}-format{FORMAT}.kb"
    if path.is_file():
        return KnowledgeBase(path)
    records = read_vocabulary(VOCABULARY, "scispacy", report=ReadReport(), source="starter")
    return build_knowledge_base(records, path, {"title": "spacy-sapbert starter vocabulary", "licence": "MIT"})


def copy_knowledge_base(kb: KnowledgeBase, folder: Path) -> None:
    """Copy the file into a folder. `open_saved_knowledge_base` opens the copy."""
    shutil.copyfile(kb.path, folder / KB_FILE)


def open_saved_knowledge_base(folder: Path) -> KnowledgeBase:
    """Open the knowledge base that `copy_knowledge_base` wrote into a folder."""
    return KnowledgeBase(folder / KB_FILE)
