"""`LinkerTrainer`: train encoder, λ and temperature of a linker with BioSyn (Sung et al. 2020)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..encoders.encoder import as_transformer, history_kept
from ..encoders.segments import thinc_encoder
from ..errors import Errors, SapbertError, TrainingDataError, Warnings
from ..files.output import ScratchFolder
from ..kb.filters import ALL, Filter
from ..kb.ids import some_ids
from ..linking.candidates import CandidateGenerator, top
from ..linking.linker import Linker
from ..linking.prior import count_concepts
from ..linking.storage import with_mentions
from ..linking.variants import MentionQuery
from ..text.normalize import TEXT_NORMALIZERS, biosyn
from ..types import Document
from ..vectors.flat import NameVectors, build_name_vectors
from ..vectors.storage import exact_vectors
from .ranker_trainer import TrainedRanking, check_lightgbm, train_ranking
from .settings import BioSyn

if TYPE_CHECKING:
    from thinc.api import Optimizer
    from thinc.types import Floats2d


class TrainingMention(NamedTuple):
    """A mention to train on.

    Attributes:
        text: The text with its abbreviations expanded.
        concepts: The rows of the right concepts.
        filter: The filter of its candidates.
    """

    text: str
    concepts: frozenset[int]
    filter: Filter = ALL


class CandidateScores(NamedTuple):
    """The scores of candidates. All arrays have the shape (mentions, candidates).

    Attributes:
        rows: The rows of the names, int64.
        scores: The scores, float32.
        right: Which candidates are right, bool.
    """

    rows: np.ndarray
    scores: np.ndarray
    right: np.ndarray


class LinkerTrainer:
    """Trains the encoder, λ and the temperature of a linker.

    The linker gets an encoder of its own, since other components may share the one that it has. That encoder is trained
    in place. The vectors of the names do not change until `refresh` encodes the names again.

    Args:
        linker: The linker to train. Its calibration and its ranker are dropped, and an index that is not exact is
            replaced.

    Attributes:
        counts: The number of "mentions" trained on, those "without a right candidate", and those left out.
    """

    def __init__(self, linker: Linker, settings: BioSyn) -> None:
        from thinc.api import Adam

        generator = linker.generator
        present = generator.rescorer or generator.vectors
        if present is None:
            raise SapbertError(Errors.E342)
        # exact, since an index would be invalid after the first step
        exact = exact_vectors(present, generator.kb)
        self.encoder = as_transformer(exact.encoder, "Training").copy()
        generator.renew(NameVectors(exact.folder, generator.kb, self.encoder))
        linker.stored_parameters = linker.stored_parameters.without_calibration()
        linker.trained_ranker = None
        self.linker = linker
        self.settings = settings
        self.model = thinc_encoder(self.encoder, trained_layers=settings.trained_layers, dropout=settings.dropout)
        self.counts: Counter[str] = Counter()
        self.steps = 0
        self.reencode_every = settings.reencode_every
        self._docs_since_refresh = 0
        start = generator.sparse_weight if settings.sparse_weight is None else settings.sparse_weight
        self._weights = np.array([start, np.log(settings.temperature)], dtype=np.float32)
        self._gradient = np.zeros_like(self._weights)
        self._adam = Adam(settings.score_learning_rate, L2=0.0, grad_clip=0.0)
        self._picked: set[TrainingMention] = set()
        self._candidates = NameCandidates(generator, settings, self.counts)
        self._gold: list[Document] = []
        self._ranking: tuple[int, TrainedRanking] | None = None
        self._vectors_folder: ScratchFolder | None = None

    @property
    def sparse_weight(self) -> float:
        """The current λ."""
        return float(self._weights[0]) if self.linker.generator.ngrams else 0.0

    @property
    def temperature(self) -> float:
        """The current divisor of scores in the loss."""
        return float(np.exp(self._weights[1]))

    # --- training data

    def begin(self, documents: Sequence[Document]) -> None:
        """Set the documents of the training data, and the concept counts."""
        annotated = count_concepts(documents)
        if not any(map(self.linker.kb.concept_rows, annotated)):
            some, known = some_ids(annotated), some_ids(self.linker.kb.concept_ids())
            message = Errors.E346.format(documents=len(documents), n=annotated.total(), some=some, known=known)
            raise TrainingDataError(message)
        self.linker.stored_parameters = self.linker.stored_parameters._replace(
            annotated=dict(annotated), prior_weight=self.settings.prior_weight
        )
        self.reencode_every = self.reencode_every or len(documents)
        self._gold = list(documents)
        self._ranking = None
        if self.settings.reranker:
            check_lightgbm()

    def mentions(self, query: MentionQuery, ids: Sequence[str]) -> Iterator[TrainingMention]:
        """Convert a gold mention to training mentions: its long form if it has one, or the parts of a composite.

        The first split with as many parts as ids is used. Its parts get the ids in order.

        Yields:
            Training mentions with a concept of the vocabulary. Other ids are counted.
        """
        for text, concept_id in self._texts_with_ids(query, ids):
            concepts = frozenset(self.linker.kb.concept_rows(concept_id))
            self.counts["ids that the vocabulary lacks"] += not concepts
            if concepts:
                yield TrainingMention(text, concepts, self.linker.filter_of(query.label))

    def _texts_with_ids(self, query: MentionQuery, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
        variants = query.variants
        if len(ids) == 1:
            yield variants.long_form or variants.text, ids[0]
        elif ids:
            split = next((split for split in variants.composite_splits if len(split) == len(ids)), ())
            self.counts["composites without as many parts as ids"] += not split
            yield from zip(split, ids, strict=False)

    def pick(self, mentions: Iterable[TrainingMention]) -> list[TrainingMention]:
        """Return the unique mentions that have names to compare with.

        With `deduplicate_mentions`, mentions that were picked since the names were encoded are left out.
        """
        picked = []
        for mention in dict.fromkeys(mentions):
            mask = self.linker.generator.names_that_pass(mention.filter)
            if mention not in self._picked and (mask is None or mask.any()):
                picked.append(mention)
        if self.settings.deduplicate_mentions:
            self._picked.update(picked)
        return picked

    # --- a step

    def begin_update(self, mentions: Sequence[TrainingMention]) -> tuple[CandidateScores, Callable[[np.ndarray], None]]:
        """Score the candidates of mentions from `pick`.

        Returns:
            The scores, divided by the temperature, and a function that takes their gradient and adds up the gradients
            of the weights. `finish_update` then updates the weights.
        """
        rows, sparse = self._candidates(mentions)
        right = self._right(rows, mentions)
        self.counts["mentions"] += len(mentions)
        self.counts["without a right candidate"] += int((~right.any(axis=1)).sum())
        texts, mention_numbers, name_numbers = self._unique_texts([mention.text for mention in mentions], rows)
        encoded, backprop = self.model.begin_update(self.encoder.tokenize(texts))
        vectors = np.asarray(encoded)
        queries, names = vectors[mention_numbers], vectors[name_numbers]
        temperature = self.temperature
        scores = (np.einsum("md,mkd->mk", queries, names) + self.sparse_weight * sparse) / temperature

        def backward(gradient: np.ndarray) -> None:
            cosine_gradient = gradient / temperature
            vector_gradient = np.zeros_like(vectors)
            np.add.at(vector_gradient, mention_numbers, np.einsum("mk,mkd->md", cosine_gradient, names))
            np.add.at(vector_gradient, name_numbers, cosine_gradient[:, :, None] * queries[:, None, :])
            backprop(cast("Floats2d", vector_gradient))
            self._gradient += np.array([(cosine_gradient * sparse).sum(), -(gradient * scores).sum()], dtype=np.float32)

        return CandidateScores(rows, scores, right), backward

    def loss(self, scores: CandidateScores) -> tuple[float, np.ndarray]:
        """Return the mean loss per mention, and its gradient with respect to the scores, float32."""
        losses, gradients = self.settings.loss(scores.scores, scores.right)
        return float(losses.mean()), gradients / len(gradients)

    def finish_update(self, sgd: Optimizer) -> None:
        """Update encoder, λ and temperature with the gradients added up so far. λ stays 0 or more."""
        self.model.finish_update(sgd)
        self._weights, _ = self._adam((id(self), "weights"), self._weights, self._gradient)
        self._weights[0] = max(self._weights[0], 0)
        self._gradient = np.zeros_like(self._weights)
        self.linker.trained_ranker = None
        self.linker.stored_parameters = self.linker.stored_parameters._replace(sparse_weight=self.sparse_weight)
        self.steps += 1

    def _unique_texts(self, texts: list[str], rows: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return unique texts, since a batch repeats many names, and the positions of the mentions and of the names."""
        normalize = TEXT_NORMALIZERS[self.encoder.text_normalizer]
        unique, inverse = np.unique(rows, return_inverse=True)
        name_forms = [normalize(self.linker.kb.name(int(row))) for row in unique]
        text_forms = [normalize(text) for text in texts]
        numbers = {text: number for number, text in enumerate(dict.fromkeys([*text_forms, *name_forms]))}
        name_numbers = np.array([numbers[text] for text in name_forms])[inverse].reshape(rows.shape)
        return list(numbers), np.array([numbers[text] for text in text_forms]), name_numbers

    def _right(self, rows: np.ndarray, mentions: Sequence[TrainingMention]) -> np.ndarray:
        name_concepts = self.linker.kb.name_concepts
        which, entries = name_concepts.of(rows.ravel())
        right = np.zeros(rows.size, dtype=bool)
        for candidate, concept in zip(which, name_concepts.concepts[entries], strict=True):
            right[candidate] |= int(concept) in mentions[candidate // rows.shape[1]].concepts
        return right.reshape(rows.shape)

    # --- the vectors of the names

    def count_documents(self, n: int) -> None:
        """Count documents before training on them. If it is due, names are encoded again first."""
        if self.reencode_every and self._docs_since_refresh >= self.reencode_every:
            self.refresh()
        self._docs_since_refresh += n

    def refresh(self) -> None:
        """Encode the names with the current weights, if anything was trained since they were encoded."""
        if not self._docs_since_refresh:
            return
        self.encoder.replace(self.encoder.model)  # updates the fingerprint
        folder = ScratchFolder()
        vectors = self.linker.generator.vectors
        assert isinstance(vectors, NameVectors)
        build_name_vectors(self.linker.kb, self.encoder, folder.path, compression=vectors.compression)
        self.linker.generator.renew(NameVectors(folder.path, self.linker.kb, self.encoder))
        if self._vectors_folder:
            self._vectors_folder.remove()
        self._vectors_folder = folder
        self._picked.clear()
        self._docs_since_refresh = 0

    # --- saving

    @contextmanager
    def trained_generator(self) -> Iterator[CandidateGenerator]:
        """Give the generator to save: with the training mentions as names, and a record of the training in the encoder.

        Training can continue afterwards, since the linker itself does not change.
        """
        self.refresh()
        generator = self.linker.generator
        with ExitStack() as stack:
            if self.steps:
                stack.enter_context(history_kept(self.encoder))
                self.note()
            if self._gold and self.settings.add_training_mentions:
                generator = with_mentions(generator, self._gold, stack.enter_context(ScratchFolder()))
            yield generator

    def ranking(self) -> TrainedRanking:
        """Return a ranker trained with the present encoder, and the μ to save with it.

        Cross-validation chooses between the ranker and the present μ, see `train_ranking`. The ranker is None
        without the setting. It is also None with the warning W415 if it does not help, or W416 if there is too little
        to learn from.
        """
        settings, weight = self.settings.reranker, self.linker.stored_parameters.prior_weight
        if settings is None:
            return TrainedRanking(weight, None)
        self.refresh()
        if self._ranking is None or self._ranking[0] != self.steps:
            add_mentions = self.settings.add_training_mentions
            try:
                trained = train_ranking(
                    self.linker, self._gold, settings, add_mentions=add_mentions, prior_weight=weight
                )
            except TrainingDataError as error:  # the trained encoder must not be lost
                warnings.warn(Warnings.W416.format(reason=error), stacklevel=2)
                trained = TrainedRanking(weight, None)
            self._ranking = self.steps, trained
        return self._ranking[1]

    def note(self) -> None:
        """Record the training in the encoder. Before the first step, nothing is recorded."""
        if self.steps:
            details = {"sparse_weight": self.sparse_weight, "temperature": self.temperature, **+self.counts}
            self.encoder.record("BioSyn", steps=self.steps, **details, settings=self.settings.as_dict())
            if model := self.encoder.lexical_model:  # it must not keep the values from before the training
                self.encoder.lexical_model = model._replace(
                    sparse_weight=self.sparse_weight, threshold=self.linker.stored_parameters.threshold
                )


class NameCandidates:
    """Selects the candidate names of mentions in training (Sung et al. 2020, section 3.3).

    A mention is not its own candidate if that name only comes from a corpus.
    """

    def __init__(self, generator: CandidateGenerator, settings: BioSyn, counts: Counter[str]) -> None:
        self._generator = generator
        self._n_dense = int(settings.dense_share * settings.k) if generator.ngrams else settings.k
        self._k = settings.k
        self._inject_gold = settings.inject_gold
        self._counts = counts
        self._annotated: dict[str, list[int]] = {}
        for row in generator.kb.annotated_only():
            self._annotated.setdefault(biosyn(generator.kb.name(row)), []).append(row)

    def __call__(self, mentions: Sequence[TrainingMention]) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of mentions.

        If a filter matches fewer names than `k`, all mentions get fewer candidates.

        Returns:
            The rows of the names and their sparse scores, int64 and float32, shape (mentions, candidates).
        """
        dense, sparse = self._generator.similarities([mention.text for mention in mentions])
        selected = []
        for mention, *scores in zip(mentions, dense, sparse, strict=True):
            mask = self._generator.names_that_pass(mention.filter)
            for values in scores:
                values[self._annotated.get(biosyn(mention.text), [])] = -np.inf
                if mask is not None:
                    values[~mask] = -np.inf
            rows = self._select(*scores)
            selected.append(self._with_gold(rows, scores[0], mention) if self._inject_gold else rows)
        k = min(map(len, selected))
        rows = np.stack([rows[:k] for rows in selected])
        return rows, np.take_along_axis(sparse, rows, axis=1)

    def _with_gold(self, rows: np.ndarray, dense: np.ndarray, mention: TrainingMention) -> np.ndarray:
        name_concepts = self._generator.kb.name_concepts
        right = name_concepts.names[np.isin(name_concepts.concepts, list(mention.concepts))]
        right = right[np.isfinite(dense[right])]
        if not len(right) or np.isin(rows, right).any():
            return rows
        self._counts["right candidates added"] += 1
        return np.append(rows[:-1], right[dense[right].argmax()])

    def _select(self, dense: np.ndarray, sparse: np.ndarray) -> np.ndarray:
        by_sparse = _highest(sparse, self._k - self._n_dense)
        by_dense = _highest(dense, self._k)
        further = by_dense[~np.isin(by_dense, by_sparse)]
        return np.concatenate([by_sparse, further[: self._k - len(by_sparse)]])


def _highest(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the rows of the n highest scores, best first, int64. Equal scores are ordered by row."""
    rows = top(scores, n) if n else np.zeros(0, dtype=np.int64)
    rows = rows[np.isfinite(scores[rows])]
    return rows[np.lexsort((rows, -scores[rows]))][:n]
