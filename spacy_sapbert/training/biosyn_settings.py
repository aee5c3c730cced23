"""Settings of BioSyn (Sung et al. 2020): how a linker is trained on annotated mentions."""

# no postponed annotations here: spaCy could not check the settings of a registered class

import math
from typing import Any

from .candidate_losses import CandidateLoss
from .reranker_settings import RerankerTraining
from .setting_checks import check_counts, check_rules


class BioSyn:
    """Settings for training a `sapbert_linker`.

    Args:
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

    Raises:
        SapbertError: E335 a setting cannot have its value.
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
        reranker: RerankerTraining | None = None,
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
        self.reranker = reranker
        check_counts(k=k, reencode_every=reencode_every, trained_layers=trained_layers)
        check_rules(
            self,
            ("dense_share", 0 <= dense_share <= 1, "from 0 to 1"),
            ("sparse_weight", sparse_weight is None or sparse_weight >= 0, "0 or more"),
            ("temperature", temperature > 0, "above 0"),
            ("prior_weight", 0 <= prior_weight < math.inf, "0 or more"),
            ("score_learning_rate", score_learning_rate >= 0, "0 or more"),
        )

    @property
    def described(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        reranker = vars(self.reranker) if self.reranker else None
        return {**vars(self), "loss": getattr(self.loss, "__name__", repr(self.loss)), "reranker": reranker}
