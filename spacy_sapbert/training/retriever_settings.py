"""Settings of concept retrieval (Shao et al. 2024): training brings documents near to their annotated concepts."""

# no postponed annotations here: spaCy could not check the settings of a registered class

from .setting_checks import check_counts, check_rules


class ConceptRetrieval:
    """Settings for training a `concept_retriever`.

    Args:
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

    Raises:
        SapbertError: E335 a setting cannot have its value.
    """

    def __init__(
        self,
        *,
        temperature: float = 0.05,
        hard: int = 20,
        random: int = 5,
        trained_layers: int | None = None,
        dropout: bool = True,
        augmented_weight: float | None = None,
        held_out: float = 0.2,
        add_training_mentions: bool = True,
        seed: int = 0,
    ) -> None:
        self.temperature = temperature
        self.hard = hard
        self.random = random
        self.trained_layers = trained_layers
        self.dropout = dropout
        self.augmented_weight = augmented_weight
        self.held_out = held_out
        self.add_training_mentions = add_training_mentions
        self.seed = seed
        check_counts(trained_layers=trained_layers)
        check_rules(
            self,
            ("temperature", temperature > 0, "above 0"),
            ("hard", hard >= 0, "0 or more"),
            ("random", random >= 0 and hard + random > 0, "0 or more, and above 0 if hard is 0"),
            ("augmented_weight", augmented_weight is None or augmented_weight >= 0, "null, or 0 or more"),
            ("held_out", 0 <= held_out < 1, "from 0 to less than 1"),
        )
