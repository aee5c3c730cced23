"""Filter rule-based annotations: false abbreviations, verbs, inverted names and overlapping spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..kb.filters import ancestors
from ..kb.knowledge_base import KnowledgeBase
from ..text.abbreviations import find_definitions, find_occurrences
from ..text.words import is_acronym, read_words, word_keys
from .annotations import Annotation


class FalseAbbreviations:
    """Removes lower-case words that are not the abbreviation they look like: "aids" (helps) is not AIDS.

    A word is removed if two conditions hold. All names of its concept with this spelling, with or without a final s,
    are abbreviations. The text does not define the word as an abbreviation.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._names = lru_cache(maxsize=1 << 16)(self._find_names)

    def __call__(self, text: str, annotations: Sequence[Annotation]) -> list[Annotation]:
        false = [annotation for annotation in annotations if self._is_false(text, annotation)]
        occurrences = find_occurrences(text, find_definitions(text)) if false else ()
        defined = {(occurrence.start, occurrence.end) for occurrence in occurrences}
        return [annotation for annotation in annotations if annotation not in false or annotation[:2] in defined]

    def _is_false(self, text: str, annotation: Annotation) -> bool:
        word = text[annotation.start : annotation.end]
        forms = (word, word.removesuffix("s"))
        if len(annotation.ids) != 1 or not word.islower() or not any(is_acronym(form.upper()) for form in forms):
            return False
        same = [name for form in forms for name in self._names(annotation.ids[0]).get(form, ())]
        if not same and annotation.name.lower() in forms:
            same = [annotation.name]  # a name of the annotator's vocabulary, before the id was mapped
        return bool(same) and all(is_acronym(name) or is_acronym(name.removesuffix("s")) for name in same)

    def _find_names(self, concept_id: str) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for name in self._kb.names_of(concept_id):
            names.setdefault(name.text.lower(), []).append(name.text)
        return names


# Names that are also verbs, and the words after the verb. A quarter of all "lead" in abstracts is not the metal.
_VERB = re.compile(r"leads?(?=\s+(?:in)?to\b)|(?:fits?|aids)(?=\s+(?:an?|the|into|well)\b)", re.IGNORECASE)


class Verbs:
    """Removes names that are verbs in the text: "leads to", "fits the criteria"."""

    def __call__(self, text: str, annotations: Sequence[Annotation]) -> list[Annotation]:
        verbs = {verb.span() for verb in _VERB.finditer(text) if not verb[0].isupper()}
        return [annotation for annotation in annotations if annotation[:2] not in verbs]


class InvertedNames:
    """Removes enumerations that look like an inverted name: "heart failure, renal" is not "renal heart failure".

    Vocabularies list "Failure, Renal" in addition to "Renal Failure". If a text has the words in that order, it is an
    enumeration. A name with a comma of its own, such as "leukemia, type 1", has no such second form.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        # the words of each name without a comma
        self._orders = lru_cache(maxsize=1 << 16)(
            lambda concept_id: [_order(name.text) for name in kb.names_of(concept_id) if "," not in name.text]
        )

    def __call__(self, text: str, annotations: Sequence[Annotation]) -> list[Annotation]:
        return [
            annotation
            for annotation in annotations
            if not self._is_inverted(text[annotation.start : annotation.end], annotation.ids)
        ]

    def _is_inverted(self, mention: str, ids: Sequence[str]) -> bool:
        if "," not in mention or len(ids) != 1:
            return False
        orders = self._orders(ids[0])
        same_words = [order for order in orders if tuple(sorted(order)) == word_keys(mention)]
        return bool(same_words) and _order(mention) not in same_words


def _order(text: str) -> tuple[str, ...]:
    return read_words(text).content


class Overlaps:
    """Keeps the more specific of overlapping annotations.

    The longer annotation wins. Among equal spans, a descendant wins against its ancestor, and then the lower id.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._ancestors = lru_cache(maxsize=1 << 16)(lambda concept_id: ancestors(concept_id, kb) - {concept_id})

    def __call__(self, text: str, annotations: Sequence[Annotation]) -> list[Annotation]:
        apart: list[Annotation] = []
        taken: set[int] = set()
        for annotation in sorted(annotations, key=lambda annotation: self._order(annotation, annotations)):
            offsets = range(annotation.start, annotation.end)
            if taken.isdisjoint(offsets):
                apart.append(annotation)
                taken.update(offsets)
        return sorted(apart)

    def _order(self, annotation: Annotation, annotations: Sequence[Annotation]) -> tuple[Any, ...]:
        rivals = [other for other in annotations if other[:2] == annotation[:2] and other.ids != annotation.ids]
        n_below = sum(any(not self._ancestors(id).isdisjoint(annotation.ids) for id in other.ids) for other in rivals)
        return annotation.start - annotation.end, annotation.start, n_below, annotation.ids
