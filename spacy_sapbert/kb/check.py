"""Whether a store is whole, and what in its content deserves a look.

The checks run within SQLite or stream row by row; only the `is_a` relations are held at once, as arrays of numbers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import numpy as np

from ..errors import Errors, SapbertError
from .build import fingerprint
from .knowledge_base import ARRAYS, KnowledgeBase

MAX_EXAMPLES = 10
MAX_NAME_LENGTH = 500

Finding = dict[str, Any]
"""What a check found: its "count", and the first "examples"; some checks tell more."""

_NO_SYNONYM = "NOT EXISTS (SELECT 1 FROM synonyms s WHERE s.{})"
_MISSING_ROWS = " UNION ALL ".join(
    f"SELECT '{table}: {column} ' || {column} FROM {table} WHERE {column} NOT IN (SELECT row FROM {column}s)"
    for table, column in (
        ("synonyms", "name"),
        ("synonyms", "concept"),
        ("ids", "concept"),
        ("types", "concept"),
        ("parents", "concept"),
        ("xrefs", "concept"),
    )
)
_TOTALS = (
    "SELECT 'types' AS of, type AS value, count(*) FROM types GROUP BY type "
    "UNION ALL SELECT 'sources', source, count(*) FROM synonyms GROUP BY source"
)

# Queries for what is wrong, one row each.
_PROBLEMS = {
    "concepts_without_a_name": f"SELECT c.id FROM concepts c WHERE {_NO_SYNONYM.format('concept = c.row')}",
    "preferred_names_not_their_own": "SELECT c.id FROM concepts c "
    f"WHERE {_NO_SYNONYM.format('name = c.preferred AND s.concept = c.row')}",
    "names_without_a_concept": f"SELECT n.text FROM names n WHERE {_NO_SYNONYM.format('name = n.row')}",
    "primary_ids_not_found": "SELECT c.id FROM concepts c "
    "WHERE NOT EXISTS (SELECT 1 FROM ids i WHERE i.id = c.id AND i.concept = c.row)",
    "references_to_missing_rows": _MISSING_ROWS,
    "wrong_totals": f"SELECT of || ': ' || value FROM (SELECT * FROM ({_TOTALS}) EXCEPT SELECT * FROM totals) "
    f"UNION SELECT of || ': ' || value FROM (SELECT * FROM totals EXCEPT SELECT * FROM ({_TOTALS}))",
}
_REMARKS = {
    "concepts_without_types": "SELECT id FROM concepts WHERE row NOT IN (SELECT concept FROM types) ORDER BY row",
    "unknown_parents": "SELECT DISTINCT parent FROM parents WHERE parent NOT IN (SELECT id FROM ids) ORDER BY parent",
    "ids_of_several_concepts": "SELECT id FROM ids GROUP BY id HAVING count(*) > 1 ORDER BY id",
}


def check_knowledge_base(kb: KnowledgeBase) -> dict[str, Any]:
    """Check a store.

    Returns:
        dict[str, Any]: "store", its path; "problems", for which it should be built again; "remarks" on its content.
            Both hold a `Finding` by the name of its check, and only the checks that found something. Problems:
            "file_damage" (then nothing else is looked at), "file_size", "wrong_counts", "gaps_in_rows",
            "concepts_without_a_name", "preferred_names_not_their_own", "names_without_a_concept",
            "primary_ids_not_found", "references_to_missing_rows", "wrong_totals", "wrong_arrays", "wrong_fingerprint".
            Remarks: "names_of_several_concepts" (the examples are the worst; "by_source": the names that a source
            itself gives to several concepts), "odd_names", "concepts_without_types", "unknown_parents" (in no concept's
            ids), "cycles" (of parents; "concepts" is the number of concepts in them, each example one way around),
            "ids_of_several_concepts".

    Raises:
        SapbertError: E102 the store cannot be read.
    """
    try:
        with closing(sqlite3.connect(kb.uri, uri=True)) as db:
            problems = {"file_damage": _file_damage(db)}
            remarks = {}
            if not problems["file_damage"]["count"]:
                problems |= _problems(kb, db)
                remarks = _remarks(kb, db)
    except sqlite3.DatabaseError as error:
        raise SapbertError(Errors.E102.format(path=kb.path, reason=error)) from error
    return {"store": str(kb.path), "problems": _found(problems), "remarks": _found(remarks)}


def _found(findings: dict[str, Finding]) -> dict[str, Finding]:
    return {check: finding for check, finding in findings.items() if finding["count"]}


def _finding(examples: Iterable[Any]) -> Finding:
    """Count what comes and keep the first as examples."""
    finding: Finding = {"count": 0, "examples": []}
    for example in examples:
        finding["count"] += 1
        if len(finding["examples"]) < MAX_EXAMPLES:
            finding["examples"].append(example)
    return finding


def _rows(db: sqlite3.Connection, sql: str) -> Finding:
    return _finding(value for (value,) in db.execute(sql))


# --- problems


def _file_damage(db: sqlite3.Connection) -> Finding:
    try:
        messages = [message for (message,) in db.execute("PRAGMA integrity_check")]
    except sqlite3.DatabaseError as error:
        messages = [str(error)]
    return _finding(message for message in messages if message != "ok")


def _problems(kb: KnowledgeBase, db: sqlite3.Connection) -> dict[str, Finding]:
    findings = {
        "file_size": _file_size(kb, db),
        "wrong_counts": _wrong_counts(kb, db),
        "gaps_in_rows": _gaps_in_rows(db),
    }
    findings |= {check: _rows(db, sql) for check, sql in _PROBLEMS.items()}
    findings["wrong_arrays"] = _wrong_arrays(db)
    recomputed = fingerprint(db)
    wrong = [] if recomputed == kb.fingerprint else [{"meta": kb.fingerprint, "content": recomputed}]
    return {**findings, "wrong_fingerprint": _finding(wrong)}


def _file_size(kb: KnowledgeBase, db: sqlite3.Connection) -> Finding:
    (pages,), (page_size,) = (db.execute(f"PRAGMA {pragma}").fetchone() for pragma in ("page_count", "page_size"))
    sizes = {"file": kb.path.stat().st_size, "pages": pages * page_size}
    return _finding([sizes] if sizes["file"] != sizes["pages"] else [])


def _wrong_counts(kb: KnowledgeBase, db: sqlite3.Connection) -> Finding:
    tables = {"concepts": len(kb), "names": kb.n_names}
    counts = [(table, meta, _rows(db, f"SELECT row FROM {table}")["count"]) for table, meta in tables.items()]
    return _finding({"table": table, "meta": meta, "rows": n} for table, meta, n in counts if meta != n)


def _gaps_in_rows(db: sqlite3.Connection) -> Finding:
    """Rows must count from 0 without gaps: a name's row is its row in every matrix of vectors."""
    extent = "SELECT count(*), coalesce(min(row), 0), coalesce(max(row), -1) FROM"
    extents = {table: db.execute(f"{extent} {table}").fetchone() for table in ("concepts", "names")}
    return _finding(
        {"table": table, "rows": n, "first": first, "last": last}
        for table, (n, first, last) in extents.items()
        if (first, last) != (0, n - 1)
    )


def _wrong_arrays(db: sqlite3.Connection) -> Finding:
    """The arrays of `NameConceptMap` repeat what the table of synonyms holds."""
    rows = db.execute(
        "SELECT s.name, s.concept, s.name = c.preferred, sum(s.annotations) FROM synonyms s "
        "JOIN concepts c ON c.row = s.concept GROUP BY s.name, s.concept ORDER BY s.name, s.concept"
    )
    matching_entries = np.fromiter(rows, dtype=list(ARRAYS.items()))
    stored = dict(db.execute("SELECT name, data FROM arrays"))
    return _finding(name for name in ARRAYS if stored.get(name) != matching_entries[name].tobytes())


# --- remarks


def _remarks(kb: KnowledgeBase, db: sqlite3.Connection) -> dict[str, Finding]:
    findings = {"names_of_several_concepts": _shared_names(db), "odd_names": _odd_names(kb)}
    findings |= {check: _rows(db, sql) for check, sql in _REMARKS.items()}
    shared_ids = findings["ids_of_several_concepts"]
    shared_ids["examples"] = [{"id": one, "concepts": list(kb.find_id(one))} for one in shared_ids["examples"]]
    return {**findings, "cycles": _cycles(kb, db)}


def _shared_names(db: sqlite3.Connection) -> Finding:
    db.execute(
        "CREATE TEMP TABLE shared AS SELECT name, count(DISTINCT concept) AS n FROM synonyms "
        "GROUP BY name HAVING min(concept) < max(concept)"
    )
    worst = "SELECT s.name, n.text, s.n FROM shared s JOIN names n ON n.row = s.name ORDER BY s.n DESC, n.text LIMIT ?"
    owners = "SELECT DISTINCT c.id FROM synonyms s JOIN concepts c ON c.row = s.concept WHERE s.name = ?"
    examples = [
        {
            "name": text,
            "concepts": n,
            "ids": [one for (one,) in db.execute(f"{owners} ORDER BY c.id LIMIT ?", (name, MAX_EXAMPLES))],
        }
        for name, text, n in db.execute(worst, (MAX_EXAMPLES,))
    ]
    within = (
        "SELECT source, count(*) FROM (SELECT s.source FROM shared JOIN synonyms s ON s.name = shared.name "
        "GROUP BY s.source, s.name HAVING min(s.concept) < max(s.concept)) GROUP BY source ORDER BY source"
    )
    count = db.execute("SELECT count(*) FROM shared").fetchone()[0]
    return {"count": count, "by_source": dict(db.execute(within)), "examples": examples}


def _odd_names(kb: KnowledgeBase) -> Finding:
    return _finding(
        {"name": text[:MAX_NAME_LENGTH], "why": why} for text in kb.names() for why in [_oddity(text)] if why
    )


def _oddity(name: str) -> str | None:
    """Return what is odd about a name."""
    if not name.strip():
        return "empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"longer than {MAX_NAME_LENGTH} characters"
    return None if any(map(str.isalnum, name)) else "no letter and no digit"


def _cycles(kb: KnowledgeBase, db: sqlite3.Connection) -> Finding:
    # rows that miss their concept are a problem of their own
    rows = db.execute(
        "SELECT p.concept, i.concept FROM parents p JOIN ids i ON i.id = p.parent JOIN concepts c ON c.row = p.concept "
        "JOIN concepts d ON d.row = i.concept ORDER BY 1, 2"
    )
    edges = np.fromiter((row for pair in rows for row in pair), dtype=np.int32).reshape(-1, 2)
    knots, ways = find_cycles(edges, int(edges.max(initial=0)) + 1)
    examples = [[kb.concept_id(row) for row in way] for way in ways]
    return {"count": len(knots), "concepts": int(knots.sum()), "examples": examples}


def find_cycles(edges: np.ndarray, n: int) -> tuple[np.ndarray, list[list[int]]]:
    """Find cycles by strong components (Pearce 2005, as in scipy), without recursion, in O(n + m) time and memory.

    Args:
        edges (int, shape (m, 2)): child and parent, each in [0, n).

    Returns:
        tuple[np.ndarray, list[list[int]]]: how many nodes each component that has a cycle holds, and for the first
            `MAX_EXAMPLES` components one cycle: nodes, each the child of the next, the last the same as the first.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    graph = csr_matrix((np.ones(len(edges), dtype=bool), edges.T), shape=(n, n))
    n_components, component = connected_components(graph, directed=True, connection="strong")
    # within a component of several nodes each has a parent there; one alone is in a cycle if it is its own parent
    inside = edges[component[edges[:, 0]] == component[edges[:, 1]]]
    cyclic, firsts = np.unique(component[inside[:, 0]], return_index=True)
    sizes = np.bincount(component, minlength=n_components)[cyclic]
    parent_of = np.empty(n, dtype=np.int32)
    parent_of[inside[:, 0]] = inside[:, 1]
    starts = np.sort(inside[firsts, 0])[:MAX_EXAMPLES].tolist()
    return sizes, [_walk(parent_of, start) for start in starts]


def _walk(parent_of: np.ndarray, start: int) -> list[int]:
    """Return the cycle into which the way up from a node runs."""
    place: dict[int, int] = {}
    way = [start]
    while way[-1] not in place:
        place[way[-1]] = len(way) - 1
        way.append(int(parent_of[way[-1]]))
    return way[place[way[-1]] :]
