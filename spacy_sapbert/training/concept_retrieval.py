"""Concept retrieval (Shao et al. 2024): a document encoder learns to come near the concepts annotated in a document."""

# no postponed annotations here: the settings of a registered class could not be checked

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from thinc.types import Floats2d

from ..errors import Errors, SapbertError
from .checks import check_counts

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from thinc.api import Model, Optimizer

    from ..retrieval.concept_vectors import ConceptVectors


class ConceptRetrieval:
    """How a `concept_retriever` learns.

    temperature (float): cosines are divided by it. It is 1 in the paper, where their softmax is nearly flat.
    hard (int): concepts nearest to the document that are not annotated, against which each annotated one is learnt.
    random (int): further ones drawn at random. Both are drawn anew each time a document comes.
    trained_layers (int | None): train so many of the encoder's upper layers only; None for all weights.
    dropout (bool): as much as the encoder's config says, or none.
    augmented_weight (float | None): how much a document annotated by rules counts; None for what it says itself.
    held_out (float): share of the annotated documents from which the encoder does not learn: on these it is learnt how
        much each signal counts, and the threshold.
    add_training_mentions (bool): the annotated mentions are names of the vocabulary that is saved, for the signals that look
        at names; for a document they came from they do not count while signals are weighed.
    seed (int): draws the random concepts, and the documents that are held out.
    RAISES (SapbertError): E335 a setting that makes no sense.
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


class AnnotatedPlaces(NamedTuple):
    """A document to learn from: the places of its concepts, and how much it counts.

    Without places it is only read, since a transformer that components share reads a batch as a whole.
    """

    doc: "Doc"
    places: tuple[int, ...] = ()
    weight: float = 1.0


class RetrieverTrainer:
    """Teaches a document model; the vectors of the concepts stay as they are.

    model (Model[list[Doc], list[Floats2d]]): gives unit vectors of segments.
    vectors (ConceptVectors): of the concepts.
    """

    def __init__(
        self, model: "Model[list[Doc], list[Floats2d]]", vectors: "ConceptVectors", settings: ConceptRetrieval
    ):
        self.model = model
        self.vectors = vectors
        self.settings = settings
        self._random = np.random.default_rng(settings.seed)
        self.steps = 0

    def begin_update(self, documents: Sequence[AnnotatedPlaces]) -> tuple[float, Callable[[], Any]]:
        """Compare documents with the concepts annotated in them and with others.

        RETURNS (tuple[float, Callable]): the mean loss of a document, and a function that takes its gradient back.
        """
        segments, backprop = self.model.begin_update([document.doc for document in documents])
        total, gradients = 0.0, []
        share = 1 / max(1, sum(bool(document.places) for document in documents))
        for vectors, document in zip(segments, documents, strict=True):
            loss, gradient = self._loss(np.asarray(vectors), document.places)
            total += share * document.weight * loss
            gradients.append((share * document.weight * gradient).astype(np.float32))
        return total, lambda: backprop(cast("list[Floats2d]", gradients))

    def finish_update(self, sgd: "Optimizer") -> None:
        self.model.finish_update(sgd)
        self.steps += 1

    def _loss(self, segments: np.ndarray, right: Sequence[int]) -> tuple[float, np.ndarray]:
        return self.loss(segments, right) if right and len(segments) else (0.0, np.zeros_like(segments))

    def loss(self, segments: np.ndarray, right: Sequence[int]) -> tuple[float, np.ndarray]:
        """InfoNCE: −log softmax of each right concept among the drawn wrong ones, averaged over the right ones.

        segments (float32, shape (segments, dim)): of one document, which is as near to a concept as its nearest one.
        RETURNS (float, float32 of the shape of segments): the loss and its gradient.
        """
        drawn = np.array([*right, *self.wrong(segments, right)])
        n_right = len(right)
        concepts = np.asarray(self.vectors.vectors[drawn])
        cosines = segments @ concepts.T
        nearest = cosines.argmax(axis=0)
        scores = cosines[nearest, np.arange(len(drawn))].astype(np.float64) / self.settings.temperature
        wrong = np.logaddexp.reduce(scores[n_right:])
        total = np.logaddexp(scores[:n_right], wrong)
        loss = float((total - scores[:n_right]).mean())
        of_right = (np.exp(scores[:n_right] - total) - 1) / n_right
        of_wrong = np.exp(scores[None, n_right:] - total[:, None]).sum(axis=0) / n_right
        of_scores = np.concatenate([of_right, of_wrong]) / self.settings.temperature
        gradient = np.zeros_like(segments)
        np.add.at(gradient, nearest, of_scores[:, None].astype(np.float32) * concepts)
        return loss, gradient

    def wrong(self, segments: np.ndarray, right: Sequence[int]) -> np.ndarray:
        """RETURNS (int64): the places of concepts that are not right: the nearest, and some at random."""
        n_concepts = len(self.vectors.concepts)
        cosines, places = self.vectors.nearest(segments, self.settings.hard + len(right))
        order = np.argsort(-cosines.ravel(), kind="stable")
        ranked = list(dict.fromkeys(place for place in places.ravel()[order].tolist() if place >= 0))
        taken = set(right)
        hard = [place for place in ranked if place not in taken][: self.settings.hard]
        taken.update(hard)
        wanted = min(self.settings.random, n_concepts - len(taken))
        drawn: dict[int, None] = {}
        while len(drawn) < wanted:
            place = int(self._random.integers(n_concepts))
            if place not in taken:
                drawn[place] = None
        return np.array([*hard, *drawn], dtype=np.int64)
