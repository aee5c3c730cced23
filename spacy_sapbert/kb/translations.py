"""Add translated names to the concepts of a vocabulary.

The other sources of a build are the base. A translation adds names to its concepts, and no concepts of its own: it may
be of another release, and a concept without a name in the base language would have no types, parents or definition.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..errors import Errors, SapbertError, Warnings
from ..types import Record
from .build import KnowledgeBaseBuilder
from .ids import some_ids

FORMATS = frozenset({"babelon"})
"""Formats of files that hold only translations."""
_MANY = 0.1  # of the names of a translation; with more unknown ones, it may be of another release
_EXAMPLES = 3


def add_translation(builder: KnowledgeBaseBuilder, records: Iterable[Record], path: Path) -> str | None:
    """Add the names of records to concepts that have their ids; the concepts come before.

    `builder.counts` counts the names that were added, and those that were left out. A name is left out if no concept
    has its id, or if several do.

    Args:
        builder: The knowledge base, to which all concepts were added.
        records: The translated names.
        path: Their file, for messages.

    Returns:
        A warning if many names belong to no concept, else None.

    Raises:
        SapbertError: E196 if no id is known.
    """
    total = unknown = 0
    examples: list[str] = []
    for record in records:
        total += len(record.names)
        n_concepts = builder.add_names(record)
        if n_concepts == 0:
            unknown += len(record.names)
            if len(examples) < _EXAMPLES:
                examples.append(record.concept_id)
    if total and unknown == total:
        raise SapbertError(Errors.E196.format(path=path, n=total, examples=some_ids(examples)))
    if unknown > _MANY * total:
        return Warnings.W576.format(unknown=unknown, total=total, path=path)
    return None
