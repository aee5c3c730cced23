"""Check a knowledge base file for damage, and its content for oddities.

The checks run inside SQLite or read row by row. Only the `is_a` relations are held in memory, as integer arrays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import numpy as np

from .build import TOTALS, compute_arrays, fingerprint
from .database import open_database, reading
from .knowledge_base import KnowledgeBase

MAX_EXAMPLES = 10
MAX_NAME_LENGTH = 500

Finding = dict[str, Any]
"""The result of one check: a "count" and the first "examples". Some checks add more keys."""

_TOTALS = " UNION ALL ".join(f"SELECT '{of}' AS of, * FROM ({sql})" for of, sql in TOTALS.items())

# Each query returns one row per finding.
_WRONG_TOTALS = (
    f"SELECT of || ': ' || value FROM (SELECT * FROM ({_TOTALS}) EXCEPT SELECT * FROM totals) "
    f"UNION SELECT of || ': ' || value FROM (SELECT * FROM totals EXCEPT SELECT * FROM ({_TOTALS}))"
)
_REMARKS = {
    "concepts_without_types": "SELECT id FROM concepts WHERE row NOT IN (SELECT concept FROM types) ORDER BY row",
    "unknown_parents": "SELECT DISTINCT parent FROM parents WHERE parent NOT IN (SELECT id FROM ids) ORDER BY parent",
    "ids_of_several_concepts": "SELECT id FROM ids GROUP BY id HAVING count(*) > 1 ORDER BY id",
}


def check_knowledge_base(kb: KnowledgeBase) -> dict[str, Any]:
    """Check the file and the content of a knowledge base.

    Each result maps the name of a check to its `Finding`. Checks that found nothing are left out.

    Problems mean that the file must be built again: "file_damage", "wrong_fingerprint" (the content is not what was
    built), "wrong_counts", "wrong_totals", "wrong_arrays". If there is file damage, no other check runs.

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
    """
    with reading(kb.path), closing(open_database(kb.path)) as db:
        problems = {"file_damage": _file_damage(db)}
        remarks = {}
        if not problems["file_damage"]["count"]:
            problems |= _problems(kb, db)
        if not _nonempty(problems):  # the remarks are about a sound file
            remarks = _remarks(kb, db)
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
    return _finding(value for (value,) in db.execute(sql))


# --- problems


def _file_damage(db: sqlite3.Connection) -> Finding:
    try:
        messages = [message for (message,) in db.execute("PRAGMA integrity_check")]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        messages = [str(error)]
    return _finding(message for message in messages if message != "ok")


def _problems(kb: KnowledgeBase, db: sqlite3.Connection) -> dict[str, Finding]:
    content = fingerprint(db)
    findings = {
        "wrong_fingerprint": [] if content == kb.fingerprint else [{"meta": kb.fingerprint, "content": content}]
    }
    counts = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("concepts", "names")}
    findings["wrong_counts"] = [
        {"table": table, "meta": kb.meta[table], "rows": n} for table, n in counts.items() if kb.meta[table] != n
    ]
    result = {check: _finding(examples) for check, examples in findings.items()} | {
        "wrong_totals": _rows(db, _WRONG_TOTALS)
    }
    if not _nonempty(result):  # else the arrays cannot be computed
        stored = dict(db.execute("SELECT name, data FROM arrays"))
        arrays = compute_arrays(db, counts["concepts"])
        result["wrong_arrays"] = _finding(name for name, data in arrays.items() if stored.get(name) != data)
    return result


# --- remarks


def _remarks(kb: KnowledgeBase, db: sqlite3.Connection) -> dict[str, Finding]:
    findings = {"names_of_several_concepts": _shared_names(db), "odd_names": _odd_names(db)}
    findings |= {check: _rows(db, sql) for check, sql in _REMARKS.items()}
    shared_ids = findings["ids_of_several_concepts"]
    shared_ids["examples"] = [{"id": shared, "concepts": list(kb.find_id(shared))} for shared in shared_ids["examples"]]
    return {**findings, "cycles": _cycles(kb, db)}


def _shared_names(db: sqlite3.Connection) -> Finding:
    db.execute("PRAGMA query_only = OFF")  # for a temporary table; the file itself is open for reading only
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
            "ids": [
                concept_id
                for (concept_id,) in db.execute(f"{concepts_of_name} ORDER BY c.id LIMIT ?", (name, MAX_EXAMPLES))
            ],
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
    names = (text for (text,) in db.execute("SELECT text FROM names ORDER BY row"))
    return _finding({"name": name[:MAX_NAME_LENGTH], "why": why} for name in names for why in [_oddity(name)] if why)


def _oddity(name: str) -> str | None:
    """Return what is odd about a name, or None."""
    if not name.strip():
        return "empty"
    if len(name) > MAX_NAME_LENGTH:
        return f"longer than {MAX_NAME_LENGTH} characters"
    return None if any(map(str.isalnum, name)) else "no letter and no digit"


def _cycles(kb: KnowledgeBase, db: sqlite3.Connection) -> Finding:
    rows = db.execute("SELECT p.concept, i.concept FROM parents p JOIN ids i ON i.id = p.parent ORDER BY 1, 2")
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
