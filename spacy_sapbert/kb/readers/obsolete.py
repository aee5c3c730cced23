"""Keep the ids of obsolete terms as alternative ids of the terms that replace them.

An obsolete term gives no concept and no names, since what its names mean today is unknown. But corpora and older links
contain its id, and `replaced_by` names its replacement. `consider` needs a person's judgment, so it is ignored. A term
with several replacements is ignored as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple


class Obsolete(NamedTuple):
    """An obsolete term. All ids are canonical.

    Attributes:
        ids: Its id and alternative ids.
        replaced_by: The ids of its replacements.
    """

    ids: tuple[str, ...]
    replaced_by: tuple[str, ...]


def replaced_ids(obsolete: Mapping[str, Obsolete]) -> dict[str, list[str]]:
    """Map each term that is not obsolete to the ids that it replaces.

    Args:
        obsolete: The obsolete terms of a file by id. One may replace another.
    """
    replaced: dict[str, list[str]] = defaultdict(list)
    for concept_id, term in obsolete.items():
        replacement = _current_replacement(concept_id, obsolete)
        if replacement:
            replaced[replacement] += term.ids
    return dict(replaced)


def _current_replacement(concept_id: str, obsolete: Mapping[str, Obsolete]) -> str | None:
    visited = set()
    while concept_id in obsolete:
        if concept_id in visited or len(obsolete[concept_id].replaced_by) != 1:
            return None
        visited.add(concept_id)
        concept_id = obsolete[concept_id].replaced_by[0]
    return concept_id
