"""The hierarchy of the semantic types of the UMLS, with the attributes of scispaCy's `UmlsSemanticTypeTree`.

The data are facts of the National Library of Medicine: the is-a links of its Semantic Network.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from .semantic_types import SEMANTIC_TYPES

ROOT = "UnknownType"
"""The id and the name of the root, as in scispaCy."""

_CHILDREN = {
    ROOT: "T051 T071",
    # events
    "T051": "T052 T067",
    "T052": "T053 T056 T057 T066",
    "T053": "T054 T055",
    "T057": "T058 T062 T064 T065",
    "T058": "T059 T060 T061",
    "T062": "T063",
    "T067": "T037 T068 T070",
    "T068": "T069",
    "T070": "T038",
    "T038": "T039 T046",
    "T039": "T040 T042 T043 T044",
    "T040": "T041",
    "T044": "T045",
    "T046": "T047 T049 T050",
    "T047": "T048 T191",
    # entities
    "T071": "T072 T077",
    "T072": "T001 T017 T073 T167",
    "T001": "T005 T007 T194 T204",
    "T204": "T002 T004 T008",
    "T008": "T010",
    "T010": "T011 T012 T013 T014 T015",
    "T015": "T016",
    "T017": "T018 T021 T190",
    "T021": "T023 T024 T025 T026 T028",
    "T190": "T019 T020",
    "T073": "T074 T075 T200",
    "T074": "T203",
    "T167": "T031 T103 T168",
    "T103": "T104 T120",
    "T104": "T109 T196 T197",
    "T109": "T114 T115 T116 T118 T119",
    "T119": "T110 T111",
    "T120": "T121 T122 T123 T130 T131",
    "T121": "T195",
    "T123": "T124 T125 T126 T127 T129 T192",
    "T077": "T032 T033 T078 T090 T092 T096 T102 T170 T171",
    "T032": "T201",
    "T033": "T034 T184",
    "T078": "T079 T080 T081 T082 T169",
    "T082": "T029 T030 T083 T085",
    "T085": "T086 T087 T088",
    "T169": "T022",
    "T090": "T091",
    "T092": "T093 T094 T095",
    "T096": "T097 T098 T099 T100 T101",
    "T170": "T089 T185",
}


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
    """The hierarchy of semantic types. It also contains the six types of older releases.

    Attributes:
        root: The node above the two types "Event" and "Entity". It is no semantic type.
        flat_nodes: All nodes, each before those below it. The root is the last.
        type_id_to_node: The nodes by TUI.
        depth: The highest level.
    """

    def __init__(self) -> None:
        self.root = _node(ROOT, 0)
        self.flat_nodes = [*self.get_children(self.root), self.root]
        self.type_id_to_node = {node.type_id: node for node in self.flat_nodes}
        self.depth = max(node.level for node in self.flat_nodes)
        self._parents = {child.type_id: node for node in self.flat_nodes for child in node.children}

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


def _node(type_id: str, level: int) -> SemanticTypeNode:
    name = SEMANTIC_TYPES[type_id].name if type_id in SEMANTIC_TYPES else type_id
    children = [_node(child, level + 1) for child in _CHILDREN.get(type_id, "").split()]
    return SemanticTypeNode(type_id, name, children, level)
