"""Break ties: choose between concepts with names that are equally similar to a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from ..kb.ids import is_supplementary
from ..kb.knowledge_base import ConceptSummary, KnowledgeBase
from ..types import SCORE_DIGITS, Candidate, LinkedPart

Parts = tuple[LinkedPart, ...]

MAX_RIVALS = 3  # the most other concepts in an explanation


class TieEvidence(NamedTuple):
    """The evidence for a concept in a tie. For each field, more is better.

    Attributes:
        concept_id: The primary id.
        annotations: How often corpora annotate this name with the concept.
        preferred: Whether the name is its preferred name.
        type: Whether one of its types matches the label of the mention.
        document: Whether another mention of the document is linked to it without a tie.
        main: Whether it is a main descriptor, not a supplementary record of MeSH.
        annotations_in_all: How often corpora annotate it by any name.
        names: The number of its names.
    """

    concept_id: str
    annotations: int = 0
    preferred: bool = False
    type: bool = False
    document: bool = False
    main: bool = True
    annotations_in_all: int = 0
    names: int = 1


# Ordered by precedence. Chosen on the training parts of BC5CDR and NCBI Disease (`benchmarks/ties.py`).
RULES = ("annotations", "preferred", "type", "document", "main", "annotations_in_all", "names")


def rank(evidence: Sequence[TieEvidence], rules: Sequence[str] = RULES) -> list[TieEvidence]:
    """Order the concepts of a tie, best first. The order of the input has no influence.

    Args:
        evidence: The evidence for each concept.
        rules: Fields of `TieEvidence`, ordered by precedence. The id decides last.
    """
    return sorted(evidence, key=lambda entry: (*(-getattr(entry, rule) for rule in rules), entry.concept_id))


def explain(ranked: Sequence[TieEvidence], rules: Sequence[str] = RULES) -> str:
    """Explain a tie: the other concepts, and the rule that chose the first one."""
    best, *rivals = ranked
    rule = next((rule for rule in rules if getattr(best, rule) != getattr(rivals[0], rule)), "id")
    reasons = {
        "annotations": f"annotators mean it most often by this name ({best.annotations:,})",
        "type": "its type fits the label",
        "document": "it is linked elsewhere in the document",
        "preferred": "this is its preferred name",
        "main": "it is a main descriptor, not a supplementary record",
        "annotations_in_all": f"it is annotated more often in all ({best.annotations_in_all:,})",
        "names": f"it has more names ({best.names:,})",
        "id": "its id comes first",
    }
    return f"same score as {_list_rivals([rival.concept_id for rival in rivals])}; chosen because {reasons[rule]}"


def _list_rivals(concept_ids: Sequence[str]) -> str:
    more = f" and {len(concept_ids) - MAX_RIVALS} more" if len(concept_ids) > MAX_RIVALS else ""
    return ", ".join(concept_ids[:MAX_RIVALS]) + more


class _Known(NamedTuple):
    """What a vocabulary says: of concepts by id, and how often each name is annotated with a concept."""

    concepts: Mapping[str, ConceptSummary]
    annotations: Mapping[tuple[str, str], int]


class TieBreaker:
    """Orders the candidates that share the best score. It does not change scores or the set of candidates.

    Args:
        kb: The vocabulary.
        above_threshold: Returns the candidates that may be linked. `TieEvidence.document` only counts them.
        label_types: The types that match a label. Any other label matches the type of the same name.
        rules: See `rank`.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        above_threshold: Callable[[Sequence[Candidate]], Sequence[Candidate]],
        label_types: Mapping[str, Sequence[str]] = MappingProxyType({}),
        rules: Sequence[str] = RULES,
    ) -> None:
        self._kb = kb
        self._above_threshold = above_threshold
        self._label_types = label_types
        self._rules = rules

    def break_ties(self, mentions: Sequence[Parts], labels: Sequence[str]) -> list[Parts]:
        """Order the best candidates of each part, and write the explanation to `tie`.

        Args:
            mentions: The mentions of one document, each as its parts.
            labels: The label of each mention.
        """
        linked = {
            part.candidates[0].concept_id
            for parts in mentions
            for part in parts
            if n_tied(part) == 1 and part.candidates[0] in self._above_threshold(part.candidates[:1])
        }
        known = self._read([one for parts in mentions for part in parts for one in _tied(part)])
        return [
            tuple(
                self._ordered(part, label, linked, known) if n_tied(part) > 1 else _with_prior_explained(part)
                for part in parts
            )
            for parts, label in zip(mentions, labels, strict=True)
        ]

    def _read(self, candidates: Sequence[Candidate]) -> _Known:
        """Read what the vocabulary says of all candidates in ties at once."""
        if not candidates:
            return _Known({}, {})
        pairs = list(dict.fromkeys((candidate.concept_id, candidate.name) for candidate in candidates))
        concepts = self._kb.summaries_of([concept_id for concept_id, _ in pairs])
        return _Known(concepts, dict(zip(pairs, self._kb.annotations_of(pairs), strict=True)))

    def _ordered(self, part: LinkedPart, label: str, linked: AbstractSet[str], known: _Known) -> LinkedPart:
        types = self._types(label)
        tied = {candidate.concept_id: candidate for candidate in _tied(part)}
        evidence = [_evidence(candidate, types, linked, known) for candidate in tied.values()]
        ranked = rank(evidence, self._rules)
        candidates = (*(tied[entry.concept_id] for entry in ranked), *part.candidates[len(tied) :])
        return part._replace(candidates=candidates, tie=explain(ranked, self._rules))

    def _types(self, label: str) -> frozenset[str]:
        if label in self._label_types:
            return frozenset(self._label_types[label])
        return frozenset(type for type in self._type_names if type.casefold() == label.casefold())

    @cached_property
    def _type_names(self) -> list[str]:
        return list(self._kb.type_counts())


def _evidence(candidate: Candidate, types: AbstractSet[str], linked: AbstractSet[str], known: _Known) -> TieEvidence:
    concept = known.concepts[candidate.concept_id]
    return TieEvidence(
        candidate.concept_id,
        known.annotations[candidate.concept_id, candidate.name],
        concept.preferred == candidate.name,
        not types.isdisjoint(concept.types),
        candidate.concept_id in linked,
        not is_supplementary(candidate.concept_id),
        concept.annotations,
        concept.names,
    )


def _with_prior_explained(part: LinkedPart) -> LinkedPart:
    """Return the part with a `tie` if other names are equally similar and the prior decided."""
    if not part.candidates or part.candidates[0].prior is None:
        return part
    first, *others = part.candidates
    rivals = [candidate.concept_id for candidate in others if _is_as_similar(candidate, first)]
    if not rivals:
        return part
    return part._replace(
        tie=f"its name is as similar as that of {_list_rivals(rivals)}; chosen because annotated more often"
    )


def _is_as_similar(first: Candidate, second: Candidate) -> bool:
    """Return whether two names are equally similar to the text.

    The last digits are ignored, since they depend on the hardware, even for equal names.
    """
    pairs = ((first.dense, second.dense), (first.sparse, second.sparse))
    return all(a == b or (a is not None and b is not None and abs(a - b) < 10**-SCORE_DIGITS) for a, b in pairs)


def n_tied(part: LinkedPart) -> int:
    """Return how many candidates have the best score. They come first."""
    candidates = part.candidates
    n = min(len(candidates), 1)
    while n < len(candidates) and candidates[n].score == candidates[0].score:
        n += 1
    return n


def _tied(part: LinkedPart) -> tuple[Candidate, ...]:
    """Return the candidates that share the best score; none if there is only one."""
    n = n_tied(part)
    return part.candidates[:n] if n > 1 else ()
