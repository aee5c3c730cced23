"""`Trees`: predict with gradient-boosted trees that LightGBM has trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

_BLOCK = 96  # rows at once; larger arrays are slower, since the system maps each anew


class Trees(NamedTuple):
    """Regression trees of one depth d, whose values are added up.

    The nodes of a tree are numbered as in a heap: node i has the children 2i + 1 and 2i + 2. A row goes to the second
    child if its feature is above the threshold. A branch that ends early is filled up with copies of its last value.

    Attributes:
        features (int32, shape (trees, 2^d - 1)): The feature that each inner node reads.
        thresholds (float64, shape (trees, 2^d - 1)): The highest value of this feature that leads to the first child.
        values (float64, shape (trees, 2^(d + 1) - 1)): What the tree predicts for the training rows in each node.
    """

    features: np.ndarray
    thresholds: np.ndarray
    values: np.ndarray

    @property
    def depth(self) -> int:
        """The number of decisions from the root to a leaf."""
        return int(self.values.shape[1]).bit_length() - 1

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return the sum of the trees for each row of features: float64, shape (rows,)."""
        firsts, of_values = _starts(self.features), _starts(self.values)
        predicted = np.zeros(len(rows))
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            of_rows, places = _starts(block)[:, None], np.tile(firsts, (len(block), 1))
            for _ in range(self.depth):
                places = self._descend(block, places, firsts, of_rows)
            predicted[start : start + _BLOCK] = self.values.take(places + (of_values - firsts)).sum(axis=1)
        return predicted

    def first(self, n: int) -> Trees:
        """Return the first trees."""
        return Trees(*(array[:n] for array in self))

    def joined(self, others: Trees) -> Trees:
        """Return these trees and others. Those that are less deep are filled up."""
        depth = max(self.depth, others.depth)
        return Trees(*map(np.concatenate, zip(self._filled(depth), others._filled(depth), strict=True)))

    def _filled(self, depth: int) -> Trees:
        trees = self
        for n in (2**level for level in range(self.depth, depth)):
            features = np.pad(trees.features, ((0, 0), (0, n)))
            thresholds = np.pad(trees.thresholds, ((0, 0), (0, n)), constant_values=np.inf)
            trees = Trees(features, thresholds, np.hstack([trees.values, trees.values[:, -n:].repeat(2, axis=1)]))
        return trees

    def raised(self, value: float) -> Trees:
        """Return trees that predict more by a value, for all rows alike."""
        n = max(len(self.values), 1)
        return self._replace(values=self.values + value / n)

    @classmethod
    def none(cls) -> Trees:
        """Return no trees. They predict 0."""
        return cls(np.zeros((0, 0), np.int32), np.zeros((0, 0)), np.zeros((0, 1)))

    def _descend(self, rows: np.ndarray, places: np.ndarray, firsts: np.ndarray, of_rows: np.ndarray) -> np.ndarray:
        """Return the child of each node to which the row goes: int64, shape (rows, trees).

        All arrays are read in one dimension, which is faster: node n of a tree is at the place of its root plus n.
        """
        values = rows.take(self.features.take(places) + of_rows)
        below = 2 * places
        below += 1 - firsts
        below += values > self.thresholds.take(places)
        return below

    @classmethod
    def from_lightgbm(cls, dumped: Mapping[str, Any]) -> Trees:
        """Convert the result of `lightgbm.Booster.dump_model`. The features must be numbers without gaps."""
        roots = [tree["tree_structure"] for tree in dumped["tree_info"]]
        depth = max(map(_depth, roots), default=0)
        shape = len(roots), 2**depth - 1
        trees = cls(np.zeros(shape, np.int32), np.full(shape, np.inf), np.zeros((len(roots), 2 ** (depth + 1) - 1)))
        for tree, root in enumerate(roots):
            trees._fill(tree, 0, root)
        return trees

    def _fill(self, tree: int, number: int, node: Mapping[str, Any]) -> None:
        is_leaf = "leaf_value" in node
        if not is_leaf and node["decision_type"] != "<=":
            raise ValueError(f"a node decides by {node['decision_type']!r}")
        self.values[tree, number] = node["leaf_value"] if is_leaf else node["internal_value"]
        if number >= self.features.shape[1]:
            return
        if not is_leaf:
            self.features[tree, number], self.thresholds[tree, number] = node["split_feature"], node["threshold"]
        for offset, child in enumerate(("left_child", "right_child"), start=1):
            self._fill(tree, 2 * number + offset, node if is_leaf else node[child])


def _starts(rows: np.ndarray) -> np.ndarray:
    """Return where each row starts in a flat array: int64, shape (rows,)."""
    return np.arange(len(rows)) * rows.shape[1]


def _depth(node: Mapping[str, Any]) -> int:
    return 0 if "leaf_value" in node else 1 + max(_depth(node["left_child"]), _depth(node["right_child"]))
