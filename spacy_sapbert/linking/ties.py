"""Which of several concepts a text means, where their names are equally like it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple

from ..kb.ids import is_supplementary
from ..kb.knowledge_base import KnowledgeBase
from ..types import Candidate, LinkedPart
from .candidates import DIGITS

Parts = tuple[LinkedPart, ...]

MAX_RIVALS = 3  # that are named where a decision is explained


class TieEvidence(NamedTuple):
    """What speaks for a concept; of each, more is better.

    annotations (int): how often corpora annotate its name with it.
    preferred (bool): the name is its preferred name.
    type (bool): it is of a type that goes with the label of the mention.
    document (bool): another mention of the document is linked to it without doubt.
    main (bool): it is a main descriptor, and no supplementary record of MeSH.
    annotations_in_all (int): how often corpora annotate it, by any name.
    names (int): how many names it has.
    """

    concept_id: str
    annotations: int = 0
    preferred: bool = False
    type: bool = False
    document: bool = False
    main: bool = True
    annotations_in_all: int = 0
    names: int = 1


# What decides first. Chosen on the training parts of BC5CDR and NCBI Disease (`benchmarks/homonyms.py`).
RULES = ("annotations", "preferred", "type", "document", "main", "annotations_in_all", "names")


def rank(claims: Sequence[TieEvidence], rules: Sequence[str] = RULES) -> list[TieEvidence]:
    """Put the concept that is meant first; in whatever order the claims come, the result is the same.

    rules (Sequence[str]): fields of `TieEvidence`. The next one decides where those before it speak for several equally, and
        in the end the id.
    """
    return sorted(claims, key=lambda claim: (*(-getattr(claim, rule) for rule in rules), claim.concept_id))


def explain(ranked: Sequence[TieEvidence], rules: Sequence[str] = RULES) -> str:
    """RETURNS (str): the other concepts, and what speaks for the first one more than for any of them."""
    best, *rivals = ranked
    rule = next((rule for rule in rules if getattr(best, rule) != getattr(rivals[0], rule)), "id")
    reasons = {
        "annotations": f"annotators mean it most often by this name ({best.annotations:,})",
        "type": "its type goes with the label",
        "document": "it is linked elsewhere in the document",
        "preferred": "this is its preferred name",
        "main": "it is a main descriptor, not a supplementary record",
        "annotations_in_all": f"it is annotated more often in all ({best.annotations_in_all:,})",
        "names": f"it has more names ({best.names:,})",
        "id": "its id comes first",
    }
    return f"same score as {_named([rival.concept_id for rival in rivals])}; chosen because {reasons[rule]}"


def _named(concept_ids: Sequence[str]) -> str:
    more = f" and {len(concept_ids) - MAX_RIVALS} more" if len(concept_ids) > MAX_RIVALS else ""
    return ", ".join(concept_ids[:MAX_RIVALS]) + more


class TieBreaker:
    """Decides between concepts that a text is equally like; scores and the set of candidates stay as they are.

    kb (KnowledgeBase): the vocabulary.
    passing (Callable[[Sequence[Candidate]], Sequence[Candidate]]): gives those candidates of a part that may be linked.
        A concept is linked without doubt where it is the first of them and no other has its score.
    label_types (Mapping[str, Sequence[str]]): types that go with a label; with any other goes the type of that name.
    rules (Sequence[str]): see `rank`.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        passing: Callable[[Sequence[Candidate]], Sequence[Candidate]],
        label_types: Mapping[str, Sequence[str]] = MappingProxyType({}),
        rules: Sequence[str] = RULES,
    ) -> None:
        self._store = kb
        self._passing = passing
        self._label_types = label_types
        self._rules = rules

    def decide(self, mentions: Sequence[Parts], labels: Sequence[str]) -> list[Parts]:
        """Put the candidates with the best score of each part in order, and say why in its `tie`.

        mentions (Sequence[tuple[LinkedPart, ...]]): those of one document, each as its parts.
        labels (Sequence[str]): of each mention.
        """
        linked = {
            part.candidates[0].concept_id
            for parts in mentions
            for part in parts
            if n_tied(part) == 1 and part.candidates[0] in self._passing(part.candidates[:1])
        }
        return [
            tuple(self._decided(part, label, linked) if n_tied(part) > 1 else _decided_before(part) for part in parts)
            for parts, label in zip(mentions, labels, strict=True)
        ]

    def _decided(self, part: LinkedPart, label: str, linked: AbstractSet[str]) -> LinkedPart:
        types = self._types(label)
        tied = {candidate.concept_id: candidate for candidate in part.candidates[: n_tied(part)]}
        ranked = rank([self._claim(candidate, types, linked) for candidate in tied.values()], self._rules)
        candidates = (*(tied[claim.concept_id] for claim in ranked), *part.candidates[len(tied) :])
        return part._replace(candidates=candidates, tie=explain(ranked, self._rules))

    def _types(self, label: str) -> frozenset[str]:
        if label in self._label_types:
            return frozenset(self._label_types[label])
        return frozenset(type for type in self._store.type_counts() if type.casefold() == label.casefold())

    def _claim(self, candidate: Candidate, types: AbstractSet[str], linked: AbstractSet[str]) -> TieEvidence:
        concept = self._store.get(candidate.concept_id)
        assert concept is not None
        return TieEvidence(
            candidate.concept_id,
            self._store.annotations(candidate.concept_id, candidate.name),
            concept.canonical_name == candidate.name,
            not types.isdisjoint(concept.types),
            candidate.concept_id in linked,
            not is_supplementary(candidate.concept_id),
            self._store.annotations(candidate.concept_id),
            1 + len(concept.aliases),
        )


def _decided_before(part: LinkedPart) -> LinkedPart:
    """RETURNS (LinkedPart): with a `tie` where names are equally like the text, and the prior has decided."""
    if not part.candidates or part.candidates[0].prior is None:
        return part
    first, *others = part.candidates
    rivals = [one.concept_id for one in others if _as_like(one, first)]
    if not rivals:
        return part
    return part._replace(tie=f"a name as like as that of {_named(rivals)}; chosen because annotated more often")


def _as_like(one: Candidate, other: Candidate) -> bool:
    """Whether their names are equally like the text; the last digits are the hardware's, even for equal names."""
    pairs = ((one.dense, other.dense), (one.sparse, other.sparse))
    return all(a == b or (a is not None and b is not None and abs(a - b) < 10**-DIGITS) for a, b in pairs)


def n_tied(part: LinkedPart) -> int:
    """RETURNS (int): how many candidates have the best score."""
    return sum(candidate.score == part.candidates[0].score for candidate in part.candidates)
