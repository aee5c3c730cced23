"""Settings of training: of linkers, rankers and concept retrievers, of pairs of names, and the checks of all."""

# no postponed annotations here: spaCy could not check the settings of a registered class

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import ChoiceError, OptionError
from ..settings_block import check_counts, check_rules
from .losses import CandidateLoss


@dataclass(kw_only=True)
class RerankerTraining:
    """How a ranker is trained further: with gradient-boosted trees (Friedman 2001), by LightGBM.

    Attributes:
        trees: The number of new trees.
        leaves: The most leaves of a tree.
        depth: The most decisions between the root of a tree and a leaf.
        least_in_leaf: The fewest candidates of the training data in a leaf.
        learning_rate: The factor of each tree.
        folds: The documents are divided into this many parts. The candidates of each part are found without its own
            mentions as names and in the annotation counts.
        seed: Draws the parts.
    """

    trees: int = 60
    leaves: int = 7
    depth: int = 4
    least_in_leaf: int = 30
    learning_rate: float = 0.05
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
        loss: See `spacy_sapbert.training.losses`.
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
            scores. With a ranker, the linker is saved with it only if that gains by cross-validation, and else with 0:
            the ranker knows how often concepts are annotated, and the prior turns it off.
        add_training_mentions: Add the mentions of the training data as names to the saved vocabulary. They are not
            names during training.
        reranker: Also train a ranker whenever the linker is saved; None for that in the package alone. Evaluations
            during the training do not use it.
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


# --- pairs of names


class PairSelection(NamedTuple):
    """Which pairs of a vocabulary are drawn. The defaults are those of SapBERT's published data.

    Attributes:
        max_pairs: The most pairs of a concept. A concept with fewer gives all its pairs.
        min_pairs: The number of pairs of a concept is drawn between this and `max_pairs`; None for `max_pairs`.
        min_names: A concept with fewer names gives no pair; at least 2.
        max_length: Names with more characters, such as systematic names of chemicals, are left out.
        concepts: The number of concepts drawn from those with enough names; None for all of them.
        eval_pairs: The number of pairs held out for evaluation.
        plot_pairs: The number of held-out pairs that are also written to another file, for a heat map.
    """

    max_pairs: int = 50
    min_pairs: int | None = None
    min_names: int = 2
    max_length: int | None = None
    concepts: int | None = None
    eval_pairs: int = 0
    plot_pairs: int = 0


SELECTIONS = {
    "all": PairSelection(),
    # README of github.com/sujitpal/kg-aligned-entity-linker, "Data Preparation"; its code requires more than 5 names
    "kg-aligned": PairSelection(max_pairs=5, min_pairs=3, min_names=5, concepts=5000, eval_pairs=100, plot_pairs=10),
}


@dataclass(frozen=True)
class PairSettings:
    """Which pairs `spacy-sapbert pairs` draws. None takes the number of the selection, see `PairSelection`.

    Attributes:
        selection: A key of `SELECTIONS`.
        mentions: A corpus whose mentions are paired with names of their concepts, instead of synonyms.
        mentions_format: The format of the corpus. None guesses it.
        mentions_types: Only mentions of this type, or of these types, are used. None uses all.
        seed: The seed for drawing pairs.
    """

    selection: str = "all"
    max_pairs: int | None = None
    min_pairs: int | None = None
    min_names: int | None = None
    max_length: int | None = None
    concepts: int | None = None
    eval_pairs: int | None = None
    plot_pairs: int | None = None
    mentions: str | None = None
    mentions_format: str | None = None
    mentions_types: str | list[str] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.selection not in SELECTIONS:
            raise ChoiceError(given=self.selection, what="selection of pairs", choices=SELECTIONS)
        chosen = self.chosen()
        check_counts("pairs", max_pairs=chosen.max_pairs, min_pairs=chosen.min_pairs, concepts=chosen.concepts)
        check_counts("pairs", max_length=chosen.max_length)
        check_rules(
            chosen,
            ("min_names", chosen.min_names >= 2, "2 or more"),
            ("eval_pairs", chosen.eval_pairs >= 0, "0 or more"),
            ("plot_pairs", chosen.plot_pairs >= 0, "0 or more"),
        )
        reasons = {
            "min_pairs is above max_pairs": (chosen.min_pairs or 0) > chosen.max_pairs,
            "plot_pairs is above eval_pairs": chosen.plot_pairs > chosen.eval_pairs,
            "with mentions, only max_pairs is used": bool(self.mentions)
            and chosen != PairSelection(max_pairs=chosen.max_pairs),
            "mentions_format and mentions_types need mentions": not self.mentions
            and bool(self.mentions_format or self.mentions_types),
        }
        for reason, holds in reasons.items():
            if holds:
                raise OptionError(option="[pairs]", reason=reason)

    @property
    def types(self) -> list[str]:
        """The types of the mentions that are used; none for all."""
        return [self.mentions_types] if isinstance(self.mentions_types, str) else self.mentions_types or []

    def chosen(self) -> PairSelection:
        """Return the selection with the numbers of these settings."""
        numbers = {name: getattr(self, name) for name in PairSelection._fields}
        given = {name: number for name, number in numbers.items() if number is not None}
        return SELECTIONS[self.selection]._replace(**given)


@dataclass(frozen=True)
class MiningSettings:
    """How `spacy-sapbert mine` finds hard negatives.

    Attributes:
        neighbors: The number of negatives per pair.
        pooling: "cls" or "mean". None takes the setting of the encoder, or else "cls".
        device: "cpu", "cuda", "cuda:1", …; "auto" uses a GPU if there is one.
        index: The vector index: "Flat" (exact), "HNSW", "IVF,PQ", … or the address of a database.
    """

    neighbors: int = 3
    pooling: str | None = None
    device: str = "auto"
    index: str = "Flat"

    def __post_init__(self) -> None:
        check_counts("mine", neighbors=self.neighbors)
