"""Filters of annotations made by rule: false abbreviations, and spans that overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..kb.store import ConceptStore
from .annotations import Annotation

_MAX_SHORT_FORM = 8  # characters


class FalseAbbreviations:
    """Removes lower-case words that were taken for an abbreviation: "aids" (helps) is not AIDS, "ms" no disease.

    A name is an abbreviation if it has at most 8 characters, no blank and no lower-case letter but for an s at the end.
    A word is removed if all names of the concept that it might be are abbreviations, and it is written like none.
    """

    def __init__(self, store: ConceptStore) -> None:
        self._store = store
        self._names = lru_cache(maxsize=1 << 16)(self._find_names)

    def __call__(self, text: str, annotations: Sequence[Annotation]) -> list[Annotation]:
        return [annotation for annotation in annotations if not self._is_false(text, annotation)]

    def _is_false(self, text: str, annotation: Annotation) -> bool:
        word = text[annotation.start : annotation.end]
        if len(annotation.ids) != 1 or len(word) > _MAX_SHORT_FORM or not word.islower():
            return False
        singular = word.removesuffix("s")
        names = self._names(annotation.ids[0])
        alike = [name for form in (word, singular) for name in names.get(form, ())]
        if not alike and annotation.name.lower() in (word, singular):
            alike = [annotation.name]  # of a vocabulary whose ids were mapped
        return bool(alike) and all(map(_is_short_form, alike))

    def _find_names(self, concept_id: str) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for name in self._store.names_of(concept_id):
            if len(name.text) <= _MAX_SHORT_FORM:
                names.setdefault(name.text.lower(), []).append(name.text)
        return names


def _is_short_form(name: str) -> bool:
    return len(name) <= _MAX_SHORT_FORM and " " not in name and name.removesuffix("s").isupper()


class Overlaps:
    """Keeps the more specific of annotations that overlap.

    That is the longer one; of equal spans the concept that is below the other in the hierarchy; else the first by
    position and by id.
    """

    def __init__(self, store: ConceptStore) -> None:
        self._store = store
        self.ancestors = lru_cache(maxsize=1 << 16)(self._find_ancestors)

    def __call__(self, text: str, annotations: Sequence[Annotation]) -> list[Annotation]:
        kept: list[Annotation] = []
        taken: set[int] = set()
        for annotation in sorted(annotations, key=lambda one: self._order(one, annotations)):
            place = range(annotation.start, annotation.end)
            if taken.isdisjoint(place):
                kept.append(annotation)
                taken.update(place)
        return sorted(kept)

    def _order(self, annotation: Annotation, annotations: Sequence[Annotation]) -> tuple[Any, ...]:
        rivals = [other for other in annotations if other[:2] == annotation[:2] and other.ids != annotation.ids]
        n_below = sum(self._is_below(other, annotation) for other in rivals)
        return annotation.start - annotation.end, annotation.start, n_below, annotation.ids

    def _is_below(self, one: Annotation, other: Annotation) -> bool:
        return any(not self.ancestors(concept_id).isdisjoint(other.ids) for concept_id in one.ids)

    def _find_ancestors(self, concept_id: str) -> frozenset[str]:
        found: set[str] = set()
        waiting = [concept_id]
        while waiting:
            concept = self._store.get(waiting.pop())
            for parent in concept.parents if concept else ():
                for primary in self._store.find_id(parent):
                    if primary not in found:
                        found.add(primary)
                        waiting.append(primary)
        return frozenset(found - {concept_id})
