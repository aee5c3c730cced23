"""Concept retrieval (Shao et al. 2024): documents are brought near to the concepts annotated in them."""

# no postponed annotations here: the settings of a registered class could not be checked

from ..errors import Errors, SapbertError
from .checks import check_counts


class ConceptRetrieval:
    """How a `concept_retriever` is trained.

    Args:
        temperature: cosines are divided by it. It is 1 in the paper, where their softmax is nearly flat.
        hard: concepts nearest to the document that are not annotated, against which each annotated one is trained.
        random: further ones drawn at random. Both are drawn anew each time a document comes.
        trained_layers: train so many of the encoder's upper layers only; None for all weights.
        dropout: as much as the encoder's config says, or none.
        augmented_weight: how much a document annotated by rules counts; None for what it says itself.
        held_out: share of the annotated documents on which the encoder is not trained. On these is fitted how much each
            signal counts, and the threshold.
        add_training_mentions: the annotated mentions are names of the vocabulary that is saved, for the signals that
            look at names. For a document they came from they do not count while signals are weighed.
        seed: draws the random concepts, and the documents that are held out.

    Raises:
        SapbertError: E335 a setting that makes no sense.
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
        for name, holds, wanted in (
            ("temperature", temperature > 0, "above 0"),
            ("hard", hard >= 0, "0 or more"),
            ("random", random >= 0 and hard + random > 0, "0 or more, and above 0 where hard is 0"),
            ("augmented_weight", augmented_weight is None or augmented_weight >= 0, "null, or 0 or more"),
            ("held_out", 0 <= held_out < 1, "from 0 to less than 1"),
        ):
            if not holds:
                raise SapbertError(Errors.E335.format(name=name, value=getattr(self, name), wanted=wanted))
