"""BioSyn (Sung et al. 2020): dense and sparse score learn from annotated mentions which candidates are right."""

# no postponed annotations here: the settings of a registered class could not be checked

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from thinc.types import Floats2d

from ..errors import Errors, SapbertError
from ..linking.candidates import ALL, CandidateGenerator, Filter, top
from ..text.normalize import TEXT_NORMALIZERS, biosyn
from .candidate_losses import CandidateLoss
from .checks import check_counts

if TYPE_CHECKING:
    from thinc.api import Optimizer


class BioSyn:
    """How a `sapbert_linker` learns.

    loss (CandidateLoss): see `spacy_sapbert.training.candidate_losses`.
    k (int): candidates of a mention.
    dense_share (float): α: ⌊αk⌋ of them are nearest by the dense score, the others by the sparse one; where both find
        the same name, further dense ones take its place.
    sparse_weight (float | None): λ to begin with; None for the one that the linker has.
    temperature (float): scores are divided by it before the loss sees them. Cosines lie so near to one another that
        their softmax would be nearly flat. Inner products of vectors that are not l2_normalized want 1.
    score_learning_rate (float): learning rate of λ and of the temperature's logarithm, which do not decay; 0 leaves them.
    trained_layers (int | None): train so many of the encoder's upper layers only; None for all weights.
    dropout (bool): as much as the encoder's config says, or none.
    reencode_every (int | None): documents after which names are encoded anew; None for as many as the training data has.
        Scoring encodes them anew as well.
    inject_gold (bool): where no candidate is right, the right name nearest by the dense score takes the last one's place.
        BioSyn learns nothing from such a mention.
    deduplicate_mentions (bool): a mention that comes again before names are encoded anew is left out: most mentions of a corpus
        are repetitions, and take time without teaching more. BioSyn's own code leaves them out as well.
    prior_weight (float): μ, how much it counts how often the training data has a concept; see
        `spacy_sapbert.linking.prior.Prior`. It enters what is predicted, not what is learnt. 0 for BioSyn's scores.
    add_training_mentions (bool): the mentions of the training data are names of the vocabulary that is saved; while the linker
        learns they are not.
    RAISES (SapbertError): E335 a setting that makes no sense.
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
        """RETURNS (dict[str, Any]): the settings as JSON has them."""
        return {**vars(self), "loss": getattr(self.loss, "__name__", repr(self.loss))}


class TrainingMention(NamedTuple):
    """A mention to learn from.

    text (str): with its abbreviations expanded.
    concepts (frozenset[int]): rows of the concepts that are right.
    filter (Filter): among which names its candidates are.
    """

    text: str
    concepts: frozenset[int]
    filter: Filter = ALL


class CandidateScores(NamedTuple):
    """rows (int64), scores (float32), right (bool), each of shape (mentions, candidates)."""

    rows: np.ndarray
    scores: np.ndarray
    right: np.ndarray


class Learner:
    """Teaches encoder, λ and temperature of a candidate generator.

    generator (CandidateGenerator): its encoder is trained in place, its name vectors stay as they are.
    counts (Counter[str]): "mentions" learnt from, and those of them "without a right candidate".
    RAISES (SapbertError): E342 there is no encoder to train.
    """

    def __init__(self, generator: CandidateGenerator, settings: BioSyn) -> None:
        from thinc.api import Adam

        from ..encoders.thinc_layer import thinc_encoder

        if generator.vectors is None:
            raise SapbertError(Errors.E342)
        self.generator = generator
        self.settings = settings
        self.encoder = generator.vectors.encoder
        self.encoder.dtype = "float32"  # stored in half precision, it would not be the one that encoded the names
        self.model = thinc_encoder(self.encoder, trained_layers=settings.trained_layers, dropout=settings.dropout)
        self.counts: Counter[str] = Counter()
        start = generator.sparse_weight if settings.sparse_weight is None else settings.sparse_weight
        self._weights = np.array([start, np.log(settings.temperature)], dtype=np.float32)
        self._gradient = np.zeros_like(self._weights)
        self._adam = Adam(settings.score_learning_rate, L2=0.0, grad_clip=0.0)
        self._picked: set[TrainingMention] = set()
        self._candidates = _NameCandidates(generator, settings, self.counts)

    @property
    def sparse_weight(self) -> float:
        return float(self._weights[0]) if self.generator.ngrams else 0.0

    @property
    def temperature(self) -> float:
        return float(np.exp(self._weights[1]))

    def pick(self, mentions: Iterable[TrainingMention]) -> list[TrainingMention]:
        """RETURNS (list[TrainingMention]): each of them once, if there is a name to compare it with; where mentions are
        learnt from once, those that have not been picked since the names were encoded."""
        picked = [one for one in dict.fromkeys(mentions) if one not in self._picked and self._has_names(one)]
        if self.settings.deduplicate_mentions:
            self._picked.update(picked)
        return picked

    def names_are_renewed(self) -> None:
        self._picked.clear()

    def _has_names(self, mention: TrainingMention) -> bool:
        passing = self.generator.passing_names(mention.filter)
        return passing is None or bool(passing.any())

    def begin_update(self, mentions: Sequence[TrainingMention]) -> tuple[CandidateScores, Callable[[np.ndarray], None]]:
        """Score the candidates of mentions that `pick` gave.

        RETURNS (tuple): the scores, divided by the temperature; and a function that takes their gradient back to the
            weights, until `finish_update` changes these.
        """
        rows, sparse = self._candidates(mentions)
        right = self._right(rows, mentions)
        self.counts["mentions"] += len(mentions)
        self.counts["without a right candidate"] += int((~right.any(axis=1)).sum())
        forms, of_mentions, of_rows = self._forms([mention.text for mention in mentions], rows)
        encoded, backprop = self.model.begin_update(self.encoder.tokenize(forms))
        vectors = np.asarray(encoded)
        queries, names = vectors[of_mentions], vectors[of_rows]
        temperature = self.temperature
        scores = (np.einsum("md,mkd->mk", queries, names) + self.sparse_weight * sparse) / temperature

        def learn(gradient: np.ndarray) -> None:
            of_cosines = gradient / temperature
            of_vectors = np.zeros_like(vectors)
            np.add.at(of_vectors, of_mentions, np.einsum("mk,mkd->md", of_cosines, names))
            np.add.at(of_vectors, of_rows, of_cosines[:, :, None] * queries[:, None, :])
            backprop(cast(Floats2d, of_vectors))
            self._gradient += np.array([(of_cosines * sparse).sum(), -(gradient * scores).sum()], dtype=np.float32)

        return CandidateScores(rows, scores, right), learn

    def finish_update(self, sgd: "Optimizer") -> None:
        """Change encoder, λ and temperature by what `learn` has summed up; λ stays 0 or more."""
        self.model.finish_update(sgd)
        self._weights, _ = self._adam((id(self), "weights"), self._weights, self._gradient)
        self._weights[0] = max(self._weights[0], 0)
        self._gradient = np.zeros_like(self._weights)

    def _forms(self, texts: list[str], rows: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Each form once, since a batch has many names twice, with the places of the texts' and of the names' forms."""
        normalize = TEXT_NORMALIZERS[self.encoder.text_normalizer]
        unique, places = np.unique(rows, return_inverse=True)
        of_names = [normalize(self.generator.kb.name(int(row))) for row in unique]
        of_texts = [normalize(text) for text in texts]
        known = {form: place for place, form in enumerate(dict.fromkeys([*of_texts, *of_names]))}
        of_rows = np.array([known[form] for form in of_names])[places].reshape(rows.shape)
        return list(known), np.array([known[form] for form in of_texts]), of_rows

    def _right(self, rows: np.ndarray, mentions: Sequence[TrainingMention]) -> np.ndarray:
        name_concepts = self.generator.kb.name_concepts
        which, owners = name_concepts.of(rows.ravel())
        right = np.zeros(rows.size, dtype=bool)
        for place, concept in zip(which, name_concepts.concepts[owners], strict=True):
            right[place] |= int(concept) in mentions[place // rows.shape[1]].concepts
        return right.reshape(rows.shape)


class _NameCandidates:
    """The names that a mention is compared with; never the mention itself where it is a name from a corpus only."""

    def __init__(self, generator: CandidateGenerator, settings: BioSyn, counts: "Counter[str]") -> None:
        self._generator = generator
        self._n_dense = int(settings.dense_share * settings.k) if generator.ngrams else settings.k
        self._k = settings.k
        self._add_right = settings.inject_gold
        self._counts = counts
        self._annotated: dict[str, list[int]] = {}
        for row in generator.kb.annotated_only():
            self._annotated.setdefault(biosyn(generator.kb.name(row)), []).append(row)

    def __call__(self, mentions: Sequence[TrainingMention]) -> tuple[np.ndarray, np.ndarray]:
        """RETURNS (int64 and float32, shape (mentions, candidates)): the rows of the names, and their sparse scores.

        A filter that lets fewer names pass than there shall be candidates makes fewer of all.
        """
        dense, sparse = self._generator.similarities([mention.text for mention in mentions])
        for place, mention in enumerate(mentions):
            passing = self._generator.passing_names(mention.filter)
            for scores in (dense[place], sparse[place]):
                scores[self._annotated.get(biosyn(mention.text), [])] = -np.inf
                if passing is not None:
                    scores[~passing] = -np.inf
        chosen = [self._choose(dense[place], sparse[place]) for place in range(len(mentions))]
        if self._add_right:
            chosen = [self._with_right(*found) for found in zip(chosen, dense, mentions, strict=True)]
        k = min(map(len, chosen))
        rows = np.stack([rows[:k] for rows in chosen])
        return rows, np.take_along_axis(sparse, rows, axis=1)

    def _with_right(self, rows: np.ndarray, dense: np.ndarray, mention: TrainingMention) -> np.ndarray:
        name_concepts = self._generator.kb.name_concepts
        right = name_concepts.names[np.isin(name_concepts.concepts, list(mention.concepts))]
        right = right[np.isfinite(dense[right])]
        if not len(right) or np.isin(rows, right).any():
            return rows
        self._counts["right candidates added"] += 1
        return np.append(rows[:-1], right[dense[right].argmax()])

    def _choose(self, dense: np.ndarray, sparse: np.ndarray) -> np.ndarray:
        by_sparse = _best(sparse, self._k - self._n_dense)
        by_dense = _best(dense, self._k)
        further = by_dense[~np.isin(by_dense, by_sparse)]
        return np.concatenate([by_sparse, further[: self._k - len(by_sparse)]])


def _best(scores: np.ndarray, n: int) -> np.ndarray:
    """RETURNS (int64): the places of the n highest scores, best first; equal ones by place."""
    places = top(scores, n) if n else np.zeros(0, dtype=np.int64)
    places = places[np.isfinite(scores[places])]
    return places[np.lexsort((places, -scores[places]))][:n]
