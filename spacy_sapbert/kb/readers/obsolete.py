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
    known: dict[str, str | None] = {}
    for concept_id, term in obsolete.items():
        replacement = _current_replacement(concept_id, obsolete, known)
        if replacement:
            replaced[replacement] += term.ids
    return dict(replaced)


def _current_replacement(concept_id: str, obsolete: Mapping[str, Obsolete], known: dict[str, str | None]) -> str | None:
    """Return the term at the end of a chain of replacements, and note it in `known` for each term of the chain."""
    chain: list[str] = []
    found: str | None = concept_id
    while found is not None and found in obsolete and found not in known:
        chain.append(found)
        known[found] = None  # so a circle has no end
        following = obsolete[found].replaced_by
        found = following[0] if len(following) == 1 else None
    end = None if found is None else known.get(found, found)
    known.update((one, end) for one in chain)
    return end
