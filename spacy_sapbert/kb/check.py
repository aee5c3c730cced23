"""Check a knowledge base file for damage, and its content for oddities.

The checks run inside SQLite or read row by row. Only the `is_a` relations are held in memory, as integer arrays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import numpy as np

from ..errors import Errors, SapbertError
from .arrays import compute_arrays
from .build import TOTALS, fingerprint
from .database import open_database
from .knowledge_base import KnowledgeBase

MAX_EXAMPLES = 10
MAX_NAME_LENGTH = 500

Finding = dict[str, Any]
"""The result of one check: a "count" and the first "examples". Some checks add more keys."""

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
_TOTALS = " UNION ALL ".join(f"SELECT '{of}' AS of, * FROM ({sql})" for of, sql in TOTALS.items())

# Each query returns one row per problem.
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
    """Check the file and the content of a knowledge base.

    Each result maps the name of a check to its `Finding`. Checks that found nothing are left out.

    Problems mean that the file must be built again: "file_damage", "file_size", "wrong_counts", "gaps_in_rows",
    "concepts_without_a_name", "preferred_names_not_their_own", "names_without_a_concept", "primary_ids_not_found",
    "references_to_missing_rows", "wrong_totals", "wrong_arrays", "wrong_fingerprint". If there is file damage, no other
    check runs.

    Remarks are about the content:

    - "names_of_several_concepts": The examples are the names with the most concepts. "by_source" counts the names that
      one source gives to several concepts.
    - "odd_names": Empty or very long names, and names without a letter or digit.
    - "concepts_without_types": Concepts that have no semantic type.
    - "unknown_parents": Parents that are the id of no concept.
    - "cycles": Cycles of parents. "concepts" counts the concepts in them. Each example is one path around a cycle.
    - "ids_of_several_concepts": Ids that several concepts share.

    Returns:
        A dictionary with the keys "kb" (the path), "problems" and "remarks".

    Raises:
        SapbertError: E102 if the file cannot be read.
    """
    try:
        with closing(open_database(kb.path)) as db:
            problems = {"file_damage": _file_damage(db)}
            remarks = {}
            if not problems["file_damage"]["count"]:
                problems |= _problems(kb, db)
                remarks = _remarks(kb, db)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise SapbertError(Errors.E102.format(path=kb.path, reason=error)) from error
    return {"kb": str(kb.path), "problems": _nonempty(problems), "remarks": _nonempty(remarks)}


def _nonempty(findings: dict[str, Finding]) -> dict[str, Finding]:
    return {check: finding for check, finding in findings.items() if finding["count"]}


def _finding(examples: Iterable[Any]) -> Finding:
    """Count the examples and keep the first `MAX_EXAMPLES`."""
    finding: Finding = {"count": 0, "examples": []}
    for example in examples:
        finding["count"] += 1
        if len(finding["examples"]) < MAX_EXAMPLES:
            finding["examples"].append(example)
    return finding


def _rows(db: sqlite3.Connection, sql: str) -> Finding:
    return _finding(repr(value) if isinstance(value, bytes) else value for (value,) in db.execute(sql))


# --- problems


def _file_damage(db: sqlite3.Connection) -> Finding:
    try:
        messages = [message for (message,) in db.execute("PRAGMA integrity_check")]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
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
    """Find tables in which the rows do not count from 0 without gaps.

    The row of a name is also its row in every matrix of vectors.
    """
    extent = "SELECT count(*), coalesce(min(row), 0), coalesce(max(row), -1) FROM"
    extents = {table: db.execute(f"{extent} {table}").fetchone() for table in ("concepts", "names")}
    return _finding(
        {"table": table, "rows": n, "first": first, "last": last}
        for table, (n, first, last) in extents.items()
        if (first, last) != (0, n - 1)
    )


def _wrong_arrays(db: sqlite3.Connection) -> Finding:
    """Find arrays that differ from the tables. With gaps in the tables, which are reported, there are no arrays."""
    if _gaps_in_rows(db)["count"] or _dangling(db):
        return _finding(())
    ((n_concepts,),) = db.execute("SELECT count(*) FROM concepts")
    stored = dict(db.execute("SELECT name, data FROM arrays"))
    try:
        arrays = compute_arrays(db, n_concepts)
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:  # no numbers, or no texts
        return _finding([f"the tables are damaged ({error})"])
    return _finding(name for name, data in arrays.items() if stored.get(name) != data)


def _dangling(db: sqlite3.Connection) -> bool:
    """Return whether a name belongs to a concept that does not exist."""
    sql = "SELECT EXISTS (SELECT 1 FROM synonyms WHERE concept NOT IN (SELECT row FROM concepts))"
    return bool(db.execute(sql).fetchone()[0])


# --- remarks


def _remarks(kb: KnowledgeBase, db: sqlite3.Connection) -> dict[str, Finding]:
    findings = {"names_of_several_concepts": _shared_names(db), "odd_names": _odd_names(db)}
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
    concepts_of_name = "SELECT DISTINCT c.id FROM synonyms s JOIN concepts c ON c.row = s.concept WHERE s.name = ?"
    examples = [
        {
            "name": text,
            "concepts": n,
            "ids": [one for (one,) in db.execute(f"{concepts_of_name} ORDER BY c.id LIMIT ?", (name, MAX_EXAMPLES))],
        }
        for name, text, n in db.execute(worst, (MAX_EXAMPLES,))
    ]
    within = (
        "SELECT source, count(*) FROM (SELECT s.source FROM shared JOIN synonyms s ON s.name = shared.name "
        "GROUP BY s.source, s.name HAVING min(s.concept) < max(s.concept)) GROUP BY source ORDER BY source"
    )
    count = db.execute("SELECT count(*) FROM shared").fetchone()[0]
    return {"count": count, "by_source": dict(db.execute(within)), "examples": examples}


def _odd_names(db: sqlite3.Connection) -> Finding:
    names = (str(text) for (text,) in db.execute("SELECT text FROM names ORDER BY row"))
    return _finding({"name": name[:MAX_NAME_LENGTH], "why": why} for name in names for why in [_oddity(name)] if why)


def _oddity(name: str) -> str | None:
    """Return what is odd about a name, or None."""
    if not name.strip():
        return "empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"longer than {MAX_NAME_LENGTH} characters"
    return None if any(map(str.isalnum, name)) else "no letter and no digit"


def _cycles(kb: KnowledgeBase, db: sqlite3.Connection) -> Finding:
    # the check "references_to_missing_rows" reports rows without a concept
    rows = db.execute(
        "SELECT p.concept, i.concept FROM parents p JOIN ids i ON i.id = p.parent JOIN concepts c ON c.row = p.concept "
        "JOIN concepts d ON d.row = i.concept ORDER BY 1, 2"
    )
    edges = np.fromiter((row for pair in rows for row in pair), dtype=np.int32).reshape(-1, 2)
    sizes, cycles = find_cycles(edges, int(edges.max(initial=0)) + 1)
    examples = [[kb.concept_id(row) for row in path] for path in cycles]
    return {"count": len(sizes), "concepts": int(sizes.sum()), "examples": examples}


def find_cycles(edges: np.ndarray, n: int) -> tuple[np.ndarray, list[list[int]]]:
    """Find cycles by strongly connected components, in O(n + m) time and memory, without recursion.

    The algorithm is that of Pearce (2005), as implemented in scipy.

    Args:
        edges (int, shape (m, 2)): Child and parent of each edge, both in [0, n).
        n: Number of nodes.

    Returns:
        Two results. The first is an array with the number of nodes of each component that contains a cycle. The second
        lists one cycle for each of the first `MAX_EXAMPLES` components. In a cycle, each node is the child of the next
        one, and the last node repeats the first.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    graph = csr_matrix((np.ones(len(edges), dtype=bool), edges.T), shape=(n, n))
    n_components, component = connected_components(graph, directed=True, connection="strong")
    # In a component of several nodes, each node has a parent in it. A single node is a cycle if it is its own parent.
    inside = edges[component[edges[:, 0]] == component[edges[:, 1]]]
    cyclic, firsts = np.unique(component[inside[:, 0]], return_index=True)
    sizes = np.bincount(component, minlength=n_components)[cyclic]
    parent_of = np.empty(n, dtype=np.int32)
    parent_of[inside[:, 0]] = inside[:, 1]
    starts = np.sort(inside[firsts, 0])[:MAX_EXAMPLES].tolist()
    return sizes, [_walk(parent_of, start) for start in starts]


def _walk(parent_of: np.ndarray, start: int) -> list[int]:
    """Return the cycle that the path from a node to its ancestors ends in."""
    position: dict[int, int] = {}
    path = [start]
    while path[-1] not in position:
        position[path[-1]] = len(path) - 1
        path.append(int(parent_of[path[-1]]))
    return path[position[path[-1]] :]
