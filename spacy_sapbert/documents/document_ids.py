"""Select the documents of a split by a file of ids, such as the PMIDs that come with MedMentions."""

from __future__ import annotations

import warnings
from pathlib import Path

from ..errors import EmptyError, Errors, SapbertError, Warnings
from ..files.opening import open_text


class DocumentIds:
    """The document ids of a split. It records which of them were found.

    Args:
        path: A file with one id per line, plain or gzipped. Empty lines are skipped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_text(path) as lines:
            self._missing = dict.fromkeys(line.strip() for line in lines if line.strip())
        if not self._missing:
            raise EmptyError(
                what=f"document id in {path}", consequence="no document is read", remedy="Write one id per line."
            )
        self._found: set[str] = set()
        self._n_others = 0
        self._first_other = ""

    def takes(self, doc_id: str) -> bool:
        """Return whether a document belongs to the split, and record that it was found."""
        if doc_id in self._missing:
            del self._missing[doc_id]
            self._found.add(doc_id)
        elif doc_id not in self._found:
            self._first_other = self._first_other if self._n_others else doc_id
            self._n_others += 1
        return doc_id in self._found

    def check(self) -> int:
        """Warn about ids without a document. Call this after all documents were read.

        Returns:
            The number of these ids.
        """
        if self._missing:
            n = len(self._missing)
            if self._n_others and not self._found:
                example = repr(self._first_other)
                raise SapbertError(Errors.E214.format(n=n, path=self._path, others=self._n_others, example=example))
            example = repr(next(iter(self._missing)))
            total = n + len(self._found)
            warnings.warn(Warnings.W203.format(n=n, path=self._path, total=total, example=example), stacklevel=2)
        return len(self._missing)
