"""Settings of training: of a linker, of its reranker and of a concept retriever, and the checks of all settings."""

# no postponed annotations here: spaCy could not check the settings of a registered class

import math
from dataclasses import dataclass
from typing import Any

from ..errors import SettingError
from .candidate_losses import CandidateLoss


def check_counts(owner: str, **counts: int | None) -> None:
    """Check that counts are whole numbers above 0, or None.

    Args:
        owner: What the settings are of, for the message.
        **counts: The counts by name.
    """
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise SettingError(setting=name, component=owner, value=count, wanted="1 or more")


def check_rules(settings: Any, *rules: tuple[str, bool, str]) -> None:
    """Check settings by rules: the name of an attribute, whether its value is allowed, and the allowed values."""
    for name, holds, wanted in rules:
        if not holds:
            owner, value = type(settings).__name__, getattr(settings, name)
            raise SettingError(setting=name, component=owner, value=value, wanted=wanted)


@dataclass(kw_only=True)
class RerankerTraining:
    """How a reranker is trained: LambdaRank (Burges 2010) with gradient-boosted trees, by LightGBM.

    Attributes:
        trees: The number of trees.
        leaves: The most leaves of a tree.
        depth: The most decisions between the root of a tree and a leaf.
        least_in_leaf: The fewest candidates of the training data in a leaf.
        learning_rate: The factor of each tree.
        folds: The documents are divided into this many parts. The candidates of each part are found without its own
            mentions as names and in the annotation counts.
        seed: Draws the parts.
    """

    trees: int = 120
    leaves: int = 15
    depth: int = 5
    least_in_leaf: int = 50
    learning_rate: float = 0.1
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts("Reranker", trees=self.trees, depth=self.depth, least_in_leaf=self.least_in_leaf)
        check_rules(
            self,
            ("folds", self.folds >= 2, "at least 2"),
            ("leaves", self.leaves >= 2, "at least 2"),
            ("depth", self.depth <= 10, "at most 10"),
            ("learning_rate", self.learning_rate > 0, "above 0"),
        )


@dataclass
class BioSyn:
    """Settings for training a `sapbert_linker` with BioSyn (Sung et al. 2020).

    Attributes:
        loss: See `spacy_sapbert.training.candidate_losses`.
        k: Candidates per mention.
        dense_share: α. ⌊αk⌋ of the candidates are the nearest by the dense score, the others by the sparse score. If
            both find the same name, further dense ones take its place.
        sparse_weight: The initial λ. None takes the λ of the linker.
        temperature: The initial divisor of scores in the loss. Without it, the softmax of cosines would be nearly flat,
            since they are close together. For inner products of vectors that are not l2_normalized, use 1.
        score_learning_rate: The learning rate of λ and of the logarithm of the temperature, without decay. 0 keeps them
            fixed.
        trained_layers: The number of upper layers of the encoder to train; None trains all weights.
        dropout: Whether to use the dropout of the encoder's config.
        reencode_every: Number of documents after which names are encoded again; None for the number of training
            documents. Scoring also encodes them again.
        inject_gold: If no candidate is right, replace the last candidate by the right name nearest by the dense score.
            BioSyn does not train on such a mention.
        deduplicate_mentions: Skip a mention that occurs again before names are encoded again. Most mentions of a corpus
            are repetitions, which take time but add nothing. BioSyn's own code skips them as well.
        prior_weight: μ, the weight of how often the training data has a concept; see
            `spacy_sapbert.linking.prior.ConceptPrior`. It affects predictions, but not the training. 0 gives BioSyn's
            scores.
        add_training_mentions: Add the mentions of the training data as names to the saved vocabulary. They are not
            names during training.
        reranker: Also train a reranker whenever the linker is saved; None for no reranker. Evaluations during the
            training do not use it.
    """

    loss: CandidateLoss
    k: int = 20
    dense_share: float = 0.5
    sparse_weight: float | None = None
    temperature: float = 0.05
    score_learning_rate: float = 0.01
    trained_layers: int | None = None
    dropout: bool = True
    reencode_every: int | None = None
    inject_gold: bool = True
    deduplicate_mentions: bool = True
    prior_weight: float = 0.1
    add_training_mentions: bool = True
    reranker: RerankerTraining | None = None

    def __post_init__(self) -> None:
        check_counts("BioSyn", k=self.k, reencode_every=self.reencode_every, trained_layers=self.trained_layers)
        check_rules(
            self,
            ("dense_share", 0 <= self.dense_share <= 1, "from 0 to 1"),
            ("sparse_weight", self.sparse_weight is None or self.sparse_weight >= 0, "0 or more"),
            ("temperature", self.temperature > 0, "above 0"),
            ("prior_weight", 0 <= self.prior_weight < math.inf, "0 or more"),
            ("score_learning_rate", self.score_learning_rate >= 0, "0 or more"),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        reranker = vars(self.reranker) if self.reranker else None
        return {**vars(self), "loss": getattr(self.loss, "__name__", repr(self.loss)), "reranker": reranker}


@dataclass(kw_only=True)
class ConceptRetrieval:
    """Settings for training a `concept_retriever` (Shao et al. 2024), which brings documents near to their concepts.

    Attributes:
        temperature: Divides the cosines in the loss. The paper uses 1, with which their softmax is nearly flat.
        hard: Number of hard negatives: concepts nearest to the document that are not annotated.
        random: Number of further negatives drawn at random. All negatives are drawn again each time a document occurs.
        trained_layers: The number of upper layers of the encoder to train; None trains all weights.
        dropout: Whether to use the dropout of the encoder's config.
        augmented_weight: The weight of a document annotated by rules. None takes the weight that the document has.
        held_out: The share of annotated documents on which the encoder is not trained. The weights of the signals and
            the threshold are fitted on them.
        add_training_mentions: Add the annotated mentions as names to the saved vocabulary, for signals that use names.
            While signals are weighed, they do not count for the documents they came from.
        seed: The seed for random concepts and for held-out documents.
    """

    temperature: float = 0.05
    hard: int = 20
    random: int = 5
    trained_layers: int | None = None
    dropout: bool = True
    augmented_weight: float | None = None
    held_out: float = 0.2
    add_training_mentions: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts("ConceptRetrieval", trained_layers=self.trained_layers)
        check_rules(
            self,
            ("temperature", self.temperature > 0, "above 0"),
            ("hard", self.hard >= 0, "0 or more"),
            ("random", self.random >= 0 and self.hard + self.random > 0, "0 or more, and above 0 if hard is 0"),
            (
                "augmented_weight",
                self.augmented_weight is None or self.augmented_weight >= 0,
                "null, or 0 or more",
            ),
            ("held_out", 0 <= self.held_out < 1, "from 0 to less than 1"),
        )
