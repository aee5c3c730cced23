"""Settings of BioSyn (Sung et al. 2020): how a linker is trained on annotated mentions."""

# no postponed annotations here: the settings of a registered class could not be checked

import math
from typing import Any

from ..errors import Errors, SapbertError
from .candidate_losses import CandidateLoss
from .checks import check_counts


class BioSyn:
    """How a `sapbert_linker` learns.

    Args:
        loss: see `spacy_sapbert.training.candidate_losses`.
        k: candidates of a mention.
        dense_share: α: ⌊αk⌋ of them are nearest by the dense score, the others by the sparse one; where both find the
            same name, further dense ones take its place.
        sparse_weight: λ to begin with; None for the one that the linker has.
        temperature: scores are divided by it before the loss sees them. Cosines lie so near to one another that their
            softmax would be nearly flat. Inner products of vectors that are not l2_normalized want 1.
        score_learning_rate: learning rate of λ and of the temperature's logarithm, which do not decay; 0 leaves them.
        trained_layers: train so many of the encoder's upper layers only; None for all weights.
        dropout: as much as the encoder's config says, or none.
        reencode_every: documents after which names are encoded anew; None for as many as the training data has. Scoring
            encodes them anew as well.
        inject_gold: where no candidate is right, the right name nearest by the dense score takes the last one's place.
            BioSyn learns nothing from such a mention.
        deduplicate_mentions: a mention that comes again before names are encoded anew is left out: most mentions of a
            corpus are repetitions, and take time without teaching more. BioSyn's own code leaves them out as well.
        prior_weight: μ, how much it counts how often the training data has a concept; see
            `spacy_sapbert.linking.prior.ConceptPrior`. It enters what is predicted, not what is learnt. 0 for BioSyn's
            scores.
        add_training_mentions: the mentions of the training data are names of the vocabulary that is saved; while the
            linker learns they are not.

    Raises:
        SapbertError: E335 a setting that makes no sense.
    """

    def __init__(
        self,
        loss: CandidateLoss,
        *,
        k: int = 20,
        dense_share: float = 0.5,
        sparse_weight: float | None = None,
        temperature: float = 0.05,
        score_learning_rate: float = 0.01,
        trained_layers: int | None = None,
        dropout: bool = True,
        reencode_every: int | None = None,
        inject_gold: bool = True,
        deduplicate_mentions: bool = True,
        prior_weight: float = 0.1,
        add_training_mentions: bool = True,
    ) -> None:
        self.loss = loss
        self.k = k
        self.dense_share = dense_share
        self.sparse_weight = sparse_weight
        self.temperature = temperature
        self.score_learning_rate = score_learning_rate
        self.trained_layers = trained_layers
        self.dropout = dropout
        self.reencode_every = reencode_every
        self.inject_gold = inject_gold
        self.deduplicate_mentions = deduplicate_mentions
        self.prior_weight = prior_weight
        self.add_training_mentions = add_training_mentions
        check_counts(k=k, reencode_every=reencode_every, trained_layers=trained_layers)
        for name, holds, wanted in (
            ("dense_share", 0 <= dense_share <= 1, "from 0 to 1"),
            ("sparse_weight", sparse_weight is None or sparse_weight >= 0, "0 or more"),
            ("temperature", temperature > 0, "above 0"),
            ("prior_weight", 0 <= prior_weight < math.inf, "0 or more"),
            ("score_learning_rate", score_learning_rate >= 0, "0 or more"),
        ):
            if not holds:
                raise SapbertError(Errors.E335.format(name=name, value=getattr(self, name), wanted=wanted))

    @property
    def described(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        return {**vars(self), "loss": getattr(self.loss, "__name__", repr(self.loss))}
