"""Annotated corpora: read files as `Document`s and convert them to spaCy `Doc`s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .docs import from_doc, to_doc
    from .reader import read_corpus
    from .report import Report

__all__ = [
    "Report",
    "from_doc",
    "read_corpus",
    "to_doc",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Report": "report",
        "from_doc": "docs",
        "read_corpus": "reader",
        "to_doc": "docs",
    },
)
