from .build import build_knowledge_base
from .filters import Filter
from .knowledge_base import KnowledgeBase
from .readers import read_vocabulary
from .readers.context import ReadReport
from .storage import load_knowledge_base

__all__ = ["Filter", "KnowledgeBase", "ReadReport", "build_knowledge_base", "load_knowledge_base", "read_vocabulary"]
