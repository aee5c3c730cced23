"""Find names of a vocabulary that may mean something else in text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ..text.common_words import common_nouns, common_words
from ..text.words import is_acronym, word_keys
from .database import open_database, reading
from .knowledge_base import KnowledgeBase
from .stop_names import StopNameRules, stop_names

MANY = 3  # concepts of one name
SHOWN_IDS = 5

_NAMES = """
SELECT n.row, n.text, c.id FROM names n JOIN synonyms s ON s.name = n.row JOIN concepts c ON c.row = s.concept
WHERE n.row NOT IN (SELECT name FROM stop_names) GROUP BY n.row, c.row ORDER BY n.row, c.id
"""


KINDS = (
    "a default stop name that you keep",
    "also a name in another vocabulary",
    "a frequent English noun",
    "a name of many concepts",
    "nearly a word of general English",
)
"""Why a name is suspicious, the worst reason first."""


class SuspiciousName(NamedTuple):
    """A name that may mean something else in text. Sorted, the most suspicious names come first.

    Attributes:
        severity: The position of its kind in `KINDS`.
        rank: The order among names of the same kind.
        name: The name.
        row: Its row in the knowledge base.
        ids: The primary ids of its concepts.
        why: The reason.
    """

    severity: int
    rank: int
    name: str
    row: int
    ids: tuple[str, ...]
    why: str

    @property
    def kind(self) -> str:
        """The kind of the reason."""
        return KINDS[self.severity]

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "ids": list(self.ids[:SHOWN_IDS]), "why": self.why}


def suspicious_names(kb: KnowledgeBase, others: Iterable[KnowledgeBase] = ()) -> Iterator[SuspiciousName]:
    """Find the names, other than stop names, that may mean something else in text.

    A name has one reason, the first of `KINDS` that holds. "Also a name in another vocabulary" holds for short names in
    capitals only.

    Args:
        kb: The vocabulary.
        others: Vocabularies of which short forms may be names, such as gene symbols.

    Yields:
        The names, by row.
    """
    folded = {word_keys(word): word for word in sorted(common_words())}
    elsewhere = {name: other.path.name for other in others for name in other.names() if is_acronym(name)}
    with reading(kb.path), closing(open_database(kb.path)) as db:
        would_stop = dict(stop_names(db, StopNameRules()))
        for (row, name), rows in groupby(db.execute(_NAMES), key=itemgetter(0, 1)):
            ids = tuple(concept_id for _, _, concept_id in rows)
            doubt = _doubt(name, len(ids), would_stop.get(row), elsewhere.get(name), folded)
            if doubt:
                severity, rank, why = doubt
                yield SuspiciousName(severity, rank, name, row, ids, why)


def _doubt(
    name: str, n_concepts: int, rule: str | None, elsewhere: str | None, folded: dict[tuple[str, ...], str]
) -> tuple[int, int, str] | None:
    """Return severity, rank and reason of a name, or None."""
    if rule:
        return 0, 0, rule
    if elsewhere:
        return 1, len(name), f"also a name in {elsewhere}"
    if is_acronym(name):
        return (3, -n_concepts, f"a name of {n_concepts} concepts") if n_concepts >= MANY else None
    rank = common_nouns().get(name.lower())
    if rank is not None:
        return 2, rank, "a frequent English noun"
    if n_concepts >= MANY:
        return 3, -n_concepts, f"a name of {n_concepts} concepts"
    word = folded.get(word_keys(name)) if " " not in name else None
    return (4, 0, f'differs from "{word}" only in its ending') if word else None
