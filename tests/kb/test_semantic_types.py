import re
from collections import Counter

import pytest

from spacy_sapbert.errors import ChoiceError
from spacy_sapbert.kb.semantic_types import (
    ROOT,
    SEMANTIC_GROUPS,
    SEMANTIC_TYPES,
    SemanticTypeTree,
    find_types,
    semantic_type_tree,
)

TREE = semantic_type_tree()


def test_every_type_is_in_a_group():
    assert len(SEMANTIC_TYPES) == 133  # 127 of today, and 6 of older releases
    assert len(SEMANTIC_GROUPS) == 15
    assert all(re.fullmatch(r"T\d{3}", tui) for tui in SEMANTIC_TYPES)
    assert {type_.group for type_ in SEMANTIC_TYPES.values()} == set(SEMANTIC_GROUPS)
    assert max(Counter(type_.name for type_ in SEMANTIC_TYPES.values()).values()) == 1


def test_types_are_found_by_tui_name_and_group():
    assert find_types() == frozenset()
    assert find_types(["t047", " Finding "]) == {"T047", "T033"}
    assert find_types(groups=["geog"]) == {"T083"}
    assert find_types(["T047"], ["Devices"]) == {"T047", "T203", "T074", "T075"}
    assert len(find_types(groups=["DISO"])) == 12


def test_unknown_types_and_groups():
    with pytest.raises(ChoiceError, match=r"'Diseases or Syndrome' is not a semantic type\. .*disease or syndrome"):
        find_types(["Diseases or Syndrome"])
    with pytest.raises(ChoiceError, match=r"'Disorder' is not a semantic group\. .*disorders"):
        find_types(groups=["Disorder"])
    with pytest.raises(ChoiceError, match=r"'\?' is not a semantic type"):
        find_types(["?"])


def test_every_semantic_type_is_there_once():
    ids = [node.type_id for node in TREE.flat_nodes]
    assert sorted(ids) == sorted([*SEMANTIC_TYPES, ROOT])
    assert {node.type_id: node.full_name for node in TREE.flat_nodes if node.type_id != ROOT} == {
        tui: one.name for tui, one in SEMANTIC_TYPES.items()
    }


def test_levels_count_from_the_root():
    assert (TREE.root.level, TREE.depth) == (0, 8)
    assert [node.type_id for node in TREE.get_nodes_at_depth(1)] == ["T051", "T071"]
    assert {node.type_id for node in TREE.get_nodes_at_depth(8)} == {"T110", "T111", "T016"}
    assert all(child.level == node.level + 1 for node in TREE.flat_nodes for child in node.children)


def test_parents_and_children():
    disease = TREE.get_node_from_id("T047")
    assert (disease.full_name, TREE.get_canonical_name("T047")) == ("Disease or Syndrome",) * 2
    assert TREE.get_parent(disease).full_name == "Pathologic Function"
    assert [child.type_id for child in TREE.get_children(disease)] == ["T048", "T191"]
    assert TREE.get_parent(TREE.root) is None
    assert len(TREE.get_children(TREE.root)) == len(SEMANTIC_TYPES)
    with pytest.raises(KeyError):
        TREE.get_node_from_id("T999")


def test_types_are_collapsed_to_a_level():
    collapsed = TREE.get_collapsed_type_id_map_at_level(2)
    assert (collapsed["T191"], collapsed["T121"], collapsed["T071"]) == ("T067", "T072", "T071")
    assert collapsed.keys() == TREE.type_id_to_node.keys()
    assert TREE.get_collapsed_type_id_map_at_level(99) == {one: one for one in TREE.type_id_to_node}


def test_it_is_the_tree_of_scispacy(tmp_path):
    """The same calls give the same results on the same types."""
    theirs = pytest.importorskip("scispacy.umls_semantic_type_tree")
    lines = [f"{node.full_name}\t{node.type_id}\t{node.level}\n" for node in [TREE.root, *TREE.flat_nodes[:-1]]]
    (tmp_path / "tree.tsv").write_text("".join(lines))
    tree = theirs.construct_umls_tree_from_tsv(str(tmp_path / "tree.tsv"))
    ours = SemanticTypeTree()
    public = {name for name in (*dir(tree), *vars(tree)) if not name.startswith("_")}
    assert public <= {*dir(ours), *vars(ours)}
    assert [node[:2] for node in tree.flat_nodes] == [node[:2] for node in ours.flat_nodes]
    assert tree.depth == ours.depth
    for node in tree.flat_nodes:
        own = ours.get_node_from_id(node.type_id)
        assert node._fields == own._fields
        assert (tree.get_parent(node) or [None])[0] == (ours.get_parent(own) or [None])[0]
        assert [below.type_id for below in tree.get_children(node)] == [one.type_id for one in ours.get_children(own)]
    for level in range(10):
        theirs_at, ours_at = tree.get_nodes_at_depth(level), ours.get_nodes_at_depth(level)
        assert [node.type_id for node in theirs_at] == [node.type_id for node in ours_at]
        assert tree.get_collapsed_type_id_map_at_level(level) == ours.get_collapsed_type_id_map_at_level(level)
