"""The semantic types of the UMLS, their groups and their hierarchy.

The data in `semantic_types.tsv` are facts of the National Library of Medicine: types, groups and is-a links of its
Semantic Network. Six types occur only in older releases (T110, T111, T115, T118, T119, T124). The groups are those of
McCray, Burgun and Bodenreider (2001).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ChoiceError

ROOT = "UnknownType"
"""The id and the name of the root of the hierarchy, as in scispaCy."""


class SemanticType(NamedTuple):
    """A semantic type.

    Attributes:
        name: Its name.
        group: Code of its semantic group, e.g. "DISO".
        parent: The type directly above it. Empty for "Event" and "Entity".
    """

    name: str
    group: str
    parent: str


_TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
SEMANTIC_GROUPS: dict[str, str] = _TABLES["groups"]
"""Group names by code."""
DRUG = "MedicationStatement"
"""The kind of statement that a note makes of a drug, as FHIR names it."""
_FINDINGS = {"T033", "T184"}  # of the semantic group of disorders, but no diagnoses

SEMANTIC_TYPES: dict[str, SemanticType] = {}
"""Semantic types by unique identifier (TUI), each before those below it."""
for _row in Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()[1:]:
    _tui, *_values = _row.split("\t")
    SEMANTIC_TYPES[_tui] = SemanticType(*_values)


def find_types(types: Iterable[str] = (), groups: Iterable[str] = ()) -> frozenset[str]:
    """Return the TUIs of semantic types and of whole groups.

    Args:
        types: TUIs or names of types, in upper or lower case.
        groups: Codes or names of groups, in upper or lower case.

    Raises:
        ChoiceError: A type or group is unknown.
    """
    by_name = {tui.lower(): tui for tui in SEMANTIC_TYPES}
    by_name |= {type_.name.lower(): tui for tui, type_ in SEMANTIC_TYPES.items()}
    codes = {code.lower(): code for code in SEMANTIC_GROUPS}
    codes |= {name.lower(): code for code, name in SEMANTIC_GROUPS.items()}
    tuis = {_look_up(by_name, type_, "semantic type") for type_ in types}
    chosen = {_look_up(codes, group, "semantic group") for group in groups}
    return frozenset(tuis | {tui for tui, type_ in SEMANTIC_TYPES.items() if type_.group in chosen})


def _look_up(known: dict[str, str], text: str, kind: str) -> str:
    key = text.strip().lower()
    if key not in known:
        similar = get_close_matches(key, known, n=5, cutoff=0.4) or [*list(known)[:5], "…"]
        raise ChoiceError(given=text, what=kind, choices=similar)
    return known[key]


def kind_of(types: Iterable[str], prefix: str = "") -> str:
    """Return the kind of statement that a note makes of a concept, as FHIR names it, such as `DRUG`.

    Args:
        types: The types of the concept, or the label of a mention.
        prefix: The prefix of the id of the concept.

    Returns:
        "Observation" for anything that is not known; empty for what says nothing of a patient, such as a gene.
    """
    types = tuple(types)
    groups = (SEMANTIC_TYPES[name].group for name in types if name in SEMANTIC_TYPES and name not in _FINDINGS)
    names = {name.lower().replace(" ", "") for name in (*types, *groups, prefix)}
    return next((kind for kind, known in _TABLES["kinds"].items() if not names.isdisjoint(known)), "Observation")


class SemanticTypeNode(NamedTuple):
    """A semantic type in the hierarchy.

    Attributes:
        type_id: Its unique identifier (TUI).
        full_name: Its name.
        children: The types directly below it.
        level: The number of steps from the root, which has level 0.
    """

    type_id: str
    full_name: str
    children: list[SemanticTypeNode]
    level: int


class SemanticTypeTree:
    """The hierarchy of semantic types, with the attributes of scispaCy's `UmlsSemanticTypeTree`.

    It also contains the six types of older releases.

    Attributes:
        root: The node above the two types "Event" and "Entity". It is not a semantic type.
        flat_nodes: All nodes, each before those below it. The root is the last.
        type_id_to_node: The nodes by TUI.
        depth: The highest level.
    """

    def __init__(self) -> None:
        self.root = SemanticTypeNode(ROOT, ROOT, [], 0)
        self.type_id_to_node: dict[str, SemanticTypeNode] = {}
        self._parents: dict[str, SemanticTypeNode] = {}
        for tui, (name, _, parent_id) in SEMANTIC_TYPES.items():
            parent = self.type_id_to_node.get(parent_id, self.root)
            self._parents[tui] = parent
            self.type_id_to_node[tui] = SemanticTypeNode(tui, name, [], parent.level + 1)
            parent.children.append(self.type_id_to_node[tui])
        self.type_id_to_node[ROOT] = self.root
        self.flat_nodes = list(self.type_id_to_node.values())
        self.depth = max(node.level for node in self.flat_nodes)

    def get_node_from_id(self, type_id: str) -> SemanticTypeNode:
        """Return the node of a TUI.

        Raises:
            KeyError: There is no such type.
        """
        return self.type_id_to_node[type_id]

    def get_canonical_name(self, type_id: str) -> str:
        """Return the name of a TUI."""
        return self.type_id_to_node[type_id].full_name

    def get_nodes_at_depth(self, level: int) -> list[SemanticTypeNode]:
        """Return all nodes of a level."""
        return [node for node in self.flat_nodes if node.level == level]

    def get_children(self, node: SemanticTypeNode) -> list[SemanticTypeNode]:
        """Return all nodes below a node, on every level."""
        return [below for child in node.children for below in (child, *self.get_children(child))]

    def get_parent(self, node: SemanticTypeNode) -> SemanticTypeNode | None:
        """Return the node directly above a node, or None for the root."""
        return self._parents.get(node.type_id)

    def get_collapsed_type_id_map_at_level(self, level: int) -> dict[str, str]:
        """Map each TUI below a level to its ancestor on that level. All other TUIs map to themselves."""
        collapsed = {type_id: type_id for type_id in self.type_id_to_node}
        for node in self.get_nodes_at_depth(level):
            collapsed.update((below.type_id, node.type_id) for below in self.get_children(node))
        return collapsed


@lru_cache(maxsize=1)
def semantic_type_tree() -> SemanticTypeTree:
    """Return the hierarchy of semantic types. All callers share one object."""
    return SemanticTypeTree()
