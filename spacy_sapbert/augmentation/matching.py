"""Annotate texts with the `concept_matcher`: every longest span that is a name of the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ..kb.ids import is_supplementary
from ..kb.knowledge_base import KnowledgeBase
from ..kb.search import NameIndex
from ..linking.ties import TieEvidence, rank
from ..pipeline.attributes import get_matched_name
from ..pipeline.concept_matcher import ConceptMatcher
from ..pipeline.tokenizer import blank_pipeline
from ..text.words import is_acronym, word_keys
from .annotations import Annotation

if TYPE_CHECKING:
    from spacy.tokens import Span

_SPANS = "names"


class MatcherAnnotator:
    """Finds names with the `concept_matcher`, after the `abbreviation_resolver`.

    If several concepts share a name, the one annotated most often with this name wins. Then the concept with this
    preferred name wins, and then a main descriptor. If several are still equal, the span gets an annotation for each.

    Args:
        kb: The knowledge base.
    """

    name = "concept_matcher"

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._nlp = blank_pipeline("en")
        self._nlp.add_pipe("abbreviation_resolver")
        config = {"kb": str(kb.path), "spans_key": _SPANS}
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
        return [Annotation(span.start_char, span.end_char, (one,), name) for one in self._concepts_of(name)]

    def _find_concepts(self, name: str) -> list[str]:
        """Return the primary ids of the concepts with the best tie rank, by id."""
        # an acronym must match with its case; other names match as in the matcher
        found = list(self._kb.find_name(name)) if is_acronym(name) else self._names.owners(name)
        preferred = {concept_id: self._kb.names_of(concept_id)[0].text for concept_id in found}
        preferring = {one for one in found if preferred[one] == name}
        preferring = preferring or {one for one in found if word_keys(preferred[one]) == word_keys(name)}
        evidence = [
            TieEvidence(one, self._kb.annotations(one, name), one in preferring, main=not is_supplementary(one))
            for one in found
        ]
        best = rank(evidence)[0]._replace(concept_id="")
        return sorted(one.concept_id for one in evidence if one._replace(concept_id="") == best)
