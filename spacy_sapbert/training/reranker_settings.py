"""Settings of the training of a reranker."""

# no postponed annotations here: spaCy could not check the settings of a registered class

from .setting_checks import check_counts, check_rules


class RerankerTraining:
    """How a reranker is trained: LambdaRank (Burges 2010) with gradient-boosted trees, by LightGBM.

    Args:
        trees: The number of trees.
        leaves: The most leaves of a tree.
        depth: The most decisions between the root of a tree and a leaf.
        least_in_leaf: The fewest candidates of the training data in a leaf.
        learning_rate: The factor of each tree.
        folds: The documents are divided into this many parts. The candidates of each part are found without its own
            mentions as names and in the annotation counts.
        seed: Draws the parts.

    Raises:
        SapbertError: E335 a setting cannot have its value.
    """

    def __init__(
        self,
        *,
        trees: int = 120,
        leaves: int = 15,
        depth: int = 5,
        least_in_leaf: int = 50,
        learning_rate: float = 0.1,
        folds: int = 5,
        seed: int = 0,
    ) -> None:
        self.trees = trees
        self.leaves = leaves
        self.depth = depth
        self.least_in_leaf = least_in_leaf
        self.learning_rate = learning_rate
        self.folds = folds
        self.seed = seed
        check_counts(trees=trees, leaves=leaves, depth=depth, least_in_leaf=least_in_leaf, folds=folds)
        check_rules(
            self,
            ("folds", folds >= 2, "at least 2"),
            ("leaves", leaves >= 2, "at least 2"),
            ("depth", depth <= 10, "at most 10"),
            ("learning_rate", learning_rate > 0, "above 0"),
        )
