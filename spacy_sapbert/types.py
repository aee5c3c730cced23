"""Plain data types that the packages exchange: concepts, candidates, links, mentions and documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spacy.tokens import Span

NIL = "NIL"
SCORE_DIGITS = 5
"""Scores are rounded to this number of digits, so that hardware rounding errors never decide between two names."""


class Name(NamedTuple):
    """One name of a concept.

    Attributes:
        text: The name as its source writes it.
        scope: "preferred", "exact", "narrow", "broad", "related" or "mention".
        source: The source of the name, such as "MEDIC".
        language: The language as a BCP 47 tag without region, such as "es"; empty if it is unknown.
    """

    text: str
    scope: str
    source: str
    language: str = ""


class Concept(NamedTuple):
    """A concept of a vocabulary. The first five fields are those of scispaCy's `Entity`.

    Attributes:
        concept_id: The primary id in canonical form (see `spacy_sapbert.kb.ids`).
        canonical_name: The preferred name.
        aliases: The other names, without duplicates.
        types: Semantic types.
        definition: The definition, if the vocabulary has one.
        alternative_ids: Other ids of the same concept.
        parents: Ids of the direct parents in the hierarchy.
    """

    concept_id: str
    canonical_name: str
    aliases: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    definition: str | None = None
    alternative_ids: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


class Record(NamedTuple):
    """One concept as a reader found it, before it enters a knowledge base.

    Attributes:
        concept_id: The primary id in canonical form (see `spacy_sapbert.kb.ids`).
        names: The names. The preferred name comes first if the source marks it.
        alternative_ids: See `Concept`.
        types: See `Concept`.
        definition: See `Concept`.
        parents: See `Concept`.
        xrefs: Ids of the same or a similar concept in other vocabularies, in canonical form.
        xref_predicates: Pairs of one of `xrefs` and a predicate, such as "skos:exactMatch", where the source says how
            the two concepts are related.
    """

    concept_id: str
    names: tuple[Name, ...]
    alternative_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    definition: str | None = None
    parents: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    xref_predicates: tuple[tuple[str, str], ...] = ()


class Grade(IntEnum):
    """How well a name fits a text. A better grade takes precedence, whatever the similarities are."""

    REFUSED = 0
    """The text cannot mean the name."""
    SIMILAR = 1
    """The name is similar to the text."""
    REWRITTEN = 2
    """The name is the text, written in another way or said in other words."""
    NEARLY_SAME = 3
    """The name is so similar that it counts as the same."""
    SAME = 4
    """The name is the text but for case, number, hyphens or blanks."""


class Candidate(NamedTuple):
    """A concept proposed for a text.

    Attributes:
        concept_id: The primary id.
        score: What users see, at most 1. It is made of grade and similarity, see `linking.agreement.score_of`. A prior
            counts, too.
        name: The best name.
        dense: The dense similarity; None if it is not used. It is a cosine, or an inner product if the vectors of the
            encoder are not l2_normalized.
        sparse: The sparse similarity, a cosine; None if it is not used.
        prior: How often annotators mean the concept, from 0 to 1; None if the prior is not used.
        support: How many names of the concept are nearly as similar as the best one: 1 for that one alone.
        refusal: Why the text cannot mean this name, such as "3 is not 2"; None if it can.
        rewrite: How the text was written in another way to equal this name; None if it was not.
        probability: The probability that it is right, by how its name differs from the text; None if it is not known.
        grade: How well its name fits the text.
        similarity: The combined similarity of its name and the text that was looked up, at most 1. No judgment, prior
            or ranking changes it.
    """

    concept_id: str
    score: float
    name: str
    dense: float | None = None
    sparse: float | None = None
    prior: float | None = None
    support: float = 1.0
    refusal: str | None = None
    rewrite: str | None = None
    probability: float | None = None
    grade: Grade = Grade.SIMILAR
    similarity: float = 1.0


class LinkedPart(NamedTuple):
    """One part of a mention with its candidates. A mention that is not split has one part.

    Attributes:
        text: The text that was looked up.
        long_form: The mention with its abbreviations expanded, if that text was looked up.
        candidates: Candidates before any threshold, best first.
        tie: Why the first candidate takes precedence over others. These have the same score, or their names are equally
            similar to the text. None if there are no such candidates.
        reasons: Why the ranker put the first candidate before the most similar one, or what a person decided. Empty
            otherwise.
    """

    text: str
    long_form: str | None
    candidates: tuple[Candidate, ...]
    tie: str | None = None
    reasons: tuple[str, ...] = ()


class Alternative(NamedTuple):
    """A candidate of a mention that was not linked.

    Attributes:
        concept_id: The primary id.
        score: The score.
        name: The name of the vocabulary that matched best.
        probability: The probability of this score; None if the linker is not calibrated.
    """

    concept_id: str
    score: float
    name: str
    probability: float | None = None


class Link(NamedTuple):
    """The result for one part of a mention.

    Attributes:
        text: The text that was linked, after expansion and splitting.
        concept_id: The id of the concept, or None if nothing was linked.
        score: The score of the best candidate, even if it is below the threshold.
        name: The name of the vocabulary that matched best.
        long_form: The mention with its abbreviations expanded, if that variant was chosen.
        split: Whether the text is one part of a composite mention.
        reason: Why there is no link.
        probability: The probability that the best candidate is right; None if the linker is not calibrated.
        tie: Which other concepts have the same score, and why this one was chosen.
        runner_up: The next candidate after the linked or rejected one, with any score.
        rejected: The best candidate, if nothing was linked. `score`, `name` and `probability` are its values.
        assertion: The flags of the mention, such as "negated"; see `AssertionDetector`.
        reasons: Why this concept was chosen, linked or rejected: another way to write the text is its name, or the
            ranker put it before the most similar one. Empty otherwise.
        candidates: The first candidates with any score, best first, as many as `Linker.listed` says.
        missing: The probability that the vocabulary lacks the concept; None if it is not known.
    """

    text: str
    concept_id: str | None
    score: float | None
    name: str | None
    long_form: str | None = None
    split: bool = False
    reason: str | None = None
    probability: float | None = None
    tie: str | None = None
    runner_up: Alternative | None = None
    rejected: Alternative | None = None
    assertion: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    candidates: tuple[Alternative, ...] = ()
    missing: float | None = None


class DocumentConcept(NamedTuple):
    """A concept of a whole document, as in `doc._.concepts`.

    Attributes:
        concept_id: The primary id.
        score: The score that ranks the concepts, from 0 to 1.
        name: The preferred name.
        evidence: The mentions that are linked to the concept. Without any, the text that is most similar to one of its
            names. Best first. Empty if only the document as a whole supports the concept.
        contributions: What each signal adds to the score, before the logistic function maps it to the range from 0 to
            1. Empty if there is only one signal.
    """

    concept_id: str
    score: float
    name: str
    evidence: tuple[Span, ...] = ()
    contributions: tuple[tuple[str, float], ...] = ()


class Mention(NamedTuple):
    """An annotated mention of a corpus: characters `start:end` of the text of its document.

    Attributes:
        start: Offset of the first character.
        end: Offset after the last character.
        text: The text of the mention.
        label: The type, as the corpus writes it.
        ids: All gold ids in canonical form, in the order of the annotation. Empty for a mention without a concept.
        parts: The single mentions of a composite, if the corpus writes them.
        offsets: The start and end of each piece of a discontinuous mention. Empty for a mention of one piece.
    """

    start: int
    end: int
    text: str
    label: str
    ids: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    offsets: tuple[tuple[int, int], ...] = ()


def types_of(label: str) -> tuple[str, ...]:
    """Return the types in a label, each once. MedMentions joins several UMLS types: `T116,T123`."""
    return tuple(dict.fromkeys(name.strip() for name in label.split(",") if name.strip()))


def has_type(label: str, types: Collection[str]) -> bool:
    """Return whether a label contains one of the types."""
    return any(name in types for name in types_of(label))


class Passage(NamedTuple):
    """A record of a file that is a part of a document.

    Attributes:
        start: Its first character in the text of the document.
        end: The position after its last character.
        title: The title of the record, with which the passage starts; may be empty.
    """

    start: int
    end: int
    title: str = ""


class Document(NamedTuple):
    """A document, with or without annotated mentions.

    Attributes:
        doc_id: The id.
        text: The whole text. If there is a title, the text starts with it and a blank.
        mentions: The annotated mentions, ordered by offset.
        title: The title.
        meta: The other values of the document's record, as JSON values.
        passages: The passages, if several records are one document.
        position: The file and line of the document, for messages.
    """

    doc_id: str
    text: str
    mentions: tuple[Mention, ...] = ()
    title: str = ""
    meta: Mapping[str, object] = {}
    passages: tuple[Passage, ...] = ()
    position: str = ""
