"""From the ids that an annotator gives, such as UMLS CUIs, to those of the vocabulary that is trained for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from ..kb.knowledge_base import KnowledgeBase
from ..kb.mapping import Equivalents
from .annotations import Annotation
from .documents import fold


class IdMapping:
    """Finds the concept of a store for an id of another vocabulary.

    It is looked for among the ids of the store, among the ids to which its concepts refer, in mappings, and in a
    second store: there, the ids of the concept and those to which it refers.

    Args:
        kb: the vocabulary whose primary ids are wanted.
        equivalents: ids that stand for the same concept.
        between: e.g. of the UMLS, with CUIs as its ids and those of other vocabularies beside them.
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
        """Return `Annotation | None`: with ids of the store; None where one of them has none."""
        folded = f" {fold(text)} "
        ids = [self._choose(concept_id, folded) for concept_id in annotation.ids]
        return None if None in ids else annotation._replace(ids=tuple(dict.fromkeys(filter(None, ids))))

    def _choose(self, concept_id: str, folded: str) -> str | None:
        """Return the target whose preferred name is in the text, else the first by id."""
        targets: Sequence[str] = self.targets(concept_id)
        named = (target for target in targets if f" {self._name(target)} " in folded) if len(targets) > 1 else iter(())
        return next(named, next(iter(targets), None))

    def _find_name(self, concept_id: str) -> str:
        return fold(self._kb.names_of(concept_id)[0].text)

    def _find_targets(self, concept_id: str) -> tuple[str, ...]:
        """Return primary ids of the store, sorted; those that are surest, where there are any."""
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
