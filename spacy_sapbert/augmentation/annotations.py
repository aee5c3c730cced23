"""Annotations by rule: the protocol of annotators, the `concept_matcher` as one, and the mapping of their ids."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..kb.filters import ancestors
from ..kb.ids import SUPPLEMENTARY_ID
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mapping import Equivalents
from ..kb.search import NameIndex
from ..linking.ties import TieEvidence, rank
from ..pipeline.attributes import get_matched_name
from ..pipeline.concept_matcher import ConceptMatcher
from ..pipeline.tokenizer import blank_pipeline
from ..text.abbreviations import find_definitions, find_occurrences
from ..text.words import is_acronym, read_words, word_keys
from .documents import fold

if TYPE_CHECKING:
    from spacy.tokens import Span


class Annotation(NamedTuple):
    """The ids of a concept, or of several for a composite, for characters of a text, with the matched name."""

    start: int
    end: int
    ids: tuple[str, ...]
    name: str = ""


class Annotator(Protocol):
    """Annotates texts by rule. The provenance records its name."""

    name: str

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return the annotations of each text, by position; None for a text without an answer."""


class IdMapping:
    """Maps an id of another vocabulary to a concept of a knowledge base.

    An id of the knowledge base itself comes first. Otherwise, these matches count together: cross-references of its
    concepts, mappings, and a second knowledge base, such as one of UMLS, with the ids and the cross-references of its
    concept with the id.
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
        self._name = lru_cache(maxsize=1 << 16)(lambda concept_id: fold(kb.names_of(concept_id)[0].text))

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

    def _find_targets(self, concept_id: str) -> tuple[str, ...]:
        """Return matching primary ids of the knowledge base, sorted."""
        if own := self._kb.find_id(concept_id):
            return tuple(sorted(own))
        targets = {*self._kb.find_xref(concept_id)}
        if concept_id in self._equivalents:
            targets |= self._classes[self._equivalents.find(concept_id)]
        if between := self._between:
            for row in between.find_id(concept_id):
                for other in (*between.ids(row), *between.xrefs(row)):
                    targets.update(self._kb.find_id(other))
        return tuple(sorted(targets))


_SPANS = "names"


class MatcherAnnotator:
    """Finds names with the `concept_matcher`, after the `abbreviation_resolver`.

    If several concepts share a name, the one annotated most often with this name wins. Then the concept with this
    preferred name wins, and then a main descriptor. If several are still equal, the span gets an annotation for each.
    """

    name = "concept_matcher"

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._nlp = blank_pipeline("en")
        self._nlp.add_pipe("abbreviation_resolver")
        config = {"kb": str(kb.path), "spans_key": _SPANS, "other_words": []}
        component = self._nlp.add_pipe("concept_matcher", config=config)
        assert isinstance(component, ConceptMatcher)
        self._matcher = component.matcher
        self._names = NameIndex(kb, lambda name: " ".join(word_keys(name)))
        self._concepts_of = lru_cache(maxsize=1 << 16)(self._find_concepts)

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return the annotations of each text, by position."""
        return [
            sorted(annotation for span in doc.spans[_SPANS] for annotation in self._annotations(span))
            for doc in self._nlp.pipe(texts)
        ]

    def _annotations(self, span: Span) -> list[Annotation]:
        name = get_matched_name(span)
        if name is None:
            names = [self._kb.name(row) for row in self._matcher.composite_rows(span.text)]
            ids = tuple(dict.fromkeys(self._concepts_of(part)[0] for part in names))
            return [Annotation(span.start_char, span.end_char, ids, "|".join(names))] if ids else []
        return [Annotation(span.start_char, span.end_char, (id,), name) for id in self._concepts_of(name)]

    def _find_concepts(self, name: str) -> list[str]:
        """Return the primary ids of the concepts with the best tie rank, by id."""
        # an acronym must match with its case; other names match as in the matcher
        ids = list(self._kb.find_name(name)) if is_acronym(name) else self._names.owners(name)
        preferred = {id: self._kb.names_of(id)[0].text for id in ids}
        preferring = {id for id in ids if preferred[id] == name}
        preferring = preferring or {id for id in ids if word_keys(preferred[id]) == word_keys(name)}
        counts = dict(zip(ids, self._kb.annotations_of([(id, name) for id in ids]), strict=True))
        evidence = [
            TieEvidence(id, counts[id], preferred=id in preferring, main=not SUPPLEMENTARY_ID.fullmatch(id))
            for id in ids
        ]
        best = rank(evidence)[0]._replace(concept_id="")
        return sorted(tie.concept_id for tie in evidence if tie._replace(concept_id="") == best)


# --- filters of annotations


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
