"""Trees, against LightGBM and by hand."""

import numpy as np
import pytest

from spacy_sapbert.linking.trees import Trees

# x0 <= 1: -1; x0 > 1 and x1 <= 0: 2; x0 > 1 and x1 > 0: 5. The second tree is a leaf.
BY_HAND = {
    "tree_info": [
        {
            "tree_structure": {
                "decision_type": "<=",
                "split_feature": 0,
                "threshold": 1.0,
                "internal_value": 1.0,
                "left_child": {"leaf_value": -1.0},
                "right_child": {
                    "decision_type": "<=",
                    "split_feature": 1,
                    "threshold": 0.0,
                    "internal_value": 3.0,
                    "left_child": {"leaf_value": 2.0},
                    "right_child": {"leaf_value": 5.0},
                },
            }
        },
        {"tree_structure": {"leaf_value": 0.5}},
    ]
}
ROWS = np.array([[1.0, 9.0], [2.0, 0.0], [2.0, 1.0]])


def test_a_row_goes_from_the_root_to_a_leaf():
    assert Trees.from_lightgbm(BY_HAND).predict(ROWS).tolist() == [-0.5, 2.5, 5.5]


def test_trees_of_another_depth_are_joined():
    deep, shallow = Trees.from_lightgbm(BY_HAND), Trees.from_lightgbm({"tree_info": BY_HAND["tree_info"][1:]})
    for joined in (deep.joined(shallow), shallow.joined(deep), Trees.none().joined(shallow).joined(deep)):
        assert joined.predict(ROWS).tolist() == [0.0, 3.0, 6.0]
    assert deep.joined(shallow).first(2).predict(ROWS).tolist() == deep.predict(ROWS).tolist()
    assert deep.raised(0.25).predict(ROWS).tolist() == [-0.25, 2.75, 5.75]
    assert Trees.none().raised(1.0).predict(ROWS).tolist() == [0.0, 0.0, 0.0]


def test_trees_predict_what_lightgbm_predicts():
    lightgbm = pytest.importorskip("lightgbm")
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(400, 6))
    target = rows[:, 0] * (rows[:, 1] > 0) + rows[:, 2]
    settings = {"objective": "regression", "max_depth": 4, "num_leaves": 9, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(rows, target), num_boost_round=20)
    trees = Trees.from_lightgbm(booster.dump_model())
    new = generator.normal(size=(300, 6))
    np.testing.assert_allclose(trees.predict(new), booster.predict(new), atol=1e-9)


def test_without_rows_there_is_no_prediction():
    assert Trees.from_lightgbm(BY_HAND).predict(np.zeros((0, 2))).shape == (0,)


def test_a_category_is_not_a_threshold():
    root = BY_HAND["tree_info"][0]["tree_structure"]
    with pytest.raises(ValueError, match="=="):
        Trees.from_lightgbm({"tree_info": [{"tree_structure": {**root, "decision_type": "=="}}]})
