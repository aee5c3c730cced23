"""Break ties: choose between concepts with names that are equally similar to a text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

from ..kb.ids import SUPPLEMENTARY_ID
from ..kb.knowledge_base import KnowledgeBase
from ..text.languages import LanguageRules
from ..text.words import case_counts, read_words
from ..types import SCORE_DIGITS, Candidate, Grade, LinkedPart
from .agreement import tied

Parts = tuple[LinkedPart, ...]

LONGER = 0.8
"""The least probability of a concept of which the document has a longer form: 69 of 82 are right."""
MAX_RIVALS = 3  # the most other concepts in an explanation


class TieEvidence(NamedTuple):
    """The evidence for a concept in a tie. For each field, more is better.

    Attributes:
        concept_id: The primary id.
        annotations: How often corpora annotate this name with the concept.
        case: Whether one of its names is the text in its case, and the case counts, see `case_counts`.
        type: Whether one of its types matches the label of the mention.
        named: Whether the document also has a name that is of this concept alone: "Canis lupus" for "C. lupus".
        preferred: Whether the name is its preferred name.
        main: Whether it is a main descriptor, not a supplementary record of MeSH.
        names: The number of its names.
    """

    concept_id: str
    annotations: int = 0
    case: bool = False
    type: bool = False
    named: bool = False
    preferred: bool = False
    main: bool = True
    names: int = 1


_Evidence = Mapping[tuple[str, str], tuple[TieEvidence, tuple[str, ...]]]
"""The evidence for a concept and a name, without a label, and the types of the concept."""

# Ordered by precedence. Chosen on eleven corpora of all types (`benchmarks/ties.py`).
RULES = ("annotations", "case", "type", "named", "preferred", "main", "names")


def rank(evidence: Sequence[TieEvidence]) -> list[TieEvidence]:
    """Order the concepts of a tie by `RULES`, best first. The id decides last."""
    return sorted(evidence, key=lambda entry: (*(-getattr(entry, rule) for rule in RULES), entry.concept_id))


def explain(ranked: Sequence[TieEvidence]) -> str:
    """Explain a tie: the other concepts, and the rule that chose the first one."""
    best, *rivals = ranked
    rule = next((rule for rule in RULES if getattr(best, rule) != getattr(rivals[0], rule)), "id")
    reasons = {
        "annotations": f"annotators mean it most often by this name ({best.annotations:,})",
        "case": "it has this name in the case of the text",
        "type": "its type fits the label",
        "named": "the document has another name of it",
        "preferred": "this is its preferred name",
        "main": "it is a main descriptor, not a supplementary record",
        "names": f"it has more names ({best.names:,})",
        "id": "its id comes first",
    }
    return f"same score as {_list_rivals([rival.concept_id for rival in rivals])}; chosen because {reasons[rule]}"


def _list_rivals(concept_ids: Sequence[str]) -> str:
    more = f" and {len(concept_ids) - MAX_RIVALS} more" if len(concept_ids) > MAX_RIVALS else ""
    return ", ".join(concept_ids[:MAX_RIVALS]) + more


class TieBreaker:
    """Orders the candidates that share the best score. It does not change scores or the set of candidates.

    Args:
        label_types: The types that match a label. Any other label matches the type of the same name.
    """

    def __init__(self, kb: KnowledgeBase, label_types: Mapping[str, Sequence[str]] = MappingProxyType({})) -> None:
        self._kb = kb
        self._label_types = label_types

    def break_ties(
        self,
        mentions: Sequence[Parts],
        labels: Sequence[str],
        named: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> list[Parts]:
        """Order the best candidates of each part, and write the explanation to `tie`.

        Args:
            mentions: The parts of each mention.
            labels: The label of each mention.
            named: The names in lower case by which the document also has some concepts, see `names_in`.
        """
        equal = [candidate for parts in mentions for part in parts for candidate in tied(part)]
        evidence = self._evidence(equal) if equal else {}
        ordered = []
        for parts, label in zip(mentions, labels, strict=True):
            ordered.append(tuple([self._ordered(part, label, evidence, named) for part in parts]))
        return ordered

    def _evidence(self, candidates: Sequence[Candidate]) -> _Evidence:
        """Return the evidence for concepts and their names, without a label. The vocabulary is read once for all."""
        pairs = list(dict.fromkeys((candidate.concept_id, candidate.name) for candidate in candidates))
        summaries = self._kb.summaries_of([concept_id for concept_id, _ in pairs])
        evidence = {}
        for (id, name), n in zip(pairs, self._kb.annotations_of(pairs), strict=True):
            concept, main = summaries[id], not SUPPLEMENTARY_ID.fullmatch(id)
            entry = TieEvidence(id, n, preferred=concept.preferred == name, main=main, names=concept.names)
            evidence[id, name] = entry, concept.types
        return evidence

    def _ordered(
        self, part: LinkedPart, label: str, evidence: _Evidence, named: Mapping[str, Collection[str]]
    ) -> LinkedPart:
        best = tied(part)
        if not best:
            return _with_prior_explained(part)
        entries = list(self._entries(part, best, label, evidence, named))
        ranked = rank(entries)
        if part.reasons:  # the ranker has chosen: only what it does not know counts
            ranked = sorted(entries, key=attrgetter("type", "named"), reverse=True)
            if ranked[0] is entries[0]:
                return part
        by_id = {candidate.concept_id: candidate for candidate in best}
        first, *others = [by_id[entry.concept_id] for entry in ranked]
        if ranked[0].type or ranked[0].named:  # these say more than names do
            likely = [candidate.probability for candidate in best if candidate.probability is not None]
            first = first._replace(probability=max(likely, default=None))
        return part._replace(
            candidates=(first, *others, *part.candidates[len(by_id) :]), tie=explain(ranked), reasons=()
        )

    def _entries(
        self,
        part: LinkedPart,
        best: Sequence[Candidate],
        label: str,
        evidence: _Evidence,
        named: Mapping[str, Collection[str]],
    ) -> Iterator[TieEvidence]:
        """Yield the evidence for the candidates of a tie, with what the mention and the document say."""
        types, text = self._types(label), part.text.casefold()
        exact = self._kb.find_name(part.text) if case_counts(part.text) else ()
        for id, name in dict.fromkeys((candidate.concept_id, candidate.name) for candidate in best):
            entry, own = evidence[id, name]
            has_name = any(other != text for other in named.get(id, ()))
            yield entry._replace(case=id in exact, type=not types.isdisjoint(own), named=has_name)

    def _types(self, label: str) -> frozenset[str]:
        if label in self._label_types:
            return frozenset(self._label_types[label])
        return frozenset(type for type in self._type_names if type.casefold() == label.casefold())

    @cached_property
    def _type_names(self) -> list[str]:
        return list(self._kb.type_counts())


def names_in(mentions: Iterable[Parts]) -> dict[str, set[str]]:
    """Return the concepts of which a document has a name that is no other concept's, each with these names."""
    named: dict[str, set[str]] = {}
    for part in chain.from_iterable(mentions):
        if part.candidates and part.candidates[0].grade >= Grade.NEARLY_SAME and not tied(part):
            named.setdefault(part.candidates[0].concept_id, set()).add(part.text.casefold())
    return named


def longer_forms(mentions: Sequence[Parts], named: Mapping[str, Collection[str]], rules: LanguageRules) -> list[Parts]:
    """Return the mentions of a document. A text that is no name takes the concept of which it is a shorter form.

    The document has a name of that concept with all words of the text, and more: "Drosophila melanogaster" for
    "Drosophila". The concept is among the candidates, and its name there is similar to the text.

    Args:
        named: See `names_in`.
    """
    words_of = {
        concept_id: [(name, set(read_words(name, rules).content)) for name in names]
        for concept_id, names in named.items()
    }

    def longer(part: LinkedPart) -> LinkedPart:
        if not part.candidates or part.candidates[0].grade is not Grade.SIMILAR:
            return part
        words = set(read_words(part.text, rules).content)
        for candidate in part.candidates if words else ():
            names = [name for name, others in words_of.get(candidate.concept_id, ()) if words < others]
            if names and candidate.grade is Grade.SIMILAR:
                return _with_longer(part, candidate, names[0])
        return part

    return [tuple(map(longer, parts)) for parts in mentions]


def _with_longer(part: LinkedPart, chosen: Candidate, name: str) -> LinkedPart:
    others = tuple(candidate for candidate in part.candidates if candidate is not chosen)
    likely = chosen._replace(probability=max(chosen.probability or 0.0, LONGER), refusal=None)
    return part._replace(
        candidates=(likely, *others), tie=None, reasons=(f"it is short for “{name}”, which the document has",)
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
