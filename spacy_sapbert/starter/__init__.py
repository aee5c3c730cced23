"""The vocabulary that comes with the package."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..files import cache_dir
from ..kb.build import build_knowledge_base
from ..kb.knowledge_base import FORMAT, KnowledgeBase
from ..kb.readers import ReadReport, read_vocabulary

VOCABULARY = Path(__file__).parent / "vocabulary.jsonl"


def starter_knowledge_base() -> KnowledgeBase:
    """RETURNS (KnowledgeBase): the starter vocabulary; its store is built in the cache folder at the first use."""
    digest = hashlib.sha256(VOCABULARY.read_bytes()).hexdigest()
    path = cache_dir() / f"starter-{digest[:16]}-format{FORMAT}.kb"
    if path.is_file():
        return KnowledgeBase(path)
    records = read_vocabulary(VOCABULARY, "scispacy", report=ReadReport(), source="starter")
    return build_knowledge_base(records, path, {"title": "spacy-sapbert starter vocabulary", "licence": "MIT"})
