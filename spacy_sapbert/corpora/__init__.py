"""Annotated corpora: files in, `AnnotatedDocument`s and spaCy `Doc`s out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .reader import read_corpus
    from .report import Report

__all__ = [
    "Report",
    "read_corpus",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Report": "report",
        "read_corpus": "reader",
    },
)
