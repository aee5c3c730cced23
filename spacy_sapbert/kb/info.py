"""Count what a knowledge base contains."""

from __future__ import annotations

from typing import Any

from .knowledge_base import KnowledgeBase

_BINS = "CASE WHEN n <= 2 THEN n WHEN n <= 5 THEN 3 WHEN n <= 10 THEN 6 WHEN n <= 20 THEN 11 ELSE 21 END"
_BIN_LABELS = {1: "1", 2: "2", 3: "3-5", 6: "6-10", 11: "11-20", 21: ">20"}

_COUNTS = {
    "names_of_several_concepts": "SELECT name FROM synonyms GROUP BY name HAVING min(concept) < max(concept)",
    "concepts_with_definition": "SELECT 1 FROM concepts WHERE definition IS NOT NULL",
    "concepts_with_parents": "SELECT DISTINCT concept FROM parents",
    "concepts_with_types": "SELECT DISTINCT concept FROM types",
    "concepts_with_xrefs": "SELECT DISTINCT concept FROM xrefs",
    "alternative_ids": "SELECT 1 FROM ids i JOIN concepts c ON c.row = i.concept WHERE i.id != c.id",
}


def describe(kb: KnowledgeBase) -> dict[str, Any]:
    """Count what a knowledge base contains.

    Returns:
        The `meta` of the file, and these keys. "types" counts concepts by type. "names_by_source" counts name–concept
        pairs by source, and "names_by_language" by language, with the key "" for an unknown language.
        "names_per_concept" counts the concepts that have 1, 2, 3-5, … names. "stop_names_by_reason" counts the names
        that are not found in text. The other keys count names of several concepts, alternative ids, and concepts with a
        definition, parents, types or cross-references.
    """
    counts = {key: int(kb.query(f"SELECT count(*) FROM ({sql})")[0][0]) for key, sql in _COUNTS.items()}
    named = {"names_by_source": kb.source_counts(), "names_by_language": kb.language_counts()}
    named["stop_names_by_reason"] = kb.stop_name_counts()
    return {**kb.meta, "types": kb.type_counts(), **named, "names_per_concept": names_per_concept(kb), **counts}


def names_per_concept(kb: KnowledgeBase) -> dict[str, int]:
    """Return the number of concepts by their number of names, the preferred name included."""
    counts = "SELECT count(DISTINCT name) AS n FROM synonyms GROUP BY concept"
    found = dict(kb.query(f"SELECT {_BINS}, count(*) FROM ({counts}) GROUP BY 1"))
    return {label: found.get(first, 0) for first, label in _BIN_LABELS.items()}
