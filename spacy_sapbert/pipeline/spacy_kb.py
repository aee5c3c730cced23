"""`SpacyKnowledgeBase`: a vocabulary for spaCy's `entity_linker` and for spacy-llm's task of the same name."""

from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from spacy.kb import Candidate, KnowledgeBase
from spacy.tokens import Span
from spacy.vocab import Vocab

from ..encoders.encoder import open_encoder
from ..encoders.folder import STARTER
from ..errors import EmptyError
from ..kb import knowledge_base
from ..kb.knowledge_base import LazyMapping
from ..kb.storage import kb_artifact, load_knowledge_base
from ..linking.grounding import starter_linker
from ..linking.linker import Linker
from ..linking.ranker import PROBABLE
from ..linking.settings import LinkerSettings
from ..linking.variants import MentionQuery, MentionVariants
from ..store.artifact import ENCODER_FOLDER, KB, ArtifactWriter
from ..store.cache import drop_oldest
from ..types import Candidate as NamedConcept
from ..types import Grade
from .attributes import get_long_form
from .base import SavedInFolder
from .component_settings import language_rules

_MOST_VECTORS = 100_000  # that are kept
_NAMES_SHOWN = 5  # of a concept without a definition


class SpacyKnowledgeBase(SavedInFolder, KnowledgeBase):
    """A vocabulary as spaCy's `entity_linker` reads it.

    The candidates of a mention are the concepts that have it as a name. If there are none, they are those with similar
    names, unless none is probable. They are those of `sapbert_linker` with its default settings. A short form that a
    component has resolved is looked up by its long form. A mention whose label is a type of the vocabulary has concepts
    of this type only.

    The prior probability of a concept is its share of the annotations of the name in corpora, with one added for each
    concept that has the name. For a similar name, it is the probability that the name means the same.

    Args:
        vocab: The vocabulary of words of the pipeline.
        kb: "starter", the path of a knowledge base, or the folder of a saved pipeline. None makes an empty one, for
            `from_disk` and `from_bytes`.

    Attributes:
        kb: The vocabulary, or None.

    Raises:
        NotFoundError: There is no such file.
        DamagedError: The file is not a knowledge base.
    """

    name = "kb"

    def __init__(self, vocab: Vocab, kb: Optional[str] = STARTER) -> None:
        self.kb = load_knowledge_base(kb) if kb is not None else None
        self._use(open_encoder(STARTER))
        KnowledgeBase.__init__(self, vocab, self.entity_vector_length)

    def _use(self, encoder: Any) -> None:
        self._encoder, self._vectors = encoder, dict[str, np.ndarray]()
        self._linker: Optional[Linker] = None

    @property
    def entity_vector_length(self) -> int:
        """The length of the vectors."""
        return int(self._encoder.dim)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (self.vocab, self.to_bytes())

    @property
    def _opened(self) -> knowledge_base.KnowledgeBase:
        if self.kb is None:
            raise EmptyError(what="vocabulary in this SpacyKnowledgeBase", consequence="there are no concepts")
        return self.kb

    def is_empty(self) -> bool:
        """Return whether there is no vocabulary yet."""
        return self.kb is None

    # --- candidates

    def get_candidates(self, mention: Span) -> List[Candidate]:
        """Return the concepts that a mention may mean."""
        return self.get_candidates_batch([mention])[0]

    def get_candidates_batch(self, mentions: Iterable[Span]) -> List[List[Candidate]]:
        """Return the concepts that mentions may mean. All are looked up at once."""
        texts = [(str(get_long_form(mention) or mention.text), mention.label_) for mention in mentions]
        return [self._candidates(_same(found) or _judged(found)) for found in self._look_up(texts)]

    def get_alias_candidates(self, alias: str) -> List[Candidate]:
        """Return the concepts that have a name."""
        return self._candidates(_same(self._look_up([(alias, "")])[0]))

    def _look_up(self, texts: Sequence[Tuple[str, str]]) -> List[List[NamedConcept]]:
        """Return the concepts that a linker would choose from, best first, for each text with its label."""
        linker = self._linker = self._linker or self._make_linker()
        linked = linker.link([[MentionQuery(MentionVariants(text), label)] for text, label in texts])
        return [linker.linkable(part.candidates) for ((part,),) in linked]

    def _make_linker(self) -> Linker:
        rules, types = language_rules(None, self.vocab), self._opened.type_counts()
        settings = LinkerSettings(label_types={type: [type] for type in types})
        return Linker(starter_linker(self._opened, (), rules.code).generator, settings, rules=rules)

    def _candidates(self, concepts: Sequence[NamedConcept]) -> List[Candidate]:
        pairs = [(concept.concept_id, concept.name) for concept in concepts]
        counts = self._opened.annotations_of(pairs)
        total, strings = sum(counts) + len(counts), self.vocab.strings
        return [
            Candidate(
                kb=self,
                entity_hash=strings.add(concept.concept_id),
                entity_freq=float(count),
                entity_vector=self.get_vector(concept.concept_id),
                alias_hash=strings.add(concept.name),
                prior_prob=(count + 1) / total if concept.grade >= Grade.NEARLY_SAME else concept.probability,
            )
            for concept, count in zip(concepts, counts)
        ]

    # --- vectors

    def get_vector(self, entity: str) -> np.ndarray:
        """Return the mean vector of the names of a concept, by the starter encoder.

        Returns:
            float32, shape (entity_vector_length,): A unit vector; zeros for an id that the vocabulary lacks.
        """
        vector = self._vectors.get(entity)
        if vector is None:
            names = self._opened.name_texts(entity)
            sums = self._encoder.encode(names).sum(axis=0) if names else np.zeros(self.entity_vector_length, np.float32)
            if names and not sums.any():  # names without words; spaCy divides by the length
                sums += 1
            vector = self._vectors[entity] = sums / (np.linalg.norm(sums) or 1)
            drop_oldest(self._vectors, _MOST_VECTORS)
        return vector

    # --- saving

    def _save(self, folder: Path, artifacts: ArtifactWriter) -> None:
        if self.kb is not None:
            artifacts.add(KB, kb_artifact(self.kb))
        artifacts.add(ENCODER_FOLDER, self._encoder.artifact())

    def _load(self, folder: Path, artifacts: Mapping[str, Path]) -> None:
        self.kb = load_knowledge_base(artifacts[KB]) if KB in artifacts else None
        self._use(open_encoder(str(artifacts[ENCODER_FOLDER])))


def _same(concepts: Sequence[NamedConcept]) -> List[NamedConcept]:
    return [concept for concept in concepts if concept.grade >= Grade.NEARLY_SAME]


def _judged(concepts: Sequence[NamedConcept]) -> List[NamedConcept]:
    probabilities = [concept.probability or 0.0 for concept in concepts]
    return [concept for concept in concepts if concept.probability] if max(probabilities, default=0) > PROBABLE else []


def _rebuild(vocab: Vocab, data: bytes) -> SpacyKnowledgeBase:
    return SpacyKnowledgeBase(vocab, None).from_bytes(data)


# --- for configs


def knowledge_base_loader(kb: str = STARTER) -> Callable[[Vocab], SpacyKnowledgeBase]:
    """Return a function that opens a vocabulary, for `[initialize.components.entity_linker.kb_loader]`."""
    return lambda vocab: SpacyKnowledgeBase(vocab, kb)


def empty_knowledge_base() -> Callable[[Vocab, int], SpacyKnowledgeBase]:
    """Return a function that makes an empty one, for `[components.entity_linker.generate_empty_kb]`."""
    return lambda vocab, entity_vector_length: SpacyKnowledgeBase(vocab, None)


def described_knowledge_base(kb: str = STARTER) -> Callable[[Vocab], Tuple[SpacyKnowledgeBase, Mapping[str, str]]]:
    """Return a function that opens a vocabulary and its descriptions, for the candidate selector of spacy-llm."""
    opened = load_knowledge_base(kb)
    descriptions = LazyMapping(partial(_description, opened), opened.concept_ids, opened.__len__)
    return lambda vocab: (SpacyKnowledgeBase(vocab, kb), descriptions)


def _description(kb: knowledge_base.KnowledgeBase, concept_id: str) -> Optional[str]:
    """Return preferred name, types, and the definition or some names of a concept."""
    concept = kb.get(concept_id)
    if concept is None:
        return None
    rest = concept.definition or ", ".join(concept.aliases[:_NAMES_SHOWN])
    return f"{concept.canonical_name} ({', '.join(concept.types)}): {rest}"
