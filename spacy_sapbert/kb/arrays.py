"""Arrays that are computed from the tables of a knowledge base when it is built, and stored in its file."""

from __future__ import annotations

import sqlite3

import numpy as np

from .ids import SUPPLEMENTARY

MAP = {"names": "<i4", "concepts": "<i4", "preferred": "?", "annotations": "<i4", "ranks": "<i4"}
"""The arrays of `NameConceptMap` and their data types."""
TIE_RANKS, IDS = "tie_ranks", "ids"
"""`KnowledgeBase.tie_ranks`, and the primary ids in UTF-8, filled up with zero bytes to the same length."""


def compute_arrays(db: sqlite3.Connection, n_concepts: int) -> dict[str, bytes]:
    """Return all arrays by name, little-endian."""
    rows = db.execute(
        "SELECT name, concept, sum(annotations) FROM synonyms GROUP BY name, concept ORDER BY name, concept"
    )
    entries = np.fromiter(rows, dtype=[("names", "<i4"), ("concepts", "<i4"), ("annotations", "<i4")])
    of_concepts = db.execute("SELECT preferred FROM concepts ORDER BY row")
    preferred = np.fromiter((row[0] for row in of_concepts), dtype=np.int32, count=n_concepts)
    arrays = {name: entries[name] for name in entries.dtype.names or ()}
    arrays["preferred"] = preferred[entries["concepts"]] == entries["names"]
    tie_ranks = _tie_ranks(db, arrays["concepts"], arrays["annotations"], n_concepts)
    arrays["ranks"] = _ranks(tie_ranks[arrays["concepts"]], ~arrays["preferred"], -arrays["annotations"])
    ids = np.array([row[0].encode() for row in db.execute("SELECT id FROM concepts ORDER BY row")], dtype=np.bytes_)
    found = {name: arrays[name].astype(dtype).tobytes() for name, dtype in MAP.items()}
    return {**found, TIE_RANKS: tie_ranks.astype("<i4").tobytes(), IDS: ids.tobytes()}


def _tie_ranks(db: sqlite3.Connection, concepts: np.ndarray, annotations: np.ndarray, n_concepts: int) -> np.ndarray:
    """Return `KnowledgeBase.tie_ranks`."""
    ids = np.empty(n_concepts, dtype=np.int32)
    ids[np.fromiter((row[0] for row in db.execute("SELECT row FROM concepts ORDER BY id")), dtype=np.int32)] = (
        np.arange(n_concepts)
    )
    forms = " OR ".join(["id GLOB ?"] * len(SUPPLEMENTARY))
    found = db.execute(f"SELECT row FROM concepts WHERE {forms}", SUPPLEMENTARY)
    supplementary = np.zeros(n_concepts, dtype=bool)
    supplementary[np.fromiter((row[0] for row in found), dtype=np.int32)] = True
    annotated = np.bincount(concepts, weights=annotations, minlength=n_concepts)
    names = np.bincount(concepts, minlength=n_concepts)
    return _ranks(ids, -names, -annotated, supplementary)


def _ranks(*keys: np.ndarray) -> np.ndarray:
    """Return the rank of each place by several keys, the last of which counts first, int32."""
    ranks = np.empty(len(keys[0]), dtype=np.int32)
    ranks[np.lexsort(keys)] = np.arange(len(keys[0]))
    return ranks
