"""Ids of obsolete terms, kept as alternative ids of the terms that replace them.

An obsolete term gives no concept and no names, as what its names mean today is open. Its id however stands in corpora
and in older links, and `replaced_by` says which term to take for it; `consider`, which asks for a person's judgement,
and a term that several replace say no such thing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple


class Obsolete(NamedTuple):
    """
    Attributes:
        ids: an obsolete term's id and alternative ids. replaced_by: its replacements. All in canonical form.
    """

    ids: tuple[str, ...]
    replaced_by: tuple[str, ...]


def replaced_ids(obsolete: Mapping[str, Obsolete]) -> dict[str, list[str]]:
    """Return `dict[str, list[str]]`: for terms that are in force, the ids that they replace.

    Args:
        obsolete: the obsolete terms of a file by their id. One may replace another.
    """
    replaced: dict[str, list[str]] = defaultdict(list)
    for concept_id, term in obsolete.items():
        replacement = _in_force(concept_id, obsolete)
        if replacement:
            replaced[replacement] += term.ids
    return dict(replaced)


def _in_force(concept_id: str, obsolete: Mapping[str, Obsolete]) -> str | None:
    passed = set()
    while concept_id in obsolete:
        if concept_id in passed or len(obsolete[concept_id].replaced_by) != 1:
            return None
        passed.add(concept_id)
        concept_id = obsolete[concept_id].replaced_by[0]
    return concept_id
