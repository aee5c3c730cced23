from .docs import from_doc, to_doc
from .reader import read_corpus
from .source import Report

__all__ = ["Report", "from_doc", "read_corpus", "to_doc"]
