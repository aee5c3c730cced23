"""Describe a knowledge base, check it for damage and odd content, and find names that may mean something else in text.

The checks run inside SQLite or read row by row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from ..files.values import read_sections
from ..text.common_words import common_nouns, common_words
from ..text.words import is_acronym, word_keys
from .build import fingerprint
from .database import open_database, reading
from .knowledge_base import KnowledgeBase
from .stop_names import StopNameRules, is_general_name, stop_names

_SQL = read_sections(Path(__file__).with_suffix(".sql"))


def _sections(start: str) -> Iterator[tuple[str, str]]:
    """Yield the queries whose names begin like this, with the rest of their names."""
    return ((name.removeprefix(start), sql) for name, sql in _SQL.items() if name.startswith(start))


# --- counts


def describe(kb: KnowledgeBase) -> dict[str, Any]:
    """Count what a knowledge base contains.

    Returns:
        The `meta` of the file, and these keys. "types" counts concepts by type. "names_by_source" counts name–concept
        pairs by source, and "names_by_language" by language, with the key "" for an unknown language.
        "stop_names_by_reason" counts the names that are not found in text. The other keys count names of several
        concepts, alternative ids, and concepts with a definition, parents, types or cross-references.
    """
    return {
        **kb.meta,
        "types": kb.type_counts(),
        "names_by_source": kb.source_counts(),
        "names_by_language": kb.language_counts(),
        "stop_names_by_reason": kb.stop_name_counts(),
        **{key: int(kb.query(f"SELECT count(*) FROM ({sql})")[0][0]) for key, sql in _sections("count: ")},
    }


# --- damage and odd content

MAX_EXAMPLES = 10
MAX_NAME_LENGTH = 500

Finding = dict[str, Any]
"""The result of one check: a "count" and the first "examples". Some checks add more keys."""


def check_knowledge_base(kb: KnowledgeBase) -> dict[str, Any]:
    """Check the file and the content of a knowledge base.

    Each result maps the name of a check to its `Finding`. Checks that found nothing are left out.

    Problems mean that the file must be built again: "file_damage", or "wrong_fingerprint" (the content is not what was
    built). Then nothing else is checked.

    Remarks are about the content:

    - "names_of_several_concepts": The examples are the names with the most concepts. "by_source" counts the names that
      one source gives to several concepts.
    - "odd_names": Empty or very long names, and names without a letter or digit.
    - "concepts_without_types": Concepts that have no semantic type.
    - "unknown_parents": Parents that are the id of no concept.
    - "ids_of_several_concepts": Ids that several concepts share.

    Returns:
        A dictionary with the keys "kb" (the path), "problems" and "remarks".
    """
    with reading(kb.path), closing(open_database(kb.path)) as db:
        problems = {"file_damage": _finding(_damage(db))}
        if not problems["file_damage"]["count"]:
            content = fingerprint(db)
            different = [] if content == kb.fingerprint else [{"meta": kb.fingerprint, "content": content}]
            problems["wrong_fingerprint"] = _finding(different)
        remarks = {} if _nonempty(problems) else _remarks(kb, db)
    return {"kb": str(kb.path), "problems": _nonempty(problems), "remarks": _nonempty(remarks)}


def _nonempty(findings: dict[str, Finding]) -> dict[str, Finding]:
    return {check: finding for check, finding in findings.items() if finding["count"]}


def _finding(examples: Iterable[Any]) -> Finding:
    """Count the examples, and return the first `MAX_EXAMPLES`."""
    finding: Finding = {"count": 0, "examples": []}
    for example in examples:
        finding["count"] += 1
        if len(finding["examples"]) < MAX_EXAMPLES:
            finding["examples"].append(example)
    return finding


def _damage(db: sqlite3.Connection) -> list[str]:
    try:
        return [message for (message,) in db.execute("PRAGMA integrity_check") if message != "ok"]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        return [str(error)]


def _remarks(kb: KnowledgeBase, db: sqlite3.Connection) -> dict[str, Finding]:
    findings = {"names_of_several_concepts": _shared_names(db)}
    names = (text for (text,) in db.execute("SELECT text FROM names ORDER BY row"))
    odd = ({"name": name[:MAX_NAME_LENGTH], "why": why} for name in names if (why := _oddity(name)))
    findings["odd_names"] = _finding(odd)
    findings |= {check: _finding(value for (value,) in db.execute(sql)) for check, sql in _sections("remark: ")}
    shared_ids = findings["ids_of_several_concepts"]
    shared_ids["examples"] = [{"id": shared, "concepts": list(kb.find_id(shared))} for shared in shared_ids["examples"]]
    return findings


def _shared_names(db: sqlite3.Connection) -> Finding:
    db.execute("PRAGMA query_only = OFF")  # for a temporary table; the file itself is open for reading only
    db.execute(_SQL["shared"])
    examples = []
    for row, text, n in db.execute(_SQL["worst"], (MAX_EXAMPLES,)):
        ids = [concept_id for (concept_id,) in db.execute(_SQL["concepts of a name"], (row, MAX_EXAMPLES))]
        examples.append({"name": text, "concepts": n, "ids": ids})
    count = db.execute("SELECT count(*) FROM shared").fetchone()[0]
    return {"count": count, "by_source": dict(db.execute(_SQL["within sources"])), "examples": examples}


def _oddity(name: str) -> str | None:
    """Return what is odd about a name, or None."""
    if not name.strip():
        return "empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"longer than {MAX_NAME_LENGTH} characters"
    return None if any(map(str.isalnum, name)) else "no letter and no digit"


# --- suspicious names

MANY = 3  # concepts of one name
SHOWN_IDS = 5
KINDS = (
    "a default stop name that you keep",
    "a general name in other vocabularies",
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

    @property
    def is_general(self) -> bool:
        """Whether it is a general word or name, which is no concept in nearly every text."""
        return self.severity <= KINDS.index("a general name in other vocabularies")

    def as_json(self) -> dict[str, Any]:
        ids = list(self.ids[:SHOWN_IDS])
        return {"name": self.name, "ids": ids, "why": self.why, "general": self.is_general}


def suspicious_names(kb: KnowledgeBase, others: Iterable[KnowledgeBase] = ()) -> Iterator[SuspiciousName]:
    """Find the names, other than stop names, that may mean something else in text.

    A name has one reason, the first of `KINDS` that holds. "Also a name in another vocabulary" holds for short names in
    capitals only.

    Args:
        others: Vocabularies of which short forms may be names, such as gene symbols.
    """
    folded = {word_keys(word): word for word in sorted(common_words())}
    elsewhere = {name: other.path.name for other in others for name in other.names() if is_acronym(name)}
    with reading(kb.path), closing(open_database(kb.path)) as db:
        would_stop = dict(stop_names(db, StopNameRules()))
        for (row, name), rows in groupby(db.execute(_SQL["names"]), key=itemgetter(0, 1)):
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
    if is_general_name(name):
        return 1, 0, "a general name in vocabularies of drugs or findings"
    if elsewhere:
        return 2, len(name), f"also a name in {elsewhere}"
    if (rank := common_nouns().get(name.lower())) is not None and not is_acronym(name):
        return 3, rank, "a frequent English noun"
    if n_concepts >= MANY:
        return 4, -n_concepts, f"a name of {n_concepts} concepts"
    word = folded.get(word_keys(name)) if " " not in name and not is_acronym(name) else None
    return (5, 0, f'differs from "{word}" only in its ending') if word else None
