"""Define annotations and the protocol of annotators, and map ids of annotations to the target vocabulary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from ..kb.knowledge_base import KnowledgeBase
from ..kb.mapping import Equivalents
from .documents import fold


class Annotation(NamedTuple):
    """A concept for the characters `start:end` of a text.

    Attributes:
        ids: The concept ids; several for a composite mention.
        name: The matched name of the vocabulary, empty if unknown.
    """

    start: int
    end: int
    ids: tuple[str, ...]
    name: str = ""


class Annotator(Protocol):
    """Annotates texts by rule.

    Attributes:
        name: The name of the annotator, as the provenance records it.
    """

    name: str

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return the annotations of each text, by position; None for a text without an answer."""


class IdMapping:
    """Maps an id of another vocabulary to a concept of a knowledge base.

    An id of the knowledge base itself comes first. Otherwise, these matches count together: cross-references of its
    concepts, mappings, and a second knowledge base. The second knowledge base gives the ids and the cross-references of
    its concept with the id.

    Args:
        kb: The knowledge base with the wanted primary ids.
        equivalents: Ids that stand for the same concept.
        between: The second knowledge base, such as one of UMLS: its ids are CUIs, and it also has ids of other
            vocabularies.
    """

    def __init__(
        self, kb: KnowledgeBase, equivalents: Equivalents | None = None, between: KnowledgeBase | None = None
    ) -> None:
        self._kb = kb
        self._equivalents = equivalents or Equivalents()
        self._between = between
        self._classes: defaultdict[str, set[str]] = defaultdict(set)
        if self._equivalents:
            for concept_id in kb.concept_ids():
                for other in (*kb.ids(concept_id), *kb.xrefs(concept_id)):
                    if other in self._equivalents:
                        self._classes[self._equivalents.find(other)].add(concept_id)
        self.targets = lru_cache(maxsize=1 << 16)(self._find_targets)
        self._name = lru_cache(maxsize=1 << 16)(self._find_name)

    def map(self, text: str, annotation: Annotation) -> Annotation | None:
        """Return the annotation with ids of the knowledge base; None if one of its ids has no match."""
        folded = f" {fold(text)} "
        ids = [self._choose(concept_id, folded) for concept_id in annotation.ids]
        return None if None in ids else annotation._replace(ids=tuple(dict.fromkeys(filter(None, ids))))

    def _choose(self, concept_id: str, folded: str) -> str | None:
        """Return the target with a preferred name in the text, or else the first target by id."""
        targets: Sequence[str] = self.targets(concept_id)
        named = (target for target in targets if f" {self._name(target)} " in folded) if len(targets) > 1 else iter(())
        return next(named, next(iter(targets), None))

    def _find_name(self, concept_id: str) -> str:
        return fold(self._kb.names_of(concept_id)[0].text)

    def _find_targets(self, concept_id: str) -> tuple[str, ...]:
        """Return matching primary ids of the knowledge base, sorted.

        An id of the knowledge base itself takes precedence over all other matches.
        """
        if own := self._kb.find_id(concept_id):
            return tuple(sorted(own))
        found = {*self._kb.find_xref(concept_id)}
        if concept_id in self._equivalents:
            found |= self._classes[self._equivalents.find(concept_id)]
        for row in self._between.find_id(concept_id) if self._between else ():
            assert self._between
            for other in (*self._between.ids(row), *self._between.xrefs(row)):
                found.update(self._kb.find_id(other))
        return tuple(sorted(found))
